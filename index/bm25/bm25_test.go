package bm25

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const testFields = 4

// A text is one field's terms in order; extra ones count in no length.
type text []struct {
	term  string
	extra bool
}

// A catalog is random documents with everything an oracle needs.
type catalog struct {
	docs   [][testFields]text
	groups []uint32
	params Params
}

func randomCatalog(r *rand.Rand) catalog {
	var c catalog
	c.params.K1 = r.Float64() * 3
	for f := range testFields {
		c.params.Weight[f] = float64(r.IntN(4)) * r.Float64()
		c.params.B[f] = r.Float64()
	}
	groups := 1 + r.IntN(5)
	for range r.IntN(300) {
		var d [testFields]text
		for f := range d {
			if f == testFields-1 { // always empty
				continue
			}
			for range r.IntN(12) {
				term := fmt.Sprint("t", int(math.Pow(r.Float64(), 3)*40))
				d[f] = append(d[f], struct {
					term  string
					extra bool
				}{term, r.IntN(9) == 0})
			}
		}
		c.docs = append(c.docs, d)
		c.groups = append(c.groups, uint32(min(r.IntN(groups), r.IntN(groups))))
	}
	return c
}

func (c *catalog) build(l *Lexicon) *Index { return Build(c.input(l)) }

func (c *catalog) input(l *Lexicon) Input {
	in := Input{Groups: c.groups, Params: c.params}
	for _, d := range c.docs {
		var n Counter
		for f, t := range d {
			for _, w := range t {
				n.Add(l.Add(w.term), f, w.extra)
			}
		}
		doc := n.Doc()
		in.Docs = append(in.Docs, &doc)
	}
	in.Terms = l.Len()
	return in
}

// oracle computes scores by the formula of the package comment, one document
// and term at a time, from the documents themselves.
type oracle struct{ *catalog }

func (o oracle) count(d int, f int, term string) (n float64) {
	for _, w := range o.docs[d][f] {
		if w.term == term {
			n++
		}
	}
	return n
}

func (o oracle) length(d, f int) (n float64) {
	for _, w := range o.docs[d][f] {
		if !w.extra {
			n++
		}
	}
	return n
}

func (o oracle) avglen(f int) float64 {
	sum := 0.0
	for d := range o.docs {
		sum += o.length(d, f)
	}
	return sum / float64(len(o.docs))
}

func (o oracle) has(d int, term string) bool {
	for f := range testFields {
		if o.count(d, f, term) > 0 {
			return true
		}
	}
	return false
}

func (o oracle) df(term string) float64 {
	by := map[uint32]int{}
	groups := map[uint32]bool{}
	for d := range o.docs {
		groups[o.groups[d]] = true
		if o.has(d, term) {
			by[o.groups[d]]++
		}
	}
	sum := 0
	for _, n := range by {
		if len(groups) >= 3 {
			n = min(n, max(50, len(o.docs)/5))
		}
		sum += n
	}
	return float64(sum)
}

func (o oracle) idf(term string) float64 {
	n, df := float64(len(o.docs)), o.df(term)
	return math.Log(1 + (n-df+.5)/(df+.5))
}

func (o oracle) tf(d int, term string) float64 {
	tf := 0.0
	for f := range testFields {
		avg := o.avglen(f)
		if avg == 0 {
			continue
		}
		b := o.params.B[f]
		tf += o.params.Weight[f] * o.count(d, f, term) / (1 - b + b*o.length(d, f)/avg)
	}
	return tf
}

func (o oracle) score(d int, query map[string]int) float64 {
	sum := 0.0
	for term, n := range query {
		if tf := o.tf(d, term); tf > 0 {
			sum += float64(min(n, 2)) * o.idf(term) * (o.params.K1 + 1) * tf / (o.params.K1 + tf)
		}
	}
	return sum
}

func TestScoresAgreeWithOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 40 {
		c := randomCatalog(r)
		var l Lexicon
		ix := c.build(&l)
		v := l.View()
		for range 5 {
			compare(t, oracle{&c}, ix, v, r)
		}
	}
}

func compare(t *testing.T, o oracle, ix *Index, v View, r *rand.Rand) {
	t.Helper()
	var q Query
	want := map[string]int{}
	upper := 0.0
	for range r.IntN(6) {
		term := fmt.Sprint("t", r.IntN(50)) // some that no document has
		want[term]++
		q.Add(ix, v, term, false)
	}
	for term, n := range want {
		upper += float64(min(n, 2)) * o.idf(term) * (o.params.K1 + 1)
	}
	if len(o.docs) > 0 && math.Abs(q.Upper-upper) > 1e-9 {
		t.Fatalf("upper bound of %v: got %v, want %v", want, q.Upper, upper)
	}
	scores := make([]float32, len(o.docs))
	ix.Scores(scores, &q)
	for d, got := range scores {
		exact := o.score(d, want)
		if math.Abs(float64(got)-exact) > 1e-6*max(1, q.Upper) {
			t.Fatalf("document %d, query %v: got %v, want %v", d, want, got, exact)
		}
		if float64(got) > q.Upper*(1+1e-6) {
			t.Fatalf("document %d scores %v, above the bound %v", d, got, q.Upper)
		}
		explained := 0.0
		for _, c := range ix.Explain(uint32(d), &q) {
			explained += c.Score
		}
		if math.Abs(explained-exact) > 1e-9 {
			t.Fatalf("document %d: explained %v, want %v", d, explained, exact)
		}
	}
}

// What a query comes to does not depend on the order of its words.
func TestQueryOrder(t *testing.T) {
	c := catalog{docs: make([][testFields]text, 3), groups: []uint32{0, 0, 0}, params: Params{K1: 1, Weight: [MaxFields]float64{1}}}
	c.docs[0][0] = text{{"read", false}}
	var l Lexicon
	ix := c.build(&l)
	var before, after Query
	for _, q := range []*Query{&before, &after} {
		q.Add(ix, l.View(), "read", false)
	}
	before.Add(ix, l.View(), "lora", true)
	before.Add(ix, l.View(), "lora", false)
	after.Add(ix, l.View(), "lora", false)
	after.Add(ix, l.View(), "lora", true)
	if before.Upper != after.Upper || len(before.Terms) != len(after.Terms) || before.Terms[1] != after.Terms[1] {
		t.Errorf("got %+v and %+v", before, after)
	}
}

func TestQueryTerms(t *testing.T) {
	c := catalog{docs: make([][testFields]text, 3), groups: []uint32{0, 0, 0}, params: Params{K1: 1, Weight: [MaxFields]float64{1}}}
	c.docs[0][0] = text{{"github", false}, {"known", true}}
	var l Lexicon
	ix := c.build(&l)
	later := l.Add("later")
	var q Query
	for _, w := range []struct {
		term  string
		extra bool
	}{{"github", false}, {"github", false}, {"github", false}, {"known", true}, {"unknown", true}, {"absent", false}, {"later", true}} {
		q.Add(ix, l.View(), w.term, w.extra)
	}
	var got []string
	for _, t := range q.Terms {
		got = append(got, fmt.Sprintf("%s %d %v", t.Text, t.Count, t.Known))
	}
	want := []string{"github 2 true", "known 1 true", "absent 1 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v (term %d was added after the index)", got, want, later)
	}
}

func TestFloodCap(t *testing.T) {
	for _, c := range []struct {
		n, groups int
		want      uint32
	}{{1000, 2, math.MaxUint32}, {1000, 3, 200}, {100, 3, 50}, {10, 9, 50}} {
		if got := floodCap(c.n, c.groups); got != c.want {
			t.Errorf("floodCap(%d, %d) = %d, want %d", c.n, c.groups, got, c.want)
		}
	}
}

func TestLexiconViews(t *testing.T) {
	var l Lexicon
	var views []View
	for i := range 5000 {
		if id := l.Add(fmt.Sprint("w", i)); id != uint32(i) {
			t.Fatalf("term %d is numbered %d", i, id)
		}
		if i%500 == 0 {
			views = append(views, l.View())
		}
	}
	for i, v := range views {
		known := i*500 + 1
		if v.Len() != known {
			t.Errorf("view %d has %d terms, want %d", i, v.Len(), known)
		}
		if id, ok := v.Find(fmt.Sprint("w", known-1)); !ok || v.Term(id) != fmt.Sprint("w", known-1) {
			t.Errorf("view %d does not know its last term", i)
		}
		if _, ok := v.Find(fmt.Sprint("w", known)); ok {
			t.Errorf("view %d knows a later term", i)
		}
	}
	if _, ok := (View{}).Find("w"); ok {
		t.Error("an empty view knows a term")
	}
}

func BenchmarkScores(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		r := rand.New(rand.NewPCG(1, 1))
		words := rand.NewZipf(r, 1.1, 8, 20_000)
		var l Lexicon
		in := Input{Params: Params{K1: 1.2, Weight: [MaxFields]float64{2, 1}}}
		for d := range n {
			var c Counter
			for range 40 {
				c.Add(l.Add(fmt.Sprint("w", words.Uint64())), r.IntN(2), false)
			}
			doc := c.Doc()
			in.Docs, in.Groups = append(in.Docs, &doc), append(in.Groups, uint32(d/20))
		}
		in.Terms = l.Len()
		ix := Build(in)
		var q Query
		for range 6 {
			q.Add(ix, l.View(), fmt.Sprint("w", words.Uint64()), false)
		}
		dst := make([]float32, n)
		b.Run(fmt.Sprint("docs=", n), func(b *testing.B) {
			postings := 0
			for _, t := range q.Terms {
				if t.Known {
					postings += int(ix.start[t.ID+1] - ix.start[t.ID])
				}
			}
			for b.Loop() {
				clear(dst)
				ix.Scores(dst, &q)
			}
			b.ReportMetric(float64(postings), "postings")
		})
		b.Run(fmt.Sprint("build/docs=", n), func(b *testing.B) {
			for b.Loop() {
				Build(in)
			}
		})
	}
}
