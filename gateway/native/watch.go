package native

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway"
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

	comparing sync.Mutex        // guards last
	last      map[string]listed // by name

	mu      sync.Mutex // guards the fields below
	due     *time.Timer
	stopped bool
}

// Watch has changed called, in a goroutine of its own, whenever the list that
// the view shows by then is not the one that it was before, until Stop.
func (t *Tools) Watch(v func() view.View, changed func()) *Watcher {
	w := &Watcher{tools: t, view: v, changed: changed}
	w.last = t.known(v())
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
	rows := w.tools.list(w.view()).rows
	now, differs, reads := make(map[string]listed, len(rows)), len(rows) != len(w.last), len(rows) <= mostRead
	for _, r := range rows {
		was, there := w.last[r.name]
		if there && was.read == reads && was.of == r.Sum { // as most are
			now[r.name] = was
			continue
		}
		is := listed{of: r.Sum}
		if reads {
			is = w.tools.read(r)
		}
		now[r.name] = is
		known := was.read && is.read
		differs = differs || !there || known && was.object != is.object || !known && was.of != is.of
	}
	w.last = now
	if differs {
		w.changed()
	}
}

// mostRead is how many tools a list may have whose objects are compared. In a
// longer one a tool counts as changed when anything of it has.
const mostRead = 2000

// A listed tool is one of a list that is compared with the next one: a tool may
// change in what only searches show.
type listed struct {
	of     [16]byte // everything of the tool
	object [sha256.Size]byte
	read   bool // the object was
}

// read is what is listed of a tool.
func (t *Tools) read(r row) listed {
	is := listed{of: r.Sum, read: true}
	raw, description, err := t.entries.Object(r.Entry)
	if err != nil { // it is left out of the list
		return is
	}
	is.object = sha256.Sum256(object(raw, r.name, description, gateway.StatelessEra))
	return is
}

// known are the tools that v shows, unread.
func (t *Tools) known(v view.View) map[string]listed {
	rows := t.list(v).rows
	out := make(map[string]listed, len(rows))
	for _, r := range rows {
		out[r.name] = listed{of: r.Sum}
	}
	return out
}
