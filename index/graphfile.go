package index

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/hnsw"
	"github.com/tooldex/tooldex/index/store"
)

// graphIdentity names the graphs of this configuration's catalog in a space:
// other configurations on the folder have catalogs of their own.
func (f *folder) graphIdentity(m *model) string {
	return m.space.String() + "/" + f.configuration()
}

func (f *folder) graphLock(m *model) (unlock func(), err error) {
	if f.dir == "" || f.readOnly() {
		return func() {}, nil
	}
	return store.TryLock(f.dir, strings.TrimSuffix(hnsw.FilePrefix(f.graphIdentity(m)), "-")+".lock")
}

// graphFiles are the saved graphs of m.
func (f *folder) graphFiles(m *model) []string {
	prefix := hnsw.FilePrefix(f.graphIdentity(m))
	files, _ := filepath.Glob(filepath.Join(f.dir, prefix+"*")) // the pattern is sound
	return slices.DeleteFunc(files, func(path string) bool { return !isGraph(path) })
}

// isGraph tells graphs from the locks and temporary files beside them.
func isGraph(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "hnsw-") && !strings.HasSuffix(name, ".lock") && !strings.HasSuffix(name, ".tmp")
}

// readGraph returns the newest saved graph, nil if there is none. One that is
// damaged is removed: it is built again.
func (f *folder) readGraph(m *model) *hnsw.Graph {
	if f.dir == "" {
		return nil
	}
	var best *hnsw.Graph
	var newest uint64
	for _, file := range f.graphFiles(m) {
		base, h, err := hnsw.ReadFile(file)
		switch {
		case errors.Is(err, hnsw.ErrVersion):
		case err != nil:
			m.log(f.log).Warn("a graph's file is damaged and made again", "error", err)
			if !f.readOnly() {
				_ = os.Remove(file) // a leftover is found out again
			}
		case h.Identity == f.graphIdentity(m) && (best == nil || h.Generation > newest):
			best, newest = base, h.Generation
		}
	}
	return best
}

// saveGraph writes the graph and removes the ones before it.
func (f *folder) saveGraph(m *model, base *hnsw.Graph, generation uint64) {
	if f.dir == "" || f.readOnly() {
		return
	}
	h := hnsw.Header{Identity: f.graphIdentity(m), Generation: generation}
	path := filepath.Join(f.dir, h.FileName())
	if err := base.WriteFile(path, h); err != nil {
		m.log(f.log).Warn("the graph could not be saved and will be built again", "error", err)
		return
	}
	// The lock is held: what other processes left unfinished goes too.
	leftovers, _ := filepath.Glob(filepath.Join(f.dir, hnsw.FilePrefix(h.Identity)+"*.tmp")) // the pattern is sound
	for _, old := range append(f.graphFiles(m), leftovers...) {
		if old != path {
			_ = os.Remove(old) // the newest one is read in any case
		}
	}
}
