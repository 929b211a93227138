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
	ranks := Ranks(relevant, ranking)
	v := make(Values, 3*len(ks)+3)
	for _, k := range ks {
		n := sort.SearchInts(ranks, k+1)
		v[fmt.Sprintf("recall@%d", k)] = float64(n) / float64(len(relevant))
		v[fmt.Sprintf("hit@%d", k)] = indicator(n > 0)
		v[fmt.Sprintf("all@%d", k)] = indicator(n == len(relevant))
	}
	v["ndcg@10"] = nDCG(relevant, ranking, 10)
	v["mrr"] = 0
	if len(ranks) > 0 {
		v["mrr"] = 1 / float64(ranks[0])
	}
	sum := 0.0
	for i, r := range ranks {
		sum += float64(i+1) / float64(r)
	}
	v["map"] = sum / float64(len(relevant))
	return v
}

// Ranks returns the ranks, from 1 and ascending, at which a ranking has
// relevant tools.
func Ranks(relevant map[string]int, ranking []string) []int {
	var out []int
	for i, t := range ranking {
		if _, ok := relevant[t]; ok {
			out = append(out, i+1)
		}
	}
	return out
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// nDCG is Järvelin and Kekäläinen's with linear gain, as trec_eval's
// ndcg_cut: the ideal ranking is cut at k too.
func nDCG(relevant map[string]int, ranking []string, k int) float64 {
	dcg := 0.0
	for i, t := range ranking[:min(k, len(ranking))] {
		dcg += float64(relevant[t]) / math.Log2(float64(i+2))
	}
	grades := make([]int, 0, len(relevant))
	for _, g := range relevant {
		grades = append(grades, g)
	}
	return dcg / IdealDCG(grades, k)
}

// IdealDCG is the greatest DCG that any ranking of tools with these grades
// reaches in its first k. It reorders grades.
func IdealDCG(grades []int, k int) float64 {
	sort.Sort(sort.Reverse(sort.IntSlice(grades)))
	ideal := 0.0
	for i, g := range grades[:min(k, len(grades))] {
		ideal += float64(g) / math.Log2(float64(i+2))
	}
	return ideal
}
