// Package metric scores rankings against relevance labels as trec_eval does,
// and claims about rankings against what came true.
//
// A query's values are in [0, 1]; means over queries are the caller's, over
// every query that has a relevant tool, one without any row scoring 0.
package metric

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Values are one query's metrics by name.
type Values map[string]float64

// Names lists the metrics of Score at the cut-offs ks, in the order to show
// them.
func Names(ks []int) []string {
	var out []string
	for _, m := range []string{"recall", "hit", "all"} {
		for _, k := range ks {
			out = append(out, fmt.Sprintf("%s@%d", m, k))
		}
	}
	return append(out, "ndcg@10", "mrr", "map")
}

// Score scores a ranking, best first and each tool at most once, against the
// grades of the relevant tools, of which there must be one at least:
//
//	recall@k  relevant tools in the first k / all relevant tools
//	hit@k     1 when any relevant tool is in the first k
//	all@k     1 when every relevant tool is in the first k
//	ndcg@10   gain is the grade, discount log2(rank + 1)
//	mrr       1 / rank of the first relevant tool, over the whole ranking
//	map       mean over relevant tools of the precision at their rank
func Score(relevant map[string]int, ranking []string, ks []int) Values {
	f := Find(relevant, ranking)
	v := make(Values, 3*len(ks)+3)
	for _, k := range ks {
		at := strconv.Itoa(k)
		v["recall@"+at], v["hit@"+at], v["all@"+at] = f.recall(k), f.hit(k), f.all(k)
	}
	v["ndcg@10"], v["mrr"], v["map"] = f.ndcg10(), f.mrr(), f.meanPrecision()
	return v
}

// Found says where a ranking has the relevant tools: all that metrics need.
type Found struct {
	Ranks  []int   // from 1, ascending
	Grades []int   // by rank
	Total  int     // relevant tools, also those that the ranking lacks
	Ideal  float64 // the DCG of the best ranking's first ten, see IdealDCG
}

// Find looks for the relevant tools in a ranking.
func Find(relevant map[string]int, ranking []string) Found {
	f := Found{Total: len(relevant)}
	for i, t := range ranking {
		if g, ok := relevant[t]; ok {
			f.Ranks = append(f.Ranks, i+1)
			f.Grades = append(f.Grades, g)
		}
	}
	all := make([]int, 0, len(relevant))
	for _, g := range relevant {
		all = append(all, g)
	}
	f.Ideal = IdealDCG(all)
	return f
}

// Named returns the metric of that name, "recall@5" or "mrr".
func Named(name string) (func(Found) float64, error) {
	base, at, cut := strings.Cut(name, "@")
	k, err := strconv.Atoi(at)
	if cut && (err != nil || k < 1) {
		return nil, fmt.Errorf("metric %q: want a whole number of 1 or more after @", name)
	}
	switch {
	case cut && base == "recall":
		return func(f Found) float64 { return f.recall(k) }, nil
	case cut && base == "hit":
		return func(f Found) float64 { return f.hit(k) }, nil
	case cut && base == "all":
		return func(f Found) float64 { return f.all(k) }, nil
	case name == "ndcg@10":
		return Found.ndcg10, nil
	case name == "mrr":
		return Found.mrr, nil
	case name == "map":
		return Found.meanPrecision, nil
	}
	return nil, fmt.Errorf("metric %q: want recall@k, hit@k, all@k, ndcg@10, mrr or map", name)
}

func (f Found) within(k int) int { return sort.SearchInts(f.Ranks, k+1) }

func (f Found) recall(k int) float64 { return float64(f.within(k)) / float64(f.Total) }

func (f Found) hit(k int) float64 { return indicator(f.within(k) > 0) }

func (f Found) all(k int) float64 { return indicator(f.within(k) == f.Total) }

func (f Found) mrr() float64 {
	if len(f.Ranks) == 0 {
		return 0
	}
	return 1 / float64(f.Ranks[0])
}

func (f Found) meanPrecision() float64 {
	sum := 0.0
	for i, r := range f.Ranks {
		sum += float64(i+1) / float64(r)
	}
	return sum / float64(f.Total)
}

// ndcg10 is Järvelin and Kekäläinen's with linear gain, as trec_eval's
// ndcg_cut: the ideal ranking is cut at ten too.
func (f Found) ndcg10() float64 {
	dcg := 0.0
	for i, r := range f.Ranks[:f.within(10)] {
		dcg += float64(f.Grades[i]) / math.Log2(float64(r+1))
	}
	return dcg / f.Ideal
}

// IdealDCG is the greatest DCG that any ranking of tools with these grades
// reaches in its first ten. It reorders grades.
func IdealDCG(grades []int) float64 {
	sort.Sort(sort.Reverse(sort.IntSlice(grades)))
	ideal := 0.0
	for i, g := range grades[:min(10, len(grades))] {
		ideal += float64(g) / math.Log2(float64(i+2))
	}
	return ideal
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
