package index

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/index/store"
)

// A folder is where an index keeps its state, or why it does not.
type folder struct {
	// Set once.
	options Options
	dir     string
	store   *store.Store // nil when everything is kept in memory
	log     *slog.Logger

	sources atomic.Pointer[map[string]string] // Options.Sources, or what SetSources put in their place

	mu      sync.Mutex // guards the fields below
	problem string     // why nothing is written, for as long as the process lives
	failure string     // why the last write failed; cleared by success
}

// openStore opens the state folder, or finds out why it is not to be used.
func (f *folder) openStore() error {
	if f.dir == "" {
		return nil
	}
	st, err := store.Open(f.dir, store.Options{ReadOnly: f.options.Offline})
	switch {
	case errors.Is(err, store.ErrNewer):
		f.problem = fmt.Sprintf("%v; the catalog is kept in memory only", err)
	case errors.Is(err, store.ErrReadOnly):
		f.problem = fmt.Sprintf("%v: the catalog is kept in memory only; make %s writable", err, f.dir)
		f.store = st
	case err != nil:
		return err
	default:
		f.store = st
	}
	if f.problem != "" {
		f.log.Warn("state folder is not written", "problem", f.problem)
	}
	return nil
}

// readOnly says whether changes stay in memory.
func (f *folder) readOnly() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store == nil || f.problem != "" || f.options.Offline
}

// fail remembers why the store could not be used, and says whether that is for
// good. A store that is busy, that is newer or cannot be written is no error
// of the caller's: status says it.
func (f *folder) fail(err error) (forGood bool, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if why := f.problem + f.failure; !strings.Contains(why, err.Error()) { // every poll would say it
		f.log.Warn("store", "error", err)
	}
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrReadOnly) {
		f.problem = fmt.Sprintf("%v; the catalog is kept in memory only", err)
		return true, nil
	}
	f.failure = err.Error()
	if errors.Is(err, store.ErrBusy) {
		err = nil
	}
	return false, err
}

// works takes note that the store could be used.
func (f *folder) works() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = ""
}

// faults are why nothing is written, and why the last write failed, empty
// without.
func (f *folder) faults() (problem, failure string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem, f.failure
}

// key is the key under which this process stores a server.
func (f *folder) key(name string) store.Key {
	if f.store == nil {
		return store.Key{}
	}
	return f.store.Key(name, (*f.sources.Load())[name])
}

// ours are the names of the servers to load by key; nil means all.
func (f *folder) ours() map[store.Key]string {
	sources := *f.sources.Load()
	if sources == nil {
		return nil
	}
	ours := make(map[store.Key]string, len(sources))
	for name := range sources {
		ours[f.key(name)] = name
	}
	return ours
}

// chosen are the stored servers that this process loads, by key: of those of
// one name the one listed last. Damaged records get their names back.
func (f *folder) chosen(all []store.Server) map[store.Key]store.Server {
	ours := f.ours()
	latest := map[string]store.Server{}
	for _, sv := range all {
		name, named := ours[sv.Key]
		switch {
		case ours != nil && !named, sv.Damaged && ours == nil: // its name is lost
			continue
		case sv.Damaged:
			sv.Name = name
		}
		if old, ok := latest[sv.Name]; !ok || sv.Listed.After(old.Listed) {
			latest[sv.Name] = sv
		}
	}
	byKey := make(map[store.Key]store.Server, len(latest))
	for _, sv := range latest {
		byKey[sv.Key] = sv
	}
	return byKey
}

// configuration names what this process loads of the folder: the same for
// all processes with the same servers at the same connections.
func (f *folder) configuration() string {
	var mix [16]byte
	for key := range f.ours() {
		for i, b := range key {
			mix[i] ^= b // any order gives the same
		}
	}
	return hex.EncodeToString(mix[:])
}

func (f *folder) derivedPath() string {
	return filepath.Join(f.dir, "derived-"+f.configuration()[:16])
}

// readDerived reads the file; that it cannot be read costs time only.
func (f *folder) readDerived() derived {
	d, err := readDerived(f.derivedPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log.Info("the catalog is derived anew", "file", f.derivedPath(), "error", err)
	}
	return d
}

// remember tells the store what is known of a space. Nothing depends on its
// being written.
func (f *folder) remember(ctx context.Context, info store.SpaceInfo) {
	if f.store == nil || f.readOnly() {
		return
	}
	if err := f.store.UseSpaces(ctx, []store.SpaceInfo{info}); err != nil && ctx.Err() == nil {
		f.log.Warn("the use of a vector space could not be stored", "model", info.Model, "error", err)
	}
}
