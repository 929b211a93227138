package vector

import (
	"math/bits"
	"runtime"
	"sync"

	"github.com/bits-and-blooms/bitset"
)

// parallelFrom is the number of allowed rows from which a scan is split over
// goroutines: below, waking them costs as much as it saves.
const parallelFrom = 2000

// maxParts bounds the goroutines of one scan: more of them wait for memory,
// not for arithmetic, and other searches want the cores too.
const maxParts = 4

// A Scan searches a matrix by looking at every allowed row.
type Scan struct{ m Matrix }

// NewScan returns the exact searcher over m, which must not change afterwards.
func NewScan(m Matrix) *Scan { return &Scan{m: m} }

// Search implements Searcher, exactly.
func (s *Scan) Search(q []float32, allowed *bitset.BitSet, k int) []Hit {
	if len(q) != s.m.Dims || k <= 0 || len(q) == 0 {
		return nil
	}
	j := jobs.Get().(*job)
	defer j.release()
	j.m, j.q, j.allowed, j.k = s.m, q, allowed, min(k, s.m.Rows())
	j.run()
	best := &j.parts[0].best
	for i := 1; i < j.n; i++ {
		for _, h := range j.parts[i].best.hits {
			best.offer(h)
		}
	}
	return best.sorted()
}

// Scores sets dst[i] to the dot product of q and row i of m for every row
// that allowed has (nil allows all) and leaves the rest of dst alone. It does
// nothing unless dst has m.Rows() elements and q m.Dims.
func Scores(dst []float32, m Matrix, q []float32, allowed *bitset.BitSet) {
	if len(q) != m.Dims || len(q) == 0 || len(dst) < m.Rows() {
		return
	}
	j := jobs.Get().(*job)
	defer j.release()
	j.m, j.q, j.allowed, j.dst = m, q, allowed, dst
	j.run()
}

// A job is one scan's scratch: reused, so that a search allocates nothing but
// its results. With dst it stores scores there, else it keeps the best k.
type job struct {
	m       Matrix
	q       []float32
	allowed *bitset.BitSet
	dst     []float32
	k       int

	n     int // parts in use
	parts [maxParts]part
	wg    sync.WaitGroup
}

// A part is the share of one goroutine: rows [lo, hi), lo on a word border.
type part struct {
	j      *job
	lo, hi int
	best   topK
	start  func() // made once: a go statement with arguments allocates
}

var jobs = sync.Pool{New: func() any {
	j := new(job)
	for i := range j.parts {
		p := &j.parts[i]
		p.j = j
		p.start = func() { defer j.wg.Done(); p.scan() }
	}
	return j
}}

func (j *job) release() {
	j.m, j.q, j.allowed, j.dst, j.k = Matrix{}, nil, nil, nil, 0
	jobs.Put(j)
}

// run divides the rows and returns when all parts are done.
func (j *job) run() {
	rows, want := j.m.Rows(), j.m.Rows()
	if j.allowed != nil {
		want = int(j.allowed.Count())
	}
	j.n = 1
	if want >= parallelFrom {
		j.n = min(maxParts, runtime.GOMAXPROCS(0))
	}
	step := (rows/j.n + 64) &^ 63
	for i := range j.n {
		p := &j.parts[i]
		p.lo, p.hi = min(i*step, rows), min((i+1)*step, rows)
		p.best.reset(j.k)
	}
	j.wg.Add(j.n - 1)
	for i := 1; i < j.n; i++ {
		go j.parts[i].start()
	}
	j.parts[0].scan()
	j.wg.Wait()
}

func (p *part) scan() {
	if p.j.allowed == nil {
		for i := p.lo; i < p.hi; i++ {
			p.score(i)
		}
		return
	}
	words := p.j.allowed.Words()
	for w := p.lo / 64; w < len(words) && w*64 < p.hi; w++ {
		for word := words[w]; word != 0; word &= word - 1 {
			if i := w*64 + bits.TrailingZeros64(word); i < p.hi {
				p.score(i)
			}
		}
	}
}

func (p *part) score(i int) {
	j := p.j
	s := dot(j.q, j.m.Row(i))
	if j.dst != nil {
		j.dst[i] = s
		return
	}
	if p.best.full() && s < p.best.worst().Score || s == 0 && !j.m.present(i) {
		return
	}
	p.best.offer(Hit{uint32(i), s})
}
