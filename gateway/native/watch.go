package native

import (
	"crypto/sha256"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway/view"
)

// settle is how long changes of the catalog are gathered.
const settle = 200 * time.Millisecond

// A Watcher says when the list of a view becomes another one.
type Watcher struct {
	tools   *Tools
	view    func() view.View
	changed func()
	unwatch func()

	comparing sync.Mutex // guards last
	last      [sha256.Size]byte

	mu      sync.Mutex // guards the fields below
	due     *time.Timer
	stopped bool
}

// Watch has changed called, in a goroutine of its own, whenever the list that
// the view shows by then is not the one that it was before, until Stop.
func (t *Tools) Watch(v func() view.View, changed func()) *Watcher {
	w := &Watcher{tools: t, view: v, changed: changed}
	w.last = t.digest(v())
	w.unwatch = t.entries.Watch(w.Look)
	w.Look() // at what changed meanwhile
	return w
}

// Look has the list compared soon: the view may be another one.
func (w *Watcher) Look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due == nil && !w.stopped {
		w.due = time.AfterFunc(settle, w.compare)
	}
}

// Stop ends the watch.
func (w *Watcher) Stop() {
	w.unwatch()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.due != nil {
		w.due.Stop()
	}
}

func (w *Watcher) compare() {
	w.mu.Lock()
	w.due = nil
	w.mu.Unlock()
	w.comparing.Lock()
	defer w.comparing.Unlock()
	if now := w.tools.digest(w.view()); now != w.last {
		w.last = now
		w.changed()
	}
}

// digest stands for everything of the list that v shows.
func (t *Tools) digest(v view.View) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, r := range t.list(v).rows {
		r.addTo(h)
	}
	h.Sum(sum[:0])
	return sum
}

func (r row) addTo(h hash.Hash) {
	_, _ = io.WriteString(h, r.name) // a hash takes everything
	h.Write([]byte{0})
	h.Write(r.Sum[:])
}
