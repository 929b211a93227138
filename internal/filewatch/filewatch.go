// Package filewatch says when the text of a file has become another one,
// whoever changed it in whatever way, and not before it is whole as far as can
// be told.
package filewatch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Settle is how long the text of a file has to stay the same before it is
// taken: editors write in several steps. One whose last line has no end yet, as
// a file that is being written, has to stay for unended times as long.
const (
	Settle  = 200 * time.Millisecond
	unended = 3
)

// Watch calls changed some time after the text of the file at path has
// changed, whoever did it in whatever way: written, renamed over, or by a link
// that points elsewhere. stop ends it.
func Watch(path string, changed func()) (stop func(), err error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watch{path: path, watcher: watcher}
	if err := w.follow(); err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	var ended sync.WaitGroup
	known := w.look() // before this returns, so that no change after it is missed
	ended.Go(func() { settled(watcher.Events, watcher.Errors, known, w.look, changed) })
	return func() {
		_ = watcher.Close() // it is not needed any more
		ended.Wait()
	}, nil
}

// A watch watches the folders on which the text of a file depends.
type watch struct {
	path    string
	watcher *fsnotify.Watcher
}

// follow watches the folder of the file, and that of the file to which it
// links. Folders and not the file: a file that is renamed over is another one.
func (w *watch) follow() error {
	err := w.watcher.Add(filepath.Dir(w.path))
	if target, linkErr := filepath.EvalSymlinks(w.path); linkErr == nil && filepath.Dir(target) != filepath.Dir(w.path) {
		err = errors.Join(err, w.watcher.Add(filepath.Dir(target)))
	}
	return err
}

// A Text identifies what a file holds; one that cannot be read holds nothing.
type Text struct {
	sum  [sha256.Size]byte
	open bool // its last line has no end
}

// Of is what the file at path holds.
func Of(path string) (t Text, empty bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Text{}, false
	}
	return Text{sum: sha256.Sum256(data), open: !bytes.HasSuffix(data, []byte("\n"))}, len(bytes.TrimSpace(data)) == 0
}

// look is what the file holds, which is watched from then on where it is by
// now.
func (w *watch) look() Text {
	// A folder that has gone is watched again when there is an event of another.
	_ = w.follow()
	now, _ := Of(w.path)
	return now
}

// settled calls changed when look gives another text than known, and goes on
// to. Events are only a reason to look: other files of the folders change,
// too, maybe without a pause.
func settled[E any](events <-chan E, errs <-chan error, known Text, look func() Text, changed func()) {
	last, same := known, 0
	var again <-chan time.Time // nil when there is no reason to look
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
		case _, ok := <-errs: // too many events at once: something happened
			if !ok {
				return
			}
		case <-again:
			again = nil
			now := look()
			switch {
			case now != last:
				last, same = now, 0
			case now == known:
				continue
			case now.open && same+1 < unended:
				same++
			default:
				known = now
				changed()
				continue
			}
		}
		if again == nil {
			again = time.After(Settle)
		}
	}
}
