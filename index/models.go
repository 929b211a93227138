package index

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/vector"
)

// A model is the catalog's vectors in one space: those of one embedder under
// one identity. The embedder may change its identity; then another model
// takes this one's place.
type model struct {
	// Set once.
	embedder Embedder
	identity string
	form     int // of the texts it embeds
	space    store.Space
	graph    graph

	// Guarded by Index.mu.
	known    map[[32]byte]vector.Code // by text
	dims     int
	ready    bool // it has had every vector once, and may serve
	looked   bool // the store was asked for what is missing
	failures map[[32]byte]failure
	changed  int // counts changes of known
	unsaved  int // of the vectors taken, those that are not in the file
	built    *space
	builtOf  []*document // the documents of built
	builtAt  int         // changed, when built was made

	fill filling
}

// A failure is a text that its embedder gives no vector.
type failure struct {
	attempts int
	reason   string
}

// maxAttempts is how often a text is tried while others succeed. After that
// its document does without a vector.
const maxAttempts = 3

// filling is how far the vectors of a model are. Index.mu guards it.
type filling struct {
	due     bool    // something may be missing that was not looked for
	busy    bool    // a pass is under way
	wanted  int     // texts of the searchable catalog
	missing int     // those that lack their vector and may still get it
	refused int     // those that are not tried again
	rate    float64 // texts embedded a second
	err     error   // of the last pass; nil when it succeeded
	asked   int64
	found   int64 // in the store
}

func newModel(e Embedder) *model {
	m := &model{
		embedder: e, identity: e.Model(), form: asText,
		known: map[[32]byte]vector.Code{}, failures: map[[32]byte]failure{}, fill: filling{due: true},
	}
	if _, ok := e.(FieldEmbedder); ok {
		m.form = asFields
	}
	m.space = store.SpaceOf(m.identity, fmt.Sprint(templateVersion, "/", m.form))
	return m
}

// pending says that the embedder does not know its identity yet.
func (m *model) pending() bool { return strings.HasSuffix(m.identity, "@pending") }

// hopeless says that a text is not tried again.
func (m *model) hopeless(text [32]byte) bool { return m.failures[text].attempts >= maxAttempts }

// models are the spaces of an index. Index.mu guards the pointers.
type models struct {
	desired  *model // of the embedder that was asked for; nil without one
	previous *model // what served before, until desired is ready
	fallback *model // nil without one, or when its space is desired's

	kicks    [2]chan struct{} // wake the fillers of desired and fallback
	building chan struct{}    // wakes the builder of graphs
	changed  chan struct{}    // closed and renewed when any state changes
}

func newModels() models {
	return models{
		kicks:    [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)},
		building: make(chan struct{}, 1), changed: make(chan struct{}),
	}
}

// A role is which embedder a filler works for.
type role int

const (
	desired role = iota
	fallback
)

func (ms *models) of(r role) *model {
	if r == desired {
		return ms.desired
	}
	return ms.fallback
}

// all are the models in order of preference.
func (ms *models) all() []*model {
	return slices.DeleteFunc([]*model{ms.desired, ms.previous, ms.fallback}, func(m *model) bool { return m == nil })
}

// serving is the model whose vectors searches use first, nil if none can.
func (ms *models) serving() *model {
	for _, m := range ms.all() {
		if m.ready {
			return m
		}
	}
	return nil
}

// serve lists the spaces that may answer, the serving one first, and why the
// one that was asked for is not among them. The caller holds Index.mu.
func (ix *Index) serve(s *snapshot) (spaces []*space, waiting string) {
	ms := &ix.models
	if ms.desired == nil {
		return nil, ""
	}
	if first := ms.serving(); first != nil {
		spaces = append(spaces, ix.assemble(first, s))
		if f := ms.fallback; f != nil && f != first && f.ready {
			spaces = append(spaces, ix.assemble(f, s))
		}
	}
	if !ms.desired.ready {
		waiting = ms.desired.waiting()
	}
	return spaces, waiting
}

func (m *model) waiting() string {
	f := m.fill
	why := fmt.Sprintf("the vectors of %s are being made: %d of %d", m.identity, f.wanted-f.missing, f.wanted)
	if f.err != nil {
		why += ": " + f.err.Error()
	}
	return why
}

// assemble makes the space of m for the documents of s. The caller holds
// Index.mu.
func (ix *Index) assemble(m *model, s *snapshot) *space {
	if m.built != nil && sameDocs(m.builtOf, s.docs) && m.builtAt == m.changed {
		return m.built
	}
	m.prune(s.docs)
	m.built = newSpace(s, m.identity, m.embedder, m.rowsOf(s.docs))
	m.built.near = ix.near(m, s, m.built.rows)
	m.builtOf, m.builtAt = s.docs, m.changed
	return m.built
}

// rowsOf are the vectors of docs.
func (m *model) rowsOf(docs []*document) *vector.Codes {
	rows := vector.NewCodes(len(docs), m.dims)
	for i, d := range docs {
		if code, ok := m.known[d.embedded[m.form]]; ok {
			rows.Set(i, code)
		}
	}
	return rows
}

// prune forgets the vectors that no document has, once they are many.
func (m *model) prune(docs []*document) {
	const few = 1000
	if len(m.known) <= len(docs)+len(docs)/4+few {
		return
	}
	known := make(map[[32]byte]vector.Code, len(docs))
	for _, d := range docs {
		text := d.embedded[m.form]
		if code, ok := m.known[text]; ok {
			known[text] = code
		}
	}
	m.known = known
}

// sameDocs says whether two snapshots have the very same documents.
func sameDocs(a, b []*document) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// publish makes the models' state searchable over the current catalog. The
// caller holds Index.mu.
func (ix *Index) publish() {
	s := ix.snapshot()
	spaces, waiting := ix.serve(s)
	next := s.withSpaces(spaces...)
	next.waiting = waiting
	ix.current.Store(next)
	ix.announce()
}

// announce wakes who waits for a change. The caller holds Index.mu.
func (ix *Index) announce() {
	close(ix.models.changed)
	ix.models.changed = make(chan struct{})
}

// kick makes the fillers look for what is missing. The caller holds Index.mu.
func (ix *Index) kick() {
	for r, c := range ix.models.kicks {
		if m := ix.models.of(role(r)); m != nil {
			m.fill.due = true
			wake(c)
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake
	}
}

// makeModels takes over the options' embedders.
func (ix *Index) makeModels() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if e := ix.options.Embedder; e != nil {
		ix.models.desired = ix.modelFor(e)
		if f := ix.options.Fallback; f != nil && f.Model() != e.Model() {
			ix.models.fallback = ix.modelFor(f)
		}
	}
}

// startModels takes over the vectors that are stored, and begins to fill what
// is missing.
func (ix *Index) startModels(ctx context.Context) {
	ix.mu.Lock()
	all := ix.models.all()
	ix.mu.Unlock()
	for _, m := range all {
		ix.lookUp(ctx, m)
	}
	ix.forgetDerived()
	if ix.options.Offline {
		for _, m := range all {
			ix.readGraphNow(m)
		}
		return
	}
	// Loading the catalog has kicked the fillers already.
	for _, r := range []role{desired, fallback} {
		ix.tending.Go(func() { ix.fillFor(ctx, r) })
	}
	ix.tending.Go(func() { ix.buildGraphs(ctx) })
}

// SetEmbedder changes the embedder: its vectors are filled beside those that
// serve, which are replaced once complete. Nil goes back to words alone.
func (ix *Index) SetEmbedder(e Embedder) {
	ix.mu.Lock()
	ms := &ix.models
	if old := ms.desired; old != nil && old.ready {
		ms.previous = old
	}
	ms.desired = nil
	if e != nil {
		ms.desired = ix.modelFor(e)
	} else {
		ms.previous = nil
	}
	ix.settleFallback()
	m := ms.desired
	look := m != nil && !m.looked
	ix.publish()
	ix.kick()
	ix.mu.Unlock()
	if look {
		ix.lookUp(context.Background(), m)
	}
}

// modelFor is a model of the embedder, with the vectors of one that serves
// already if that is of the same space.
// The caller holds mu.
func (ix *Index) modelFor(e Embedder) *model {
	m := newModel(e)
	for _, old := range ix.models.all() {
		if old.space == m.space && !m.pending() {
			m.known, m.dims, m.ready, m.looked, m.changed = old.known, old.dims, old.ready, old.looked, old.changed
			m.unsaved = old.unsaved
			return m
		}
	}
	return m
}

// settleFallback keeps a fallback only while its space is not the one that
// was asked for. The caller holds mu.
func (ix *Index) settleFallback() {
	ms := &ix.models
	f := ix.options.Fallback
	switch {
	case f == nil || ms.desired == nil || f.Model() == ms.desired.identity:
		ms.fallback = nil
	case ms.fallback == nil:
		ms.fallback = ix.modelFor(f)
	}
	if ms.desired == nil || ms.desired.ready {
		ms.previous = nil
	}
}

// rename replaces the model of a role whose embedder goes by another identity
// now, and says whether it did.
func (ix *Index) rename(ctx context.Context, r role) bool {
	ix.mu.Lock()
	m := ix.models.of(r)
	if m == nil || m.embedder.Model() == m.identity {
		ix.mu.Unlock()
		return false
	}
	next := ix.modelFor(m.embedder)
	ix.log.Info("embedder has another identity", "old", m.identity, "new", next.identity)
	if r == desired {
		ix.models.desired = next
	} else {
		ix.models.fallback = next
	}
	ix.settleFallback()
	ix.publish()
	ix.mu.Unlock()
	ix.lookUp(ctx, next)
	return true
}

// learn lets an offline index find out what identity a server goes by, which
// only asking it can tell. Without it the stored vectors cannot be chosen.
func (ix *Index) learn(ctx context.Context, text string) {
	if !ix.options.Offline {
		return
	}
	ix.mu.Lock()
	m := ix.models.desired
	ix.mu.Unlock()
	if m == nil || !m.pending() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ix.queryTimeout())
	defer cancel()
	if _, err := m.embedder.EmbedQuery(ctx, text); err != nil {
		ix.mu.Lock()
		m.fill.err = err
		ix.publish()
		ix.mu.Unlock()
		return
	}
	ix.rename(ctx, desired)
}

// Wait returns when every searchable document has its vectors and graphs are
// built, or with ctx's error or the embedder's. Documents that the embedder
// refuses for good while it takes others are not waited for.
func (ix *Index) Wait(ctx context.Context) error {
	for {
		ix.mu.Lock()
		changed := ix.models.changed
		done, err := ix.settled()
		ix.mu.Unlock()
		if done || ix.options.Offline {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for vectors: %w", ctx.Err())
		}
	}
}

// settled says whether nothing is under way. The caller holds mu.
func (ix *Index) settled() (bool, error) {
	for _, m := range []*model{ix.models.desired, ix.models.fallback} {
		switch {
		case m == nil:
		case m.fill.due, m.fill.busy:
			return false, nil
		case m.fill.missing > 0 && m.fill.err != nil:
			return true, m.fill.err
		case m.fill.missing > 0, m.graph.busy:
			return false, nil
		}
	}
	return true, nil
}

// modelStatus describes the models. The caller holds mu.
func (ix *Index) modelStatus() (all []ModelStatus) {
	ms := &ix.models
	serving := ms.serving()
	for _, m := range ms.all() {
		st := ModelStatus{
			Model: m.identity, Dims: m.dims, Wanted: m.fill.wanted, Vectors: m.fill.wanted - m.fill.missing - m.fill.refused,
			Rate: m.fill.rate, CacheHit: m.fill.found, CacheAll: m.fill.asked,
		}
		switch {
		case m == serving:
			st.Role = "serving"
		case m == ms.fallback:
			st.Role = "fallback"
		case m == ms.desired:
			st.Role = "filling"
		default:
			continue // it waits to be dropped
		}
		if m.fill.err != nil {
			st.Error = m.fill.err.Error()
		}
		st.Graph, st.Recall = m.graph.describe()
		all = append(all, st)
	}
	return all
}

// spaceInfo describes the space of m to the store. The caller holds mu.
func (m *model) spaceInfo() store.SpaceInfo {
	return store.SpaceInfo{
		Key: m.space, Model: m.identity, Template: templateVersion, Dims: m.dims, Complete: m.ready, Used: time.Now(),
	}
}

func (m *model) log(l *slog.Logger) *slog.Logger { return l.With("model", m.identity) }
