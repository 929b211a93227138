package spaces

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
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

	// Guarded by Spaces.mu.
	known     map[[32]byte]vector.Code // by text
	dims      int
	ready     bool // it has had every vector once, and may serve
	looked    bool // the store was asked for what is missing
	failures  map[[32]byte]failure
	changed   int // counts changes of known
	unsaved   int // of the vectors taken, those that are not in the file
	built     *snapshot.Space
	builtOf   []*snapshot.Document // the documents of built
	builtAt   int                  // changed, when built was made
	builtWith float64              // the weight of phrases in built

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

// filling is how far the vectors of a model are. Spaces.mu guards it.
type filling struct {
	due     bool    // something may be missing that was not looked for
	busy    bool    // a pass is under way
	wanted  int     // texts of the searchable catalog
	missing int     // those that lack their vector and may still get it
	refused int     // those that are not tried again
	said    int     // phrases that count, as the next two
	silent  int     // that lack their vector and may still get it
	mute    int     // that are not tried again
	rate    float64 // texts embedded a second
	err     error   // of the last pass; nil when it succeeded
	asked   int64
	found   int64 // in the store
}

// lacks says whether something is missing.
func (f *filling) lacks() bool { return f.missing+f.silent > 0 }

func newModel(e Embedder) *model {
	m := &model{
		embedder: e, identity: e.Model(), form: tool.AsText,
		known: map[[32]byte]vector.Code{}, failures: map[[32]byte]failure{}, fill: filling{due: true},
	}
	if _, ok := e.(FieldEmbedder); ok {
		m.form = tool.AsFields
	}
	m.space = store.SpaceOf(m.identity, fmt.Sprint(tool.TemplateVersion, "/", m.form))
	return m
}

// pending says that the embedder does not know its identity yet.
func (m *model) pending() bool { return strings.HasSuffix(m.identity, "@pending") }

// hopeless says that a text is not tried again.
func (m *model) hopeless(text [32]byte) bool { return m.failures[text].attempts >= maxAttempts }

// models are the spaces of an index. Spaces.mu guards them.
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

// settled says whether nothing is under way.
func (ms *models) settled() (bool, error) {
	for _, m := range []*model{ms.desired, ms.fallback} {
		switch {
		case m == nil:
		case m.fill.due, m.fill.busy:
			return false, nil
		case m.fill.lacks() && m.fill.err != nil:
			return true, m.fill.err
		case m.fill.lacks(), m.graph.busy:
			return false, nil
		}
	}
	return true, nil
}

// modelFor is a model of the embedder, with the vectors of one that serves
// already if that is of the same space.
func (ms *models) modelFor(e Embedder) *model {
	m := newModel(e)
	for _, old := range ms.all() {
		if old.space == m.space && !m.pending() {
			m.known, m.dims, m.ready, m.looked, m.changed = old.known, old.dims, old.ready, old.looked, old.changed
			m.unsaved = old.unsaved
			return m
		}
	}
	return m
}

// status describes the models.
func (ms *models) status() (all []Status) {
	serving := ms.serving()
	for _, m := range ms.all() {
		st := Status{
			Model: m.identity, Dims: m.dims, Wanted: m.fill.wanted, Vectors: m.fill.wanted - m.fill.missing - m.fill.refused,
			PhraseVectors: m.fill.said - m.fill.silent - m.fill.mute, Phrases: m.fill.said,
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

// settle keeps the fallback f only while its space is not the one that
// was asked for.
func (ms *models) settle(f Embedder) {
	switch {
	case f == nil || ms.desired == nil || f.Model() == ms.desired.identity:
		ms.fallback = nil
	case ms.fallback == nil:
		ms.fallback = ms.modelFor(f)
	}
	if ms.desired == nil || ms.desired.ready {
		ms.previous = nil
	}
}

// announce wakes who waits for a change.
func (ms *models) announce() {
	close(ms.changed)
	ms.changed = make(chan struct{})
}

// kick makes the fillers look for what is missing.
func (ms *models) kick() {
	for r, c := range ms.kicks {
		if m := ms.of(role(r)); m != nil {
			m.fill.due = true
			wake(c)
		}
	}
}

// serve is the snapshot with the spaces that may answer, the serving one
// first, and why the one that was asked for is not among them. The caller holds
// Spaces.mu.
func (es *Spaces) serve(s *snapshot.Snapshot) *snapshot.Snapshot {
	ms := &es.models
	if ms.desired == nil {
		return s.WithSpaces("")
	}
	var spaces []*snapshot.Space
	waiting := ""
	if first := ms.serving(); first != nil {
		spaces = append(spaces, es.assemble(first, s))
		if f := ms.fallback; f != nil && f != first && f.ready {
			spaces = append(spaces, es.assemble(f, s))
		}
	}
	if !ms.desired.ready {
		waiting = ms.desired.waiting()
	}
	return s.WithSpaces(waiting, spaces...)
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
// Spaces.mu.
func (es *Spaces) assemble(m *model, s *snapshot.Snapshot) *snapshot.Space {
	docs := s.Docs()
	if m.built != nil && sameDocs(m.builtOf, docs) && m.builtAt == m.changed && m.builtWith == s.PhraseVectors() {
		return m.built
	}
	m.prune(docs)
	rows, phrases := m.rowsOf(docs, s.PhraseVectors())
	m.built = snapshot.NewSpace(s, m.identity, m.embedder, rows, graphs{es}.near(m, s, rows)).WithPhrases(phrases)
	m.builtOf, m.builtAt, m.builtWith = docs, m.changed, s.PhraseVectors()
	return m.built
}

// rowsOf are the vectors of docs, in which their phrases weigh v, and those of
// each one's phrases. It takes all processors: with phrases it is much of what
// opening a folder takes.
func (m *model) rowsOf(docs []*snapshot.Document, v float64) (rows *vector.Codes, phrases [][]vector.Code) {
	rows, phrases = vector.NewCodes(len(docs), m.dims), make([][]vector.Code, len(docs))
	var wg sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for p := range parts {
		wg.Go(func() {
			sum := make([]float32, m.dims)
			for i := p * len(docs) / parts; i < (p+1)*len(docs)/parts; i++ {
				text := docs[i].Embedded[m.form]
				code, ok := m.known[text]
				if v > 0 && (ok || m.hopeless(text)) {
					phrases[i] = m.said(docs[i])
					code = withPhrases(code, phrases[i], v, sum)
				}
				if code.Scale > 0 {
					rows.Set(i, code)
				}
			}
		})
	}
	wg.Wait()
	return rows, phrases
}

// said are the vectors of a document's phrases, absent where there is none.
func (m *model) said(d *snapshot.Document) []vector.Code {
	if len(d.PhraseHashes) == 0 {
		return nil
	}
	codes := make([]vector.Code, len(d.PhraseHashes))
	for i, h := range d.PhraseHashes {
		codes[i] = m.known[h]
	}
	return codes
}

// withPhrases is the code of unit(own + v · mean of the phrases' vectors),
// summed in floats and coded once. Phrases without a vector are left out, and
// without any own stays as it is. What sum holds is overwritten.
func withPhrases(own vector.Code, phrases []vector.Code, v float64, sum []float32) vector.Code {
	clear(sum)
	n := 0
	for _, code := range phrases {
		if code.Scale > 0 {
			code.AddTo(sum)
			n++
		}
	}
	if n == 0 {
		return own
	}
	for i := range sum {
		sum[i] *= float32(v / float64(n))
	}
	if own.Scale > 0 {
		own.AddTo(sum)
	}
	if u, ok := vector.Unit(sum); ok {
		return vector.Encode(u)
	}
	return own // they cancel each other
}

// prune forgets the vectors that no document has, once they are many.
func (m *model) prune(docs []*snapshot.Document) {
	const few = 1000
	n := len(docs)
	for _, d := range docs {
		n += len(d.PhraseHashes)
	}
	if len(m.known) <= n+n/4+few {
		return
	}
	known := make(map[[32]byte]vector.Code, n)
	for _, d := range docs {
		for _, text := range append([][32]byte{d.Embedded[m.form]}, d.PhraseHashes...) {
			if code, ok := m.known[text]; ok {
				known[text] = code
			}
		}
	}
	m.known = known
}

// sameDocs says whether two snapshots have the very same documents.
func sameDocs(a, b []*snapshot.Document) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// spaceInfo describes the space of m to the store. The caller holds Spaces.mu.
func (m *model) spaceInfo() store.SpaceInfo {
	return store.SpaceInfo{
		Key: m.space, Model: m.identity, Template: tool.TemplateVersion, Dims: m.dims, Complete: m.ready, Used: time.Now(),
	}
}

func (m *model) log(l *slog.Logger) *slog.Logger { return l.With("model", m.identity) }
