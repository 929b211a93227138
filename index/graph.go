package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tooldex/tooldex/index/hnsw"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/vector"
)

// graphRetry is how long a process waits for another one that builds the
// same graph before it looks again.
const graphRetry = 5 * time.Second

// A graph is a model's HNSW graph, built over some state of the catalog and
// bound to the one that is searched. Index.mu guards it.
type graph struct {
	base  *hnsw.Graph
	busy  bool // one is wanted and not there yet
	bound *hnsw.Index
	read  bool // the file was looked for
}

// describe returns what status says of the graph.
func (g *graph) describe() (state string, recall float64) {
	switch {
	case g.bound != nil:
		return "ready", g.base.Recall()
	case g.busy:
		return "building", 0
	}
	return "scan", 0
}

// near is what finds the nearest documents: the graph where the catalog is
// large enough for one and it has been built, else the scan. It asks for a
// graph that is missing or too old. The caller holds mu.
func (ix *Index) near(m *model, s *snapshot, rows *vector.Codes) nearer {
	g := &m.graph
	g.bound = nil
	if len(s.docs) <= s.threshold || len(s.docs) == 0 || ix.options.Offline && g.base == nil {
		g.busy = false
		return rows
	}
	if g.base != nil {
		bound, err := g.base.Bind(graphKeys(s), rows, hnsw.IndexOptions{Threshold: max(0, s.threshold)})
		if err != nil {
			m.log(ix.log).Warn("the graph does not fit the catalog and is built anew", "error", err)
		} else {
			g.bound = bound
		}
	}
	if m.ready && (g.bound == nil || g.bound.Stale()) {
		g.busy = true
		wake(ix.models.building)
	}
	if g.bound == nil {
		return rows
	}
	return g.bound
}

// graphKeys are the documents' identities as a graph knows them: their ids,
// and for further documents of one id their places among these.
func graphKeys(s *snapshot) []uint64 {
	keys := make([]uint64, len(s.docs))
	for i, d := range s.docs {
		id := store.ParseID(d.id)
		for _, b := range id {
			keys[i] = keys[i]<<8 | uint64(b)
		}
		keys[i] <<= 8
		if i > 0 && keys[i-1]>>8 == keys[i]>>8 {
			keys[i] = keys[i-1] + 1
		}
	}
	return keys
}

// buildGraphs builds graphs that are wanted, one after the other, until ctx
// ends.
func (ix *Index) buildGraphs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ix.models.building:
		}
		ix.mu.Lock()
		all := ix.models.all()
		ix.mu.Unlock()
		for _, m := range all {
			if ctx.Err() == nil {
				ix.buildGraph(ctx, m)
			}
		}
	}
}

// buildGraph takes the graph from its file if that is new enough, else builds
// it from the vectors that serve.
func (ix *Index) buildGraph(ctx context.Context, m *model) {
	ix.mu.Lock()
	busy, built, keys, generation := m.graph.busy, m.built, graphKeys(ix.snapshot()), ix.generation
	fits := built != nil && sameDocs(m.builtOf, ix.snapshot().docs)
	read := m.graph.read
	m.graph.read = true
	ix.mu.Unlock()
	if !busy || !fits {
		return
	}
	if !read && ix.adoptGraph(m, ix.readGraph(m)) {
		return
	}
	unlock, err := ix.graphLock(m)
	if err != nil {
		ix.log.Warn("building a graph without a lock", "error", err)
	} else if unlock == nil { // another process builds it
		ix.later(ctx, m)
		return
	} else {
		defer unlock()
	}
	start := time.Now()
	base, err := hnsw.Build(ctx, keys, built.rows, hnsw.BuildOptions{})
	if err != nil {
		if ctx.Err() == nil {
			m.log(ix.log).Error("the graph could not be built, searches scan", "error", err)
		}
		ix.mu.Lock()
		m.graph.busy = false
		ix.announce()
		ix.mu.Unlock()
		return
	}
	m.log(ix.log).Info("graph is built", "documents", base.Docs(), "recall", base.Recall(), "took", time.Since(start))
	ix.saveGraph(m, base, generation)
	ix.adoptGraph(m, base)
}

// readGraphNow takes the graph from its file if the catalog needs one.
func (ix *Index) readGraphNow(m *model) {
	if s := ix.snapshot(); m.ready && len(s.docs) > s.threshold {
		ix.adoptGraph(m, ix.readGraph(m))
	}
}

// later has the graph's file looked for again.
func (ix *Index) later(ctx context.Context, m *model) {
	select {
	case <-ctx.Done():
	case <-time.After(graphRetry):
		ix.mu.Lock()
		m.graph.read = false
		ix.mu.Unlock()
		wake(ix.models.building)
	}
}

// adoptGraph puts a graph in use and says whether it is new enough.
func (ix *Index) adoptGraph(m *model, base *hnsw.Graph) bool {
	if base == nil {
		return false
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	m.graph.base, m.graph.busy = base, false
	m.built = nil // its searcher is another one
	ix.publish()
	return !m.graph.busy
}

// graphIdentity names the graphs of this configuration's catalog in a space:
// other configurations on the folder have catalogs of their own.
func (ix *Index) graphIdentity(m *model) string {
	return m.space.String() + "/" + ix.configuration()
}

func (ix *Index) graphLock(m *model) (unlock func(), err error) {
	if ix.dir == "" || ix.readOnlyNow() {
		return func() {}, nil
	}
	return store.TryLock(ix.dir, strings.TrimSuffix(hnsw.FilePrefix(ix.graphIdentity(m)), "-")+".lock")
}

// graphFiles are the saved graphs of m.
func (ix *Index) graphFiles(m *model) []string {
	prefix := hnsw.FilePrefix(ix.graphIdentity(m))
	files, _ := filepath.Glob(filepath.Join(ix.dir, prefix+"*")) // the pattern is sound
	return slices.DeleteFunc(files, func(path string) bool { return !isGraph(path) })
}

// isGraph tells graphs from the locks and temporary files beside them.
func isGraph(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "hnsw-") && !strings.HasSuffix(name, ".lock") && !strings.HasSuffix(name, ".tmp")
}

// readGraph returns the newest saved graph, nil if there is none. One that is
// damaged is removed: it is built again.
func (ix *Index) readGraph(m *model) *hnsw.Graph {
	if ix.dir == "" {
		return nil
	}
	var best *hnsw.Graph
	var newest uint64
	for _, file := range ix.graphFiles(m) {
		base, h, err := hnsw.ReadFile(file)
		switch {
		case errors.Is(err, hnsw.ErrVersion):
		case err != nil:
			m.log(ix.log).Warn("a graph's file is damaged and made again", "error", err)
			if !ix.readOnlyNow() {
				_ = os.Remove(file) // a leftover is found out again
			}
		case h.Identity == ix.graphIdentity(m) && (best == nil || h.Generation > newest):
			best, newest = base, h.Generation
		}
	}
	return best
}

// saveGraph writes the graph and removes the ones before it.
func (ix *Index) saveGraph(m *model, base *hnsw.Graph, generation uint64) {
	if ix.dir == "" || ix.readOnlyNow() {
		return
	}
	h := hnsw.Header{Identity: ix.graphIdentity(m), Generation: generation}
	path := filepath.Join(ix.dir, h.FileName())
	if err := base.WriteFile(path, h); err != nil {
		m.log(ix.log).Warn("the graph could not be saved and will be built again", "error", err)
		return
	}
	// The lock is held: what other processes left unfinished goes too.
	leftovers, _ := filepath.Glob(filepath.Join(ix.dir, hnsw.FilePrefix(h.Identity)+"*.tmp")) // the pattern is sound
	for _, old := range append(ix.graphFiles(m), leftovers...) {
		if old != path {
			_ = os.Remove(old) // the newest one is read in any case
		}
	}
}

// ageFiles removes what no process has used for a week: graphs of other
// identities, what is derived for other configurations, locks and temporary files.
func (ix *Index) ageFiles(now time.Time) {
	ix.mu.Lock()
	all := ix.models.all()
	ix.mu.Unlock()
	ours := []string{ix.derivedPath()}
	for _, m := range all {
		ours = append(ours, ix.graphFiles(m)...)
	}
	for _, file := range ours {
		_ = os.Chtimes(file, now, now) // one that looks old is only made again
	}
	for _, pattern := range []string{"hnsw-*", "fill-*.lock", "store.new-*", "folder.key-*.tmp", "derived-*", "analyses-*", "vectors-*"} {
		files, _ := filepath.Glob(filepath.Join(ix.dir, pattern)) // the patterns are sound
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && now.Sub(info.ModTime()) > store.SpaceLife {
				_ = os.Remove(file) // tried again tomorrow
			}
		}
	}
}
