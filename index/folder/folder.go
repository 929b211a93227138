// Package folder is the state folder of an index: what of it this process
// loads, and whether and why not it is written.
package folder

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/index/store"
)

// A Folder is where an index keeps its state, or why it does not.
type Folder struct {
	// Set once.
	Dir     string       // "" keeps everything in memory
	Store   *store.Store // nil when everything is kept in memory
	Log     *slog.Logger
	Offline bool // nothing is written

	sources atomic.Pointer[map[string]string]

	mu      sync.Mutex // guards the fields below
	problem string     // why nothing is written, for as long as the process lives
	failure string     // why the last write failed; cleared by success
}

// Options configure Open.
type Options struct {
	Sources map[string]string // what identifies the connection of each server, by name; nil names every stored server
	Offline bool              // only read
	Log     *slog.Logger
}

// Open opens the state folder dir, or finds out why it is not to be used. An
// empty dir is none.
func Open(dir string, o Options) (*Folder, error) {
	f := &Folder{Dir: dir, Log: o.Log, Offline: o.Offline}
	f.SetSources(o.Sources)
	if dir == "" {
		return f, nil
	}
	st, err := store.Open(dir, store.Options{ReadOnly: o.Offline})
	switch {
	case errors.Is(err, store.ErrNewer):
		f.problem = fmt.Sprintf("%v; the catalog is kept in memory only", err)
	case errors.Is(err, store.ErrReadOnly):
		f.problem = fmt.Sprintf("%v: the catalog is kept in memory only; make %s writable", err, dir)
		f.Store = st
	case err != nil:
		return nil, err
	default:
		f.Store = st
	}
	if f.problem != "" {
		f.Log.Warn("state folder is not written", "problem", f.problem)
	}
	return f, nil
}

// SetSources changes which servers this process loads, and what identifies
// their connections.
func (f *Folder) SetSources(sources map[string]string) { f.sources.Store(&sources) }

// Sources are what identifies the servers' connections by name; nil names
// every stored server.
func (f *Folder) Sources() map[string]string { return *f.sources.Load() }

// ReadOnly says whether changes stay in memory.
func (f *Folder) ReadOnly() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Store == nil || f.problem != "" || f.Offline
}

// Fail remembers why the store could not be used, and says whether that is for
// good. A store that is busy, that is newer or cannot be written is no error
// of the caller's: status says it.
func (f *Folder) Fail(err error) (forGood bool, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if why := f.problem + f.failure; !strings.Contains(why, err.Error()) { // every poll would say it
		f.Log.Warn("store", "error", err)
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

// Works takes note that the store could be used.
func (f *Folder) Works() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failure = ""
}

// Faults are why nothing is written, and why the last write failed, empty
// without.
func (f *Folder) Faults() (problem, failure string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem, f.failure
}

// Key is the key under which this process stores a server.
func (f *Folder) Key(name string) store.Key {
	if f.Store == nil {
		return store.Key{}
	}
	return f.Store.Key(name, f.Sources()[name])
}

// Ours are the names of the servers to load by key; nil means all.
func (f *Folder) Ours() map[store.Key]string {
	sources := f.Sources()
	if sources == nil {
		return nil
	}
	ours := make(map[store.Key]string, len(sources))
	for name := range sources {
		ours[f.Key(name)] = name
	}
	return ours
}

// Chosen are the stored servers that this process loads, by key: of those of
// one name the one listed last. Damaged records get their names back.
func (f *Folder) Chosen(all []store.Server) map[store.Key]store.Server {
	ours := f.Ours()
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

// Configuration names what this process loads of the folder: the same for
// all processes with the same servers at the same connections.
func (f *Folder) Configuration() string {
	var mix [16]byte
	for key := range f.Ours() {
		for i, b := range key {
			mix[i] ^= b // any order gives the same
		}
	}
	return hex.EncodeToString(mix[:])
}

// DerivedPath is the file of what is derived for this configuration.
func (f *Folder) DerivedPath() string {
	return filepath.Join(f.Dir, "derived-"+f.Configuration()[:16])
}

// DropOthers forgets the stored servers that this process does not load, and
// returns their names. Those named in keep stay.
func (f *Folder) DropOthers(ctx context.Context, keep []string) (gone []string, err error) {
	if f.Store == nil {
		return nil, nil
	}
	all, _, err := f.Store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	ours := f.Ours()
	var drop []store.Key
	for _, sv := range all {
		if ours[sv.Key] == "" && !slices.Contains(keep, sv.Name) {
			drop = append(drop, sv.Key)
			gone = append(gone, sv.Name)
		}
	}
	if len(drop) == 0 {
		return nil, nil
	}
	return gone, f.Store.Drop(ctx, drop)
}
