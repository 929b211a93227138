package vector

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/bits-and-blooms/bitset"
)

// A Scan searches a matrix by looking at every allowed row. Where the
// processor multiplies small integers faster than it loads floats, a first pass
// at 13 bits a number finds the rows that can be among the best, and only those
// are scored exactly; the answer is the same. (One byte is faster still, but
// its error is 25 times larger: where scores lie close together most of what
// it saves goes into scoring exactly.)
type Scan struct {
	m     Matrix
	codes codes[int16] // no rows where they would not pay
	lost  float64      // longest quantisation error of a row
}

// NewScan returns the exact searcher over m, which must not change afterwards.
// It takes about a microsecond a row and core.
func NewScan(m Matrix) *Scan {
	s := &Scan{m: m}
	if !codesInHardware || m.Rows() == 0 {
		return s
	}
	s.codes = newCodes[int16](m.Dims, m.Rows())
	var wg sync.WaitGroup
	lost := make([]float64, runtime.GOMAXPROCS(0))
	for part := range lost {
		wg.Go(func() {
			lo, hi := share(part, len(lost), m.Rows())
			for i := lo; i < hi; i++ {
				lost[part] = max(lost[part], s.codes.set(i, m.Row(i)))
			}
		})
	}
	wg.Wait()
	s.lost = slices.Max(lost)
	return s
}

// Search implements Searcher, exactly.
func (s *Scan) Search(q []float32, allowed *bitset.BitSet, k int) []Hit {
	k = min(k, s.m.Rows())
	if len(q) != s.m.Dims || k <= 0 {
		return nil
	}
	j := jobs.Get().(*job)
	defer j.release()
	j.m, j.q, j.allowed, j.k = s.m, q, allowed, k
	if len(s.codes.scale) == 0 {
		return j.run().sorted()
	}
	j.approx = resize(j.approx, s.m.Rows())
	within := j.useCodes(s, j.approx)
	best := j.run()
	if !best.full() {
		return j.exact(float32(math.Inf(-1))).sorted()
	}
	return j.exact(best.worst().Score - 2*within).sorted()
}

// Scores sets dst[i] to the dot product of q and row i for every row that
// allowed has (nil allows all) and leaves the rest of dst alone. It does
// nothing unless dst has a place for every row and q the matrix's dimensions.
func (s *Scan) Scores(dst, q []float32, allowed *bitset.BitSet) { Scores(dst, s.m, q, allowed) }

// Approximate is Scores several times faster: no score is further from the
// exact one than the returned bound, usually under .001, and most are ten
// times closer. A caller that wants the exact best k keeps the rows within
// two bounds of the k-th and asks Score for those. Where codes do not pay the
// scores are exact and the bound is 0.
func (s *Scan) Approximate(dst, q []float32, allowed *bitset.BitSet) (within float32) {
	if len(s.codes.scale) == 0 {
		Scores(dst, s.m, q, allowed)
		return 0
	}
	if len(q) != s.m.Dims || len(dst) < s.m.Rows() {
		return 0
	}
	j := jobs.Get().(*job)
	defer j.release()
	j.m, j.q, j.allowed = s.m, q, allowed
	within = j.useCodes(s, dst)
	j.run()
	return within
}

// Score returns the exact dot product of q and row i, 0 for an absent row.
func (s *Scan) Score(q []float32, i uint32) float32 { return dot(q, s.m.Row(int(i))) }

// Scores is Scan.Scores of a matrix that is not worth preparing.
func Scores(dst []float32, m Matrix, q []float32, allowed *bitset.BitSet) {
	if len(q) != m.Dims || len(q) == 0 || len(dst) < m.Rows() {
		return
	}
	j := jobs.Get().(*job)
	defer j.release()
	j.m, j.q, j.allowed, j.dst = m, q, allowed, dst
	j.run()
}

// useCodes makes j score by the codes of s into dst and returns how far from
// the exact scores these can be: by Cauchy and Schwarz |q·x − q'·x'| is at
// most ‖q‖‖x − x'‖ + ‖q − q'‖‖x'‖.
func (j *job) useCodes(s *Scan, dst []float32) (within float32) {
	j.codes, j.dst = &s.codes, dst
	j.coded.set(j.q, s.codes.stride, s.codes.limit)
	const rounding = 1e-5 // of the 32-bit sums on both sides
	norm := math.Sqrt(float64(dot(j.q, j.q)))
	return float32(norm*s.lost + j.coded.lost*(1+s.lost) + rounding*max(1, norm))
}

// exact scores the rows whose approximate score reaches floor.
func (j *job) exact(floor float32) *topK {
	best := &j.parts[0].best
	best.reset(j.k)
	j.parts[0].lo, j.parts[0].hi = 0, j.m.Rows()
	j.parts[0].chunks(func(ids []uint32) {
		for _, id := range ids {
			if j.approx[id] >= floor && j.codes.scale[id] != 0 {
				best.offer(Hit{id, dot(j.q, j.m.Row(int(id)))})
			}
		}
	})
	return best
}

var jobs = sync.Pool{New: func() any { return newJob() }}

func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}
