package eval

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
)

// learningSets names sets to measure learning from use on, DIR or DIR:SPLIT,
// with spaces between them.
const learningSets = "TOOLDEX_LEARNING_SETS"

// TestLearning measures what learning from use gains: half of each tool's
// requests are asked and a row of the answer is executed, the other half is
// measured before and after. See docs/decisions/learning.md. With -v it writes
// the rows of its table; anybody's sets will do:
//
//	TOOLDEX_LEARNING_SETS="sets/a sets/b:dev" go test ./eval -run TestLearning -v -timeout 1h
func TestLearning(t *testing.T) {
	sets := []string{"testdata/fifteen"}
	if more := strings.Fields(os.Getenv(learningSets)); len(more) > 0 {
		sets = more
	}
	for _, name := range sets {
		dir, split, _ := strings.Cut(name, ":")
		ix, set := openSet(t, dir, split)
		s := newSimulation(t, ix, set)
		before := s.measure(t)
		t.Logf("%s: %d requests used, %d measured, R@5 %.4f, nDCG@10 %.4f", set.Title(), len(s.used), len(s.measured), before[0], before[1])
		for _, repeats := range []bool{false, true} {
			for _, noise := range []float64{0, .1, .3} {
				uses := s.uses(noise, repeats)
				for _, least := range []int{1, 2, 3} {
					right, wrong := s.learn(t, uses, least)
					after := s.measure(t)
					s.forget(t)
					t.Logf("| %s | %v | %.0f %% | %d | %d | %d | %+.4f | %+.4f |", set.Title(), repeats, 100*noise, least, right, wrong, after[0]-before[0], after[1]-before[1])
					// nDCG@10 of a small set moves by more than what is gained.
					if noise == 0 && least == 1 && after[0] <= before[0] {
						t.Errorf("%s: what is learned without a mistake gains no recall@5: %.4f, %.4f before", set.Title(), after[0], before[0])
					}
				}
			}
		}
	}
}

// A simulation is a set of which one half is used and the other measured.
type simulation struct {
	ix             *index.Index
	used, measured []labels.Query
	found          [][]index.Hit // for each that is used, before anything is learned
}

// newSimulation parts the requests of a set: of each tool every other one is
// used. A request that is measured is never used in the same words.
func newSimulation(t *testing.T, ix *index.Index, set *labels.Set) *simulation {
	t.Helper()
	halves, err := set.Rotate(2)
	if err != nil {
		t.Fatal(err)
	}
	s := &simulation{ix: ix}
	asked := map[string]bool{}
	for _, q := range halves[1].Queries {
		if q.Answerable() {
			s.measured = append(s.measured, q)
			asked[phrase.Key(q.Text)] = true
		}
	}
	for _, q := range halves[0].Queries {
		if text, err := phrase.Clean(q.Text); err == nil && q.Answerable() && !asked[phrase.Key(text)] {
			s.used = append(s.used, q)
			s.found = append(s.found, answer(t, ix, index.Query{Text: q.Text, Limit: 10}).Hits)
		}
	}
	return s
}

// measure returns recall@5 and nDCG@10 of the measured half.
func (s *simulation) measure(t *testing.T) (m [2]float64) {
	t.Helper()
	recall, ndcg := make([]float64, len(s.measured)), make([]float64, len(s.measured))
	err := each(t.Context(), len(s.measured), func(ctx context.Context, i int) error {
		q := s.measured[i]
		res, err := s.ix.Search(ctx, index.Query{Text: q.Text, Limit: 10})
		if errors.Is(err, index.ErrNoVectors) {
			return nil
		}
		if err != nil {
			return err
		}
		var tools []string
		for _, h := range res.Hits {
			tools = append(tools, labels.Key(h.Tool))
		}
		v := metric.Score(q.Relevant, tools, []int{5})
		recall[i], ndcg[i] = v["recall@5"], v["ndcg@10"]
		return nil
	}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return [2]float64{stat.Mean(recall), stat.Mean(ndcg)}
}

// A use is one that was confirmed: what was asked, what was executed.
type use struct {
	query int
	tool  string // id
	right bool
}

// uses counts what the requests of the used half lead to. Each is asked once,
// or with repeats twice on the average: half of them once, a quarter twice,
// and so on. In the share noise a wrong row is executed, one of the first five
// of these, the upper the likelier; else a right one, where one was found.
func (s *simulation) uses(noise float64, repeats bool) map[use]int {
	r, counts := stat.Source(1), map[use]int{}
	for i, q := range s.used {
		var right, wrong []string
		for _, h := range s.found[i] {
			if q.Relevant[labels.Key(h.Tool)] > 0 {
				right = append(right, h.ID)
			} else if len(wrong) < 5 {
				wrong = append(wrong, h.ID)
			}
		}
		for again := true; again; again = repeats && r.Float64() < .5 {
			switch mistaken := r.Float64() < noise; {
			case mistaken && len(wrong) > 0:
				counts[use{i, wrong[upper(r, len(wrong))], false}]++
			case !mistaken && len(right) > 0:
				counts[use{i, right[r.IntN(len(right))], true}]++
			}
		}
	}
	return counts
}

// upper draws one of n rows with a chance of 1/rank.
func upper(r *rand.Rand, n int) int {
	sum := 0.
	for i := range n {
		sum += 1 / float64(i+1)
	}
	x := r.Float64() * sum
	for i := range n {
		if x -= 1 / float64(i+1); x < 0 {
			return i
		}
	}
	return n - 1
}

// learn makes phrases of what was confirmed often enough, and says how many
// are of the right tool and how many of a wrong one.
func (s *simulation) learn(t *testing.T, uses map[use]int, least int) (right, wrong int) {
	t.Helper()
	more := map[string][]phrase.Phrase{}
	for u, n := range uses {
		if n < least {
			continue
		}
		text, _ := phrase.Clean(s.used[u.query].Text) // checked by newSimulation
		more[u.tool] = append(more[u.tool], phrase.Phrase{Text: text, Source: phrase.Use, Count: n, Time: time.Unix(int64(u.query), 0)})
		if u.right {
			right++
		} else {
			wrong++
		}
	}
	for _, list := range more {
		slices.SortFunc(list, phrase.Compare)
	}
	if _, err := s.ix.Phrases().Add(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	if err := s.ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return right, wrong
}

func (s *simulation) forget(t *testing.T) {
	t.Helper()
	if _, err := s.ix.Phrases().Remove(t.Context(), func(phrase.Phrase) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := s.ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}
