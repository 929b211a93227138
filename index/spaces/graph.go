package spaces

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/tooldex/tooldex/index/hnsw"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/vector"
)

// graphRetry is how long a process waits for another one that builds the
// same graph before it looks again.
const graphRetry = 5 * time.Second

// A graph is a model's HNSW graph, built over some state of the catalog and
// bound to the one that is searched. Spaces.mu guards it.
type graph struct {
	base  *hnsw.Graph
	busy  bool // one is wanted and not there yet
	bound *hnsw.Index
	read  bool // the file was looked for
}

// graphs builds the graphs of the spaces and puts them in use.
type graphs struct{ *Spaces }

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
// graph that is missing or too old. The caller holds Spaces.mu.
func (gs graphs) near(m *model, s *snapshot.Snapshot, rows *vector.Codes) snapshot.Nearer {
	g := &m.graph
	g.bound = nil
	if n := len(s.Docs()); n <= s.Threshold() || n == 0 || gs.folder.Offline && g.base == nil {
		g.busy = false
		return rows
	}
	if g.base != nil {
		bound, err := g.base.Bind(graphKeys(s.Docs()), rows, hnsw.IndexOptions{Threshold: s.Threshold()})
		if err != nil {
			m.log(gs.folder.Log).Warn("the graph does not fit the catalog and is built anew", "error", err)
		} else {
			g.bound = bound
		}
	}
	if m.ready && (g.bound == nil || g.bound.Stale()) {
		g.busy = true
		wake(gs.models.building)
	}
	if g.bound == nil {
		return rows
	}
	return g.bound
}

// graphKeys are the documents' identities as a graph knows them: their ids,
// and for further documents of one id their places among these.
func graphKeys(docs []*snapshot.Document) []uint64 {
	keys := make([]uint64, len(docs))
	for i, d := range docs {
		id := store.ParseID(d.ID)
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
func (gs graphs) buildGraphs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-gs.models.building:
		}
		gs.mu.Lock()
		all := gs.models.all()
		gs.mu.Unlock()
		for _, m := range all {
			if ctx.Err() == nil {
				gs.buildGraph(ctx, m)
			}
		}
	}
}

// buildGraph takes the graph from its file if that is new enough, else builds
// it from the vectors that serve.
func (gs graphs) buildGraph(ctx context.Context, m *model) {
	generation := gs.options.Catalog.Version()
	gs.mu.Lock()
	busy, built, docs := m.graph.busy, m.built, m.builtOf
	read := m.graph.read
	m.graph.read = true
	gs.mu.Unlock()
	if !busy || built == nil {
		return // whoever makes it built asks again
	}
	if !read && gs.adoptGraph(m, gs.graphFiles(m).read()) {
		return // if it is too old, another one is asked for
	}
	unlock, err := gs.graphFiles(m).lock()
	if err != nil {
		gs.folder.Log.Warn("building a graph without a lock", "error", err)
	} else if unlock == nil { // another process builds it
		gs.later(ctx, m)
		return
	} else {
		defer unlock()
	}
	start := time.Now()
	base, err := hnsw.Build(ctx, graphKeys(docs), built.Rows(), hnsw.BuildOptions{})
	if err != nil {
		if ctx.Err() == nil {
			m.log(gs.folder.Log).Error("the graph could not be built, searches scan", "error", err)
		}
		gs.mu.Lock()
		m.graph.busy = false
		gs.models.announce()
		gs.mu.Unlock()
		return
	}
	m.log(gs.folder.Log).Info("graph is built", "documents", base.Docs(), "recall", base.Recall(), "took", time.Since(start))
	gs.graphFiles(m).save(base, generation)
	gs.adoptGraph(m, base)
}

// readGraphNow takes the graph from its file if the catalog needs one.
func (gs graphs) readGraphNow(m *model) {
	if s := gs.snapshot(); m.ready && len(s.Docs()) > s.Threshold() {
		gs.adoptGraph(m, gs.graphFiles(m).read())
	}
}

// later has the graph's file looked for again.
func (gs graphs) later(ctx context.Context, m *model) {
	select {
	case <-ctx.Done():
	case <-time.After(graphRetry):
		gs.mu.Lock()
		m.graph.read = false
		gs.mu.Unlock()
		wake(gs.models.building)
	}
}

// adoptGraph puts a graph in use and says whether there is one.
func (gs graphs) adoptGraph(m *model, base *hnsw.Graph) bool {
	if base == nil {
		return false
	}
	gs.mu.Lock()
	defer gs.mu.Unlock()
	m.graph.base, m.graph.busy = base, false
	m.built = nil // its searcher is another one
	gs.publish()
	return true
}

// AgeFiles removes what no process has used for a week: graphs of other
// identities, what is derived for other configurations, locks and temporary files.
func (es *Spaces) AgeFiles(now time.Time) {
	es.mu.Lock()
	all := es.models.all()
	es.mu.Unlock()
	ours := []string{es.folder.DerivedPath()}
	for _, m := range all {
		ours = append(ours, graphs{es}.graphFiles(m).list()...)
	}
	for _, file := range ours {
		_ = os.Chtimes(file, now, now) // one that looks old is only made again
	}
	for _, pattern := range []string{"hnsw-*", "fill-*.lock", "store.new-*", "folder.key-*.tmp", "derived-*", "analyses-*", "vectors-*"} {
		files, _ := filepath.Glob(filepath.Join(es.folder.Dir, pattern)) // the patterns are sound
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && now.Sub(info.ModTime()) > store.SpaceLife {
				_ = os.Remove(file) // tried again tomorrow
			}
		}
	}
}
