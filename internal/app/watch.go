package app

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file has to be left alone before it is read: editors
// write in several steps.
const settle = 200 * time.Millisecond

// watchFile calls changed some time after the text of the file at path has
// changed, whoever did it in whatever way: written, renamed over, or by a link
// that points elsewhere. stop ends it.
func watchFile(path string, changed func()) (stop func(), err error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &fileWatch{path: path, watcher: watcher}
	if err := w.follow(); err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	var ended sync.WaitGroup
	ended.Go(func() { debounce(watcher.Events, watcher.Errors, w.differs, changed) })
	return func() {
		_ = watcher.Close() // it is not needed any more
		ended.Wait()
	}, nil
}

// A fileWatch watches the folders on which the text of a file depends.
type fileWatch struct {
	path    string
	watcher *fsnotify.Watcher
	sum     [sha256.Size]byte // of the text seen last
}

// follow watches the folder of the file, and that of the file to which it
// links. Folders and not the file: a file that is renamed over is another one.
func (w *fileWatch) follow() error {
	err := w.watcher.Add(filepath.Dir(w.path))
	if target, linkErr := filepath.EvalSymlinks(w.path); linkErr == nil && filepath.Dir(target) != filepath.Dir(w.path) {
		err = errors.Join(err, w.watcher.Add(filepath.Dir(target)))
	}
	w.sum = w.text()
	return err
}

// text identifies what the file holds; one that cannot be read holds nothing.
func (w *fileWatch) text() (sum [sha256.Size]byte) {
	data, err := os.ReadFile(w.path)
	if err != nil {
		return sum
	}
	return sha256.Sum256(data)
}

// differs says whether the file holds something else than the last time, and
// watches where it is by now.
func (w *fileWatch) differs() bool {
	before := w.sum
	// A folder that has gone is watched again when there is an event of another.
	_ = w.follow()
	return w.sum != before
}

// debounce calls changed after events that are over, if differs.
func debounce[E any](events <-chan E, errs <-chan error, differs func() bool, changed func()) {
	quiet := time.NewTimer(settle)
	defer quiet.Stop()
	quiet.Stop()
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
			quiet.Reset(settle)
		case _, ok := <-errs: // too many events at once: something happened
			if !ok {
				return
			}
			quiet.Reset(settle)
		case <-quiet.C:
			if differs() {
				changed()
			}
		}
	}
}
