// Package blend fuses what the arms of a search say of many documents and
// finds those that matter. It is the innermost loop over a catalog, so it runs
// eight documents at a time where the processor can.
//
// All numbers are 32-bit and approximate; every score has a margin in which
// the exact one lies. A document whose margin contains the floor, or reaches
// the least score that is worth ranking, is marked for its caller to look at;
// of the others those above the floor are only counted.
package blend

// A Block is documents that are fused together, one element each, but for
// Priors.
type Block struct {
	Scores   []float32 // are set
	Keywords []float32
	Cosines  []float32 // count as 0 below it
	Sizes    []float32 // of the margins
	Servers  []uint32  // indexes into Priors
	Priors   []float32
}

// Weights make Keyword · keyword + Cosine · cosine + prior of a document, with
// a margin of Fixed + Slope · size + Relative · score on both sides.
type Weights struct {
	Keyword, Cosine        float32
	Fixed, Slope, Relative float32
	Floor, Least           float32
}

// Run fuses b, sets those bits of marks whose documents need a closer look,
// clears the others, and returns how many of the others are above the floor.
// A bit is a document of b; marks has room for all.
func (b *Block) Run(w *Weights, marks []uint64) (above int) {
	clear(marks)
	n := len(b.Scores) &^ 7
	if fast && n > 0 {
		above = b.runFast(w, marks, n)
	} else {
		n = 0
	}
	return above + b.run(w, marks, n)
}

// run is Run from document i on.
func (b *Block) run(w *Weights, marks []uint64, i int) (above int) {
	for ; i < len(b.Scores); i++ {
		score := w.Keyword*b.Keywords[i] + w.Cosine*max(0, b.Cosines[i]) + b.Priors[b.Servers[i]]
		b.Scores[i] = score
		within := w.Fixed + w.Slope*b.Sizes[i] + w.Relative*score
		surely, maybe := score-within >= w.Floor, score+within >= w.Floor
		switch {
		case maybe != surely || score+within >= w.Least:
			marks[i/64] |= 1 << (i % 64)
		case surely:
			above++
		}
	}
	return above
}
