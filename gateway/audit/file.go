package audit

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tooldex/tooldex/index/atomicfile"
)

const (
	suffix     = ".jsonl"
	headSuffix = ".head"
	lockSuffix = ".lock"
	stamp      = "20060102T150405Z"
)

// A file is one that this process writes.
type file struct {
	name string
	key  key
	f    *os.File
	head *os.File
	lock *flock.Flock // held as long as the file is written
	size int64
	last head
	born time.Time
}

// create begins a file, whose first line names those that are there.
func create(folder string, k key, now time.Time) (_ *file, err error) {
	there, err := names(folder)
	if err != nil {
		return nil, err
	}
	x := &file{name: now.UTC().Format(stamp) + "-" + strings.ToLower(rand.Text()[:8]) + suffix, key: k, born: now}
	path := filepath.Join(folder, x.name)
	x.lock = flock.New(path + lockSuffix)
	if ok, err := x.lock.TryLock(); err != nil || !ok {
		return nil, cmp.Or(err, fmt.Errorf("%s is locked", x.lock.Path()))
	}
	if err := x.begin(path, Event{Time: now, Kind: opened, Files: there}); err != nil {
		x.remove(folder)
		return nil, err
	}
	return x, nil
}

// begin makes the file with its first line. The head comes first: a file
// without one would look as one whose head was removed.
func (x *file) begin(path string, first Event) error {
	lines, last, err := x.lines(head{mac: x.key.begin(x.name)}, first)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path+headSuffix, func(w io.Writer) error {
		_, err := w.Write(x.key.text(x.name, last))
		return err
	}); err != nil {
		return err
	}
	if x.head, err = os.OpenFile(path+headSuffix, os.O_WRONLY, 0); err != nil {
		return err
	}
	if x.f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if _, err := x.f.Write(lines); err != nil {
		return err
	}
	x.size, x.last = int64(len(lines)), last
	return errors.Join(x.f.Sync(), atomicfile.SyncFolder(filepath.Dir(path)))
}

// lines are events as they stand in the file after last.
func (x *file) lines(last head, events ...Event) ([]byte, head, error) {
	var lines []byte
	for _, e := range events {
		e.Time, e.Request = e.Time.UTC(), e.Request[:min(len(e.Request), longName)]
		body, err := json.Marshal(struct {
			Seq int `json:"seq"`
			Event
		}{last.seq + 1, e})
		if err != nil {
			return nil, head{}, err
		}
		body = body[:len(body)-1] // the MAC comes before the last brace
		last = head{last.seq + 1, x.key.seal(last.mac, body)}
		lines = fmt.Appendf(append(lines, body...), macFormat, last.mac)
	}
	return lines, last, nil
}

// write appends events. After an error the file is as it was.
func (x *file) write(events ...Event) error {
	lines, last, err := x.lines(x.last, events...)
	if err != nil {
		return err
	}
	if _, err := x.f.WriteAt(lines, x.size); err != nil {
		return errors.Join(err, x.f.Truncate(x.size))
	}
	x.size, x.last = x.size+int64(len(lines)), last
	return nil
}

// macFormat is the end of a line.
const macFormat = `,"mac":"%x"}` + "\n"

// sync returns when what was written is on disk. The head follows, so that it
// never is ahead of the file.
func (x *file) sync() error {
	if err := x.f.Sync(); err != nil {
		return err
	}
	_, err := x.head.WriteAt(x.key.text(x.name, x.last), 0)
	return err
}

// close ends the file. Nothing is written to it afterwards.
func (x *file) close(now time.Time) error {
	return errors.Join(x.write(Event{Time: now, Kind: closed}), x.sync(), x.release())
}

// release gives the file up as it is.
func (x *file) release() error {
	var errs []error
	for _, f := range []*os.File{x.f, x.head} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	errs = append(errs, x.lock.Unlock())
	_ = os.Remove(x.lock.Path()) // nobody waits for it
	return errors.Join(errs...)
}

// remove takes back what create made.
func (x *file) remove(folder string) {
	_ = x.release()
	_ = os.Remove(filepath.Join(folder, x.name))            // it may not
	_ = os.Remove(filepath.Join(folder, x.name+headSuffix)) // be there
}

// names are the files of a folder in the order in which they began.
func names(folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(escape(folder), "*"+suffix))
	if err != nil {
		return nil, err
	}
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.Base(p)
	}
	slices.Sort(out)
	return out, nil
}

// escape is a path that stands for itself in a pattern.
func escape(path string) string {
	if os.PathSeparator == '\\' {
		return path // where nothing can be escaped
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// began is when a file did, by its name.
func began(name string) time.Time {
	text, _, _ := strings.Cut(name, "-")
	t, _ := time.Parse(stamp, text) // of another name is zero
	return t
}

// prune removes the files that ended before the moment, and names them.
func prune(folder string, before time.Time) (gone []string, err error) {
	all, err := names(folder)
	for _, name := range all {
		path := filepath.Join(folder, name)
		st, statErr := os.Stat(path)
		if statErr != nil || !st.ModTime().Before(before) || alive(path) {
			continue
		}
		if removeErr := os.Remove(path); removeErr != nil {
			err = errors.Join(err, removeErr)
			continue
		}
		_ = os.Remove(path + headSuffix) // it says nothing without the file
		_ = os.Remove(path + lockSuffix) // which a killed process left
		gone = append(gone, name)
	}
	return gone, err
}

// alive says whether a process writes the file.
func alive(path string) bool {
	if _, err := os.Stat(path + lockSuffix); err != nil {
		return false
	}
	l := flock.New(path + lockSuffix)
	ok, err := l.TryLock()
	if ok {
		_ = l.Unlock() // nobody waits for it
	}
	return err == nil && !ok
}
