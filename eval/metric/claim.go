package metric

import (
	"cmp"
	"math"
	"slices"
)

// An Outcome is what one search claimed of its first row, and what was true.
type Outcome struct {
	Score      float64 // of the first row, 0 without rows
	Right      bool    // the first row is relevant
	Answerable bool    // some tool of the catalog is relevant
	Weak       bool    // the search called its first row a weak match
	High       bool    // the search claimed high confidence
}

// Claims measures outcomes. A figure that needs what is not there (no
// unanswerable query, nothing claimed) is nil.
type Claims struct {
	WeakPrecision *float64 `json:"weak_precision"` // of weak matches, how many are unanswerable
	WeakRecall    *float64 `json:"weak_recall"`    // of unanswerable queries, how many are weak matches
	HighPrecision *float64 `json:"high_precision"` // of high claims, how many have a right first row
	HighCoverage  *float64 `json:"high_coverage"`  // of all queries, how many are claimed high
	AUC           *float64 `json:"auc"`            // first row's score: answerable against unanswerable
	RightAUC      *float64 `json:"right_auc"`      // the same: first row right against wrong
	ECE           *float64 `json:"ece"`            // of the score read as probability that the first row is right
}

// Claim measures outcomes; calibrated says that the search made claims at all.
func Claim(os []Outcome, calibrated bool) Claims {
	var c Claims
	var answerable, unanswerable, right, wrong []float64
	var weak, weakTrue, high, highTrue float64
	for _, o := range os {
		answerable, unanswerable = split(o.Answerable, o.Score, answerable, unanswerable)
		right, wrong = split(o.Right, o.Score, right, wrong)
		weak, weakTrue = weak+indicator(o.Weak), weakTrue+indicator(o.Weak && !o.Answerable)
		high, highTrue = high+indicator(o.High), highTrue+indicator(o.High && o.Right)
	}
	if calibrated {
		if len(unanswerable) > 0 {
			c.WeakPrecision, c.WeakRecall = ratio(weakTrue, weak), ratio(weakTrue, float64(len(unanswerable)))
		}
		c.HighPrecision, c.HighCoverage = ratio(highTrue, high), ratio(high, float64(len(os)))
	}
	c.AUC, c.RightAUC = AUC(answerable, unanswerable), AUC(right, wrong)
	if len(os) > 0 {
		c.ECE = new(ECE(Reliability(os, 10)))
	}
	return c
}

func split(yes bool, v float64, a, b []float64) (_, _ []float64) {
	if yes {
		return append(a, v), b
	}
	return a, append(b, v)
}

func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	return new(a / b)
}

// AUC is the probability that a random positive scores above a random
// negative, ties counting half (Mann and Whitney); nil when either is empty.
func AUC(positive, negative []float64) *float64 {
	if len(positive) == 0 || len(negative) == 0 {
		return nil
	}
	pos, neg := slices.Sorted(slices.Values(positive)), slices.Sorted(slices.Values(negative))
	var u float64
	below, upTo := 0, 0
	for _, p := range pos {
		for below < len(neg) && neg[below] < p {
			below++
		}
		upTo = max(upTo, below)
		for upTo < len(neg) && neg[upTo] == p {
			upTo++
		}
		u += float64(below) + float64(upTo-below)/2
	}
	return new(u / float64(len(pos)) / float64(len(neg)))
}

// A Bin is one bar of a reliability diagram.
type Bin struct {
	From, To float64 // scores in [From, To); the last bin holds To as well
	Count    int
	Score    float64 // mean score
	Right    float64 // share whose first row is right
}

// Reliability sorts outcomes into n bins of equal width over [0, 1].
func Reliability(os []Outcome, n int) []Bin {
	bins := make([]Bin, n)
	for _, o := range os {
		b := &bins[max(0, min(n-1, int(o.Score*float64(n))))]
		b.Count++
		b.Score += o.Score
		b.Right += indicator(o.Right)
	}
	for i := range bins {
		b := &bins[i]
		b.From, b.To = float64(i)/float64(n), float64(i+1)/float64(n)
		if b.Count > 0 {
			b.Score /= float64(b.Count)
			b.Right /= float64(b.Count)
		}
	}
	return bins
}

// ECE is the expected calibration error: the mean distance of score and share
// right over bins, weighted by their counts (Naeini, Cooper, Hauskrecht 2015).
func ECE(bins []Bin) float64 {
	var sum float64
	n := 0
	for _, b := range bins {
		sum += float64(b.Count) * math.Abs(b.Score-b.Right)
		n += b.Count
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// A Point is one threshold of a precision-recall curve.
type Point struct {
	Threshold, Precision, Recall float64
}

// Abstention is the precision-recall curve of calling every first row that
// scores below a threshold unanswered, against the queries that are
// unanswerable; thresholds ascending.
func Abstention(os []Outcome) []Point {
	byScore := slices.SortedFunc(slices.Values(os), func(a, b Outcome) int { return cmp.Compare(a.Score, b.Score) })
	total := 0.0
	for _, o := range os {
		total += indicator(!o.Answerable)
	}
	if total == 0 {
		return nil
	}
	var out []Point
	found := 0.0
	for i, o := range byScore {
		found += indicator(!o.Answerable)
		next := 1.0
		if i+1 < len(byScore) {
			next = byScore[i+1].Score
		}
		if next != o.Score || i+1 == len(byScore) {
			out = append(out, Point{next, found / float64(i+1), found / total})
		}
	}
	return out
}
