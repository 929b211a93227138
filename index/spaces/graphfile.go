package spaces

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/folder"
	"github.com/tooldex/tooldex/index/hnsw"
	"github.com/tooldex/tooldex/index/store"
)

// graphFiles are the saved graphs of a space.
type graphFiles struct {
	folder   *folder.Folder
	identity string
	log      *slog.Logger
}

// graphFiles are those of a model.
func (gs graphs) graphFiles(m *model) graphFiles {
	// Other configurations on the folder have catalogs of their own.
	return graphFiles{gs.folder, m.space.String() + "/" + gs.folder.Configuration(), m.log(gs.folder.Log)}
}

// lock takes the lock to build the graph; unlock is nil while another process has it.
func (f graphFiles) lock() (unlock func(), err error) {
	if f.folder.Dir == "" || f.folder.ReadOnly() {
		return func() {}, nil
	}
	return store.TryLock(f.folder.Dir, strings.TrimSuffix(hnsw.FilePrefix(f.identity), "-")+".lock")
}

// list are the files.
func (f graphFiles) list() []string {
	prefix := hnsw.FilePrefix(f.identity)
	files, _ := filepath.Glob(filepath.Join(f.folder.Dir, prefix+"*")) // the pattern is sound
	return slices.DeleteFunc(files, func(path string) bool { return !hnsw.IsFile(path) })
}

// read returns the newest saved graph, nil if there is none. One that is
// damaged is removed: it is built again.
func (f graphFiles) read() *hnsw.Graph {
	if f.folder.Dir == "" {
		return nil
	}
	var best *hnsw.Graph
	var newest uint64
	for _, file := range f.list() {
		base, h, err := hnsw.ReadFile(file)
		switch {
		case errors.Is(err, hnsw.ErrVersion):
		case err != nil:
			f.log.Warn("a graph's file is damaged and made again", "error", err)
			if !f.folder.ReadOnly() {
				_ = os.Remove(file) // a leftover is found out again
			}
		case h.Identity == f.identity && (best == nil || h.Generation > newest):
			best, newest = base, h.Generation
		}
	}
	return best
}

// save writes the graph and removes the ones before it.
func (f graphFiles) save(base *hnsw.Graph, generation uint64) {
	if f.folder.Dir == "" || f.folder.ReadOnly() {
		return
	}
	h := hnsw.Header{Identity: f.identity, Generation: generation}
	path := filepath.Join(f.folder.Dir, h.FileName())
	if err := base.WriteFile(path, h); err != nil {
		f.log.Warn("the graph could not be saved and will be built again", "error", err)
		return
	}
	// The lock is held: what other processes left unfinished goes too.
	leftovers, _ := filepath.Glob(filepath.Join(f.folder.Dir, hnsw.FilePrefix(h.Identity)+"*.tmp")) // the pattern is sound
	for _, old := range append(f.list(), leftovers...) {
		if old != path {
			_ = os.Remove(old) // the newest one is read in any case
		}
	}
}
