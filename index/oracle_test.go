package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/vector"
)

// wordEmbedder sums a pseudo-random vector for each word of a text: texts
// that share words are near. Words beginning with "no" are unknown to it.
type wordEmbedder struct{ dims int }

func (e wordEmbedder) Model() string { return fmt.Sprint("words/", e.dims) }

func (e wordEmbedder) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	v := make([]float32, e.dims)
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '_' }) {
		if strings.HasPrefix(w, "no") {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(w))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		for i := range v {
			v[i] += float32(r.NormFloat64())
		}
	}
	return v, nil
}

func (e wordEmbedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i], _ = e.EmbedQuery(ctx, t)
	}
	return out, nil
}

// attach gives the current snapshot the vectors of e for its documents' names
// and descriptions; those of tools whose name has the word "blank" are absent.
func attach(t testing.TB, ix *Index, e Embedder) {
	t.Helper()
	s := ix.snapshot()
	rows := embedAll(t, s, e)
	ix.current.Store(s.WithSpaces("", snapshot.NewSpace(s, e.Model(), e, rows, rows)))
}

func embedAll(t testing.TB, s *snapshot.Snapshot, e Embedder) *vector.Codes {
	t.Helper()
	var rows *vector.Codes
	for i, d := range s.Docs() {
		v, err := e.EmbedQuery(t.Context(), d.Tool.Name+" "+d.Tool.Description)
		if err != nil {
			t.Fatal(err)
		}
		if rows == nil {
			rows = vector.NewCodes(len(s.Docs()), len(v))
		}
		if u, ok := vector.Unit(v); ok && !strings.Contains(d.Tool.Name, "blank") {
			rows.Set(i, vector.Encode(u))
		}
	}
	if rows == nil {
		return vector.NewCodes(0, 0)
	}
	return rows
}

// An oracle scores by the formulas of the design, from what Dump writes.
type oracle struct {
	ix    *Index
	dump  dump
	vecs  map[string][]float64 // by id, of codes; none when absent
	tools map[string]*Tool     // by id
}

func newOracle(t *testing.T, ix *Index, e Embedder) *oracle {
	t.Helper()
	var b bytes.Buffer
	if err := ix.Dump(&b); err != nil {
		t.Fatal(err)
	}
	o := &oracle{ix: ix, vecs: map[string][]float64{}, tools: map[string]*Tool{}}
	if err := json.Unmarshal(b.Bytes(), &o.dump); err != nil {
		t.Fatal(err)
	}
	s := ix.snapshot()
	rows := embedAll(t, s, e)
	for i, d := range s.Docs() {
		o.tools[d.ID] = &d.Tool
		if rows.Has(i) {
			o.vecs[d.ID] = coded(rows.Row(i))
		}
	}
	return o
}

func (o *oracle) idf(term string) float64 {
	n, df := float64(o.dump.N), float64(o.dump.DF[term])
	return math.Log(1 + (n-df+.5)/(df+.5))
}

// shows says whether a tool that the scope shows has the term.
func (o *oracle) shows(term string, scope *Scope) bool {
	if scope == nil {
		return o.dump.DF[term] > 0
	}
	for i := range o.dump.Tools {
		for _, terms := range o.dump.Tools[i].Terms {
			if terms[term] > 0 && scope.Sees(o.tools[o.dump.Tools[i].ID]) {
				return true
			}
		}
	}
	return false
}

// keyword is BM25F over its upper bound, in which an identifier counts only if
// a tool that the scope shows has it.
func (o *oracle) keyword(tool *dumpedTool, text string, scope *Scope) float64 {
	qtf := map[string]int{}
	var an analysis.Analyzer
	for _, t := range an.Tokens(text) {
		if !t.Extra || o.shows(t.Text, scope) {
			qtf[t.Text]++
		}
	}
	score, upper := 0.0, 0.0
	for term, n := range qtf {
		weight := float64(min(n, 2)) * o.idf(term) * (o.dump.Params.K1 + 1)
		upper += weight
		tf := 0.0
		for f, p := range o.dump.Params.Fields {
			if avg := o.dump.AvgLen[f]; avg > 0 {
				tf += p.Weight * float64(tool.Terms[f][term]) / (1 - p.B + p.B*float64(tool.Lengths[f])/avg)
			}
		}
		if tf > 0 {
			score += weight * tf / (o.dump.Params.K1 + tf)
		}
	}
	if upper == 0 {
		return 0
	}
	return score / upper
}

// coded is the vector that a code stands for.
func coded(c vector.Code) []float64 {
	x := make([]float64, len(c.Numbers))
	for i, n := range c.Numbers {
		x[i] = float64(n) * float64(c.Scale)
	}
	return x
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// prior is the query's product with the mean vector of the tool's server.
func (o *oracle) prior(server, id string, q []float64) float64 {
	if server == "" {
		return dot(o.vecs[id], q)
	}
	sum, n := make([]float32, len(q)), 0
	for _, d := range o.ix.snapshot().Docs() {
		if d.Tool.Server == server {
			n++
			for i, x := range o.vecs[d.ID] {
				sum[i] += float32(x)
			}
		}
	}
	for i := range sum {
		sum[i] /= float32(n)
	}
	return dot(coded(vector.Encode(sum)), q)
}

type oracleRow struct {
	ID     string
	Score  float64
	server string
}

// search ranks everything by brute force and returns the rows and all scores.
func (o *oracle) search(t *testing.T, q Query, e Embedder) ([]oracleRow, map[string]float64) {
	t.Helper()
	v, _ := e.EmbedQuery(t.Context(), q.Text)
	u, known := vector.Unit(v)
	vec := coded(vector.Encode(u))
	mode := q.Mode
	if !known && mode == Hybrid {
		mode = Keyword
	}
	fusion := o.dump.Params.Fusion[""]
	var rows []oracleRow
	servers := map[string]bool{}
	for i := range o.dump.Tools {
		hit, _ := o.ix.Get(o.dump.Tools[i].ID)
		if !allows(q.Filter, &hit) {
			continue
		}
		servers[cmp.Or(hit.Tool.Server, hit.ID)] = true
		score := o.keyword(&o.dump.Tools[i], q.Text, q.Filter.Scope)
		if mode == Keyword && score == 0 && !strings.HasSuffix(q.Text, " "+hit.Tool.Name) {
			continue
		}
		switch own := o.vecs[hit.ID]; {
		case mode == Semantic && own == nil:
			score = 0
		case mode == Semantic:
			score = max(0, dot(own, vec))
		case mode == Hybrid && own != nil:
			prior := max(0, o.prior(hit.Tool.Server, hit.ID, vec))
			score = (fusion.Lambda*score + (1-fusion.Lambda)*max(0, dot(own, vec)) + fusion.Gamma*prior) / (1 + fusion.Gamma)
		}
		if strings.HasSuffix(q.Text, " "+hit.Tool.Name) {
			score = 1 - (1-score)/100
		}
		rows = append(rows, oracleRow{hit.ID, score, hit.Tool.Server})
	}
	all := map[string]float64{}
	for _, r := range rows {
		all[r.ID] = r.Score
	}
	if q.MinScore != nil {
		rows = slices.DeleteFunc(rows, func(r oracleRow) bool { return r.Score < *q.MinScore })
	}
	rows = o.diversify(rows, q, len(servers))
	return rows[:min(len(rows), q.Limit)], all
}

func (t *dumpedTool) bareName() string {
	return t.Tool[strings.IndexByte(t.Tool, '/')+1:]
}

func floorOf(q Query) float64 {
	if q.MinScore != nil {
		return *q.MinScore
	}
	return DefaultParams().Floor
}

// diversify sorts rows by score, those beyond a server's share weighed down.
func (o *oracle) diversify(rows []oracleRow, q Query, servers int) []oracleRow {
	weight := func(r oracleRow) float64 { return r.Score }
	order := func(a, b oracleRow) int {
		switch x, y := weight(a), weight(b); {
		case x > y, x == y && a.ID < b.ID:
			return -1
		}
		return 1
	}
	slices.SortFunc(rows, order)
	if servers < 3 || len(q.Filter.Servers) > 0 {
		return rows
	}
	share := int(math.Ceil(o.dump.Params.Diversity * float64(q.Limit)))
	count, over := map[string]int{}, map[string]bool{}
	for _, r := range rows {
		count[r.server]++
		over[r.ID] = r.server != "" && count[r.server] > share
	}
	weight = func(r oracleRow) float64 {
		if over[r.ID] {
			return .8 * r.Score
		}
		return r.Score
	}
	slices.SortFunc(rows, order)
	return rows
}

// allows applies a filter the slow way.
func allows(f Filter, h *Hit) bool {
	any := func(want []string, have ...string) bool {
		for _, w := range want {
			for _, x := range have {
				if strings.EqualFold(w, x) {
					return true
				}
			}
		}
		return len(want) == 0
	}
	t := &h.Tool
	visibility := t.Visibility
	if visibility == "" {
		visibility = "public"
	}
	return any(f.Tags, t.Tags...) && any(f.Servers, t.Server) && any(f.Categories, h.Category) &&
		any(f.Visibility, visibility) && any(f.Teams, t.Teams...) &&
		(len(f.ExcludeTags) == 0 || !any(f.ExcludeTags, t.Tags...)) &&
		(f.Integration == "" || f.Integration == "any" || strings.EqualFold(f.Integration, "MCP") == (t.Integration == "")) &&
		(f.NamePattern == nil || f.NamePattern.MatchString(t.Name)) &&
		strings.Contains(strings.ToLower(t.Description), strings.ToLower(f.DescriptionContains)) &&
		(!f.HasExamples || len(t.Examples) > 0) && f.Scope.Sees(t)
}

var testWords = strings.Fields("read write file folder list issue pull request branch commit send message channel mail table row query search web page image weather city map time convert unit noun nowhere user token secret alert metric")

func randomText(r *rand.Rand, n int, sep string) string {
	var words []string
	for range n {
		words = append(words, testWords[int(math.Pow(r.Float64(), 1.5)*float64(len(testWords)))])
	}
	return strings.Join(words, sep)
}

func pick(r *rand.Rand, list ...string) []string {
	var out []string
	for _, x := range list {
		if r.IntN(3) == 0 {
			out = append(out, x)
		}
	}
	return out
}

// randomIndex holds n random tools of several servers, one of them large,
// and some without any.
func randomIndex(t *testing.T, r *rand.Rand, n int) *Index {
	by := map[string][]Tool{}
	for i := range n {
		server := []string{"", "alpha", "beta", "gamma", "gamma", "gamma", "gamma", "delta"}[r.IntN(8)]
		name := fmt.Sprint(randomText(r, 1+r.IntN(3), "_"), "_", i)
		if r.IntN(10) == 0 {
			name += "_blank"
		}
		tl, err := Decode(server, rawTool(name, randomText(r, r.IntN(20), " "), pick(r, "owner", "path", "query")...))
		if err != nil {
			t.Fatal(err)
		}
		tl.Tags, tl.Teams = pick(r, "Red", "green", "blue"), pick(r, "ops", "dev")
		tl.Visibility = []string{"", "team", "Private"}[r.IntN(3)]
		tl.Integration = []string{"", "REST"}[r.IntN(2)]
		if r.IntN(3) == 0 {
			tl.Examples = []Example{{Arguments: json.RawMessage(`{}`)}}
		}
		tl.Hidden = r.IntN(20) == 0
		by[server] = append(by[server], tl)
	}
	threshold := 0
	if n < 200 { // the least that each arm gives
		threshold = []int{0, -1}[r.IntN(2)] // by candidates, which are then all that matter
	}
	ix := newIndex(t, Options{HNSWThreshold: threshold}, nil)
	for server, tools := range by {
		if _, err := ix.Replace(t.Context(), server, tools); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}

func randomFilter(r *rand.Rand) (f Filter) {
	for range r.IntN(3) {
		switch r.IntN(10) {
		case 0:
			f.Tags = pick(r, "red", "GREEN", "none")
		case 1:
			f.ExcludeTags = pick(r, "RED", "blue")
		case 2:
			f.Servers = pick(r, "Alpha", "gamma", "nobody")
		case 3:
			f.Categories = pick(r, "files", "Communication", "Other")
		case 4:
			f.Visibility = pick(r, "public", "TEAM")
		case 5:
			f.Teams = pick(r, "OPS", "dev")
		case 6:
			f.NamePattern = regexp.MustCompile([]string{"^read", "_1", "mail|file", "^x"}[r.IntN(4)])
		case 7:
			f.DescriptionContains = []string{"File", "web page", "zzz"}[r.IntN(3)]
		case 8:
			f.HasExamples, f.Integration = true, []string{"", "any", "REST", "mcp"}[r.IntN(4)]
		case 9:
			f.Scope = NewScope(func(t *Tool) bool { return len(t.Name)%2 == 0 })
		}
	}
	return f
}

func TestSearchAgreesWithOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	e := wordEmbedder{dims: 24}
	for range 12 {
		ix := randomIndex(t, r, 1+r.IntN(300))
		p := DefaultParams()
		p.Diversity = []float64{.2, .6}[r.IntN(2)]
		if err := ix.SetParams(p); err != nil {
			t.Fatal(err)
		}
		attach(t, ix, e)
		o := newOracle(t, ix, e)
		for range 30 {
			q := Query{
				Text:   randomText(r, 1+r.IntN(6), " "),
				Mode:   []Mode{Keyword, Semantic, Hybrid}[r.IntN(3)],
				Filter: randomFilter(r),
				Limit:  1 + r.IntN(20),
			}
			if r.IntN(5) == 0 {
				q.Text += " " + identifierOf(r)
			}
			if r.IntN(5) == 0 {
				q.Text += " " + o.dump.Tools[r.IntN(len(o.dump.Tools))].bareName()
			}
			if r.IntN(4) == 0 {
				least := r.Float64() / 2
				if r.IntN(4) == 0 {
					least = float64(-r.IntN(2))
				}
				q.MinScore = &least
			}
			checkSearch(t, o, q, e)
		}
	}
}

// identifierOf is an identifier and its letters as one word, in any order:
// what the first has beside its parts is the second.
func identifierOf(r *rand.Rand) string {
	a, b := randomText(r, 1, ""), randomText(r, 1, "")
	both := []string{a + strings.ToUpper(b[:1]) + b[1:], a + b}
	r.Shuffle(2, func(i, j int) { both[i], both[j] = both[j], both[i] })
	return strings.Join(both, " ")
}

func checkSearch(t *testing.T, o *oracle, q Query, e Embedder) {
	t.Helper()
	res, err := o.ix.Search(t.Context(), q)
	if v, _ := e.EmbedQuery(t.Context(), q.Text); q.Mode == Semantic && !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
		if !errors.Is(err, ErrUnknownWords) {
			t.Fatalf("query %+v: error %v, want ErrUnknownWords", q, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want, all := o.search(t, q, e)
	total := 0
	for _, score := range all {
		if score >= floorOf(q) {
			total++
		}
	}
	var got []oracleRow
	for _, h := range res.Hits {
		got = append(got, oracleRow{h.ID, h.Score, h.Tool.Server})
	}
	if res.TotalIsLowerBound {
		none := func(r oracleRow) bool { return r.Score == 0 }
		want, got = slices.DeleteFunc(want, none), slices.DeleteFunc(got, none)
	}
	// Scores of vectors are sums of 32-bit numbers: rows that close may swap.
	near := gocmp.Comparer(func(a, b oracleRow) bool { return math.Abs(a.Score-b.Score) < 1e-5 })
	if diff := gocmp.Diff(want, got, near, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("query %+v: %s", q, diff)
	}
	for _, row := range got { // the right score for that tool, not only for that place
		if exact, ok := all[row.ID]; !ok || math.Abs(exact-row.Score) > 1e-5 {
			t.Fatalf("query %+v: tool %s scores %v, want %v (%v)", q, row.ID, row.Score, exact, ok)
		}
	}
	if res.TotalIsLowerBound && floorOf(q) <= 0 {
		total = min(total, res.Total) // tools that nothing speaks for are no candidates
	}
	if d := res.Total - total; d != 0 {
		t.Fatalf("query %+v: total %d, want %d", q, res.Total, total)
	}
}
