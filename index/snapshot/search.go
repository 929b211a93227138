package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
)

var (
	// ErrNoVectors reports a semantic search while no embedder can answer.
	ErrNoVectors = errors.New("no vectors to search")
	// ErrUnknownWords reports a semantic search for a text of which the
	// embedding model knows no word. It comes with ErrNoVectors.
	ErrUnknownWords = errors.New("the model knows no word of the query")
)

const defaultLimit = 10

// A search is one query's run over one snapshot.
type search struct {
	s       *Snapshot
	q       *Query
	limit   int
	allowed *bitset.BitSet // nil allows all
	count   int            // of allowed documents

	mode    Mode   // that answers
	reason  string // why it is not the mode or model asked for
	unknown bool   // no model knows a word of the query
	lexical bm25.Query
	space   *Space // nil in keyword mode
	fusion  Fusion // of the space
	weights rank.Weights
	named   naming
	partial bool // only candidates are scored
	*scratch
}

// scratch is what one search needs in proportion to the catalog; it is pooled.
type scratch struct {
	keywords   []float32    // by document: BM25F
	cosines    []float32    // by document, of those that are scored
	scores     []float64    // by document, of those that are scored
	priors     []float32    // by server: cosines of their means
	query      vector.Query // as the documents' vectors are coded
	candidates []uint32     // documents that are scored, where that is not every allowed one
	seen       []uint64     // bitmap of these
	best       rank.Top
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (c *scratch) reset(docs, servers int) {
	c.keywords = slices.Grow(c.keywords[:0], docs)[:docs]
	c.cosines = slices.Grow(c.cosines[:0], docs)[:docs]
	c.scores = slices.Grow(c.scores[:0], docs)[:docs]
	c.priors = slices.Grow(c.priors[:0], servers)[:servers]
	c.seen = slices.Grow(c.seen[:0], (docs+63)/64)[:(docs+63)/64]
	c.candidates = c.candidates[:0]
}

// Search ranks the allowed tools against a query.
func (s *Snapshot) Search(ctx context.Context, q Query) (*Results, error) {
	run, err := s.begin(ctx, &q)
	if err != nil {
		return nil, err
	}
	defer run.end()
	return run.results(), nil
}

// begin does everything of a search up to and including the scores. The
// caller must end it.
func (s *Snapshot) begin(ctx context.Context, q *Query) (*search, error) {
	run := &search{s: s, q: q, limit: cmp.Or(q.Limit, defaultLimit), mode: cmp.Or(q.Mode, Hybrid)}
	if err := run.check(); err != nil {
		return nil, err
	}
	run.allowed, run.count = s.allowed(&q.Filter)
	text := strings.TrimSpace(q.Text)
	if text == "" {
		run.mode = cmp.Or(q.Mode, Hybrid)
		return run, nil
	}
	run.scratch = scratches.Get().(*scratch)
	run.reset(len(s.docs), len(s.servers))
	if run.mode != Keyword {
		if err := run.embed(ctx, text); err != nil {
			run.end()
			return nil, err
		}
	}
	run.analyse(text)
	if s.params.ExactNames {
		run.named = newViewer(s, q.Filter.Scope).namesIn(text)
	}
	run.score()
	return run, nil
}

func (r *search) end() {
	if r.scratch != nil {
		scratches.Put(r.scratch)
	}
}

func (r *search) check() error {
	switch r.mode {
	case Keyword, Semantic, Hybrid:
	default:
		return fmt.Errorf("search: unknown mode %q: use keyword, semantic or hybrid", r.mode)
	}
	if r.limit < 0 {
		return fmt.Errorf("search: limit %d is negative", r.limit)
	}
	return nil
}

// embed finds a space that answers and the query's vector in it. Without one
// a hybrid search goes on as a keyword search; a search by meaning is an
// error.
func (r *search) embed(ctx context.Context, text string) error {
	var failed []error
	spaces := r.s.spaces
	if r.q.WordsOnly != "" {
		spaces = nil
	}
	for _, sp := range spaces {
		vec, err := r.s.QueryVector(ctx, sp, text)
		if err == nil {
			r.use(sp, vector.Encode(vec))
			r.reason = reasons(failed)
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("search: %w", ctx.Err())
		}
		failed = append(failed, err)
	}
	reason := cmp.Or(r.q.WordsOnly, reasons(failed), r.s.waiting, r.s.wordsOnly, "no embedder is ready")
	r.unknown = len(failed) > 0 && !slices.ContainsFunc(failed, func(err error) bool { return !errors.Is(err, ErrUnknownWords) })
	switch {
	case r.mode != Semantic:
		r.mode, r.reason = Keyword, reason
		return nil
	case r.unknown:
		return fmt.Errorf("search by meaning: %w: %w", ErrNoVectors, failed[0])
	}
	return fmt.Errorf("search by meaning: %w: %s", ErrNoVectors, reason)
}

func reasons(failed []error) string {
	texts := make([]string, len(failed))
	for i, err := range failed {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// use makes sp answer a query of that vector.
func (r *search) use(sp *Space, query vector.Code) {
	r.space = sp
	r.query.Set(query)
	r.fusion, _ = longestPrefix(r.s.params.Fusion, sp.model)
}

// analyse fills the lexical query.
func (r *search) analyse(text string) {
	an := analyzers.Get().(*analysis.Analyzer)
	defer analyzers.Put(an)
	weigh(r)
	for _, t := range an.Tokens(text) {
		r.lexical.Add(r.s.lexical, r.s.lexicon, t.Text, t.Extra)
	}
}

// allows says whether filter and scope let a document pass.
func (r *search) allows(doc uint32) bool {
	return r.allowed == nil || r.allowed.Test(uint(doc))
}

// floor is the score that counts towards the total.
func (r *search) floor() float64 {
	if r.q.MinScore != nil {
		return *r.q.MinScore
	}
	return r.s.params.Floor
}

// results cuts and formats what was scored.
func (r *search) results() *Results {
	res := &Results{
		Allowed:      r.count,
		Requested:    cmp.Or(r.q.Mode, Hybrid),
		Mode:         r.mode,
		Reason:       r.reason,
		UnknownWords: r.unknown,
		Generation:   r.s.generation,
	}
	res.Degraded = res.Mode != res.Requested
	if r.scratch == nil {
		r.listed(res)
		return res
	}
	if r.space != nil {
		res.Model = r.space.model
	}
	r.rank(res)
	r.judge(res)
	return res
}

// listed answers an empty query: the allowed tools in name order.
func (r *search) listed(res *Results) {
	res.Total = r.count
	res.Hits = make([]Hit, 0, min(r.limit, r.count))
	for _, d := range r.s.byName() {
		if len(res.Hits) == r.limit {
			return
		}
		if r.allows(d) {
			res.Hits = append(res.Hits, r.s.hit(d))
		}
	}
}

// rank fills the rows of res.
func (r *search) rank(res *Results) {
	res.TotalIsLowerBound = r.partial
	floor := max(r.floor(), -math.MaxFloat64) // above what is no result
	for _, score := range r.scores {
		if score >= floor {
			res.Total++
		}
		if score > res.Best {
			res.Best = score
		}
	}
	folded := folding{search: r}
	var rows []rank.Hit
	if r.q.Fold {
		rows = folded.distinct(r.limit)
	} else {
		rows = r.bestOf(r.limit, nil)
	}
	rows = r.diversify(rows, folded.fresh)
	res.Hits = make([]Hit, 0, len(rows))
	for _, row := range rows {
		h := r.s.hit(row.Doc)
		h.Score, h.Homes = row.Score, folded.others(row.Doc)
		if r.q.Explain {
			e := r.explain(row.Doc)
			h.Explanation = &e
		}
		res.Hits = append(res.Hits, h)
	}
}

// lowest is what a row must score: more than no result.
func (r *search) lowest() float64 {
	if r.q.MinScore == nil {
		return -math.MaxFloat64
	}
	return max(*r.q.MinScore, -math.MaxFloat64)
}

// judge claims what calibration allows about the first row.
func (r *search) judge(res *Results) {
	t, ok := longestPrefix(r.s.params.Confidence, string(r.mode)+" "+res.Model)
	if !ok {
		return
	}
	res.Calibrated = true
	if len(res.Hits) == 0 {
		return
	}
	first := res.Hits[0].Score
	if t.High > 0 && first >= t.High {
		res.Confidence = "high"
	}
	res.WeakMatch = t.Weak > 0 && first < t.Weak
}

// longestPrefix returns the value of the longest key that key begins with.
func longestPrefix[T any](m map[string]T, key string) (value T, ok bool) {
	best := -1
	for k, v := range m {
		if len(k) > best && strings.HasPrefix(key, k) {
			best, value, ok = len(k), v, true
		}
	}
	return value, ok
}
