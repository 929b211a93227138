// Package neardup finds texts that say nearly the same: pairs of token sets
// whose Jaccard similarity reaches a threshold, exactly, by prefix filtering
// (Bayardo, Ma, Srikant 2007). Order and repetition of tokens do not count.
package neardup

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A Pair is two documents, A < B, and how alike they are.
type Pair struct {
	A, B    int
	Jaccard float64
}

// Pairs returns every pair of documents with a Jaccard similarity of at least
// threshold, in (0, 1], ordered by A, then B. Documents without tokens are
// like nothing.
func Pairs(docs [][]string, threshold float64) []Pair {
	sets := rareFirst(docs)
	order := make([]int, len(sets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(sets[a]), len(sets[b])) })
	inverted := map[int][]int{} // prefix token → documents, shorter ones first
	tried := make([]int, len(sets))
	var out []Pair
	for turn, b := range order {
		set := sets[b]
		if len(set) == 0 {
			continue
		}
		for _, token := range set[:prefix(len(set), threshold)] {
			for _, a := range inverted[token] {
				if tried[a] == turn+1 || float64(len(sets[a])) < threshold*float64(len(set))-1e-9 {
					continue
				}
				tried[a] = turn + 1
				if j := jaccard(sets[a], set); j >= threshold-1e-9 {
					out = append(out, Pair{min(a, b), max(a, b), j})
				}
			}
			inverted[token] = append(inverted[token], b)
		}
	}
	slices.SortFunc(out, func(p, q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	return out
}

// prefix is how many of a set's n rarest tokens two sets must share one of to
// be alike: with none in common there, too few are left.
func prefix(n int, threshold float64) int {
	return n - int(math.Ceil(threshold*float64(n)-1e-9)) + 1
}

// rareFirst numbers tokens from the rarest and sorts each document's distinct
// ones by that number.
func rareFirst(docs [][]string) [][]int {
	count := map[string]int{}
	distinct := make([][]string, len(docs))
	for i, d := range docs {
		distinct[i] = slices.Compact(slices.Sorted(slices.Values(d)))
		for _, t := range distinct[i] {
			count[t]++
		}
	}
	tokens := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b))
	})
	number := make(map[string]int, len(tokens))
	for i, t := range tokens {
		number[t] = i
	}
	out := make([][]int, len(docs))
	for i, d := range distinct {
		for _, t := range d {
			out[i] = append(out[i], number[t])
		}
		slices.Sort(out[i])
	}
	return out
}

func jaccard(a, b []int) float64 {
	shared, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			shared, i, j = shared+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(shared) / float64(len(a)+len(b)-shared)
}
