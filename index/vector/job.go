package vector

import (
	"math"
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

const chunkRows = 128

// A job is one scan's scratch: reused, so that a search allocates nothing but
// its results. It scores the allowed rows, by codes if it has them, into dst
// if it has one, and keeps the best k.
type job struct {
	m       Matrix
	q       []float32
	allowed *bitset.BitSet
	coding  *coding
	dst     []float32
	k       int

	n      int // parts in use
	parts  [maxParts]part
	wg     sync.WaitGroup
	coded  codedQuery
	approx []float32
}

// A part is the share of one goroutine.
type part struct {
	window
	j     *job
	best  topK
	start func()         // made once: a go statement with arguments allocates
	score func([]uint32) // likewise
}

// A window goes through the allowed rows of [lo, hi), lo on a word border.
type window struct {
	allowed *bitset.BitSet // nil allows all
	lo, hi  int

	ids    [chunkRows]uint32
	scores [chunkRows]float32
}

var windows = sync.Pool{New: func() any { return new(window) }}

func newJob() *job {
	j := new(job)
	for i := range j.parts {
		p := &j.parts[i]
		p.j = j
		p.score = p.scoreChunk
		p.start = func() {
			defer j.wg.Done()
			p.chunks(p.score)
		}
	}
	return j
}

// release forgets what belongs to the caller and gives the scratch back.
func (j *job) release() {
	j.m, j.q, j.allowed, j.coding, j.dst, j.k = Matrix{}, nil, nil, nil, nil, 0
	jobs.Put(j)
}

// run divides the rows, waits for all parts and returns the best of them.
func (j *job) run() *topK {
	rows, want := j.m.Rows(), j.m.Rows()
	if j.allowed != nil {
		want = int(j.allowed.Count())
	}
	j.n = 1
	if want >= parallelFrom {
		j.n = min(maxParts, runtime.GOMAXPROCS(0))
	}
	for i := range j.n {
		p := &j.parts[i]
		p.allowed = j.allowed
		p.lo, p.hi = share(i, j.n, rows)
		p.best.reset(j.k)
	}
	j.wg.Add(j.n - 1)
	for i := 1; i < j.n; i++ {
		go j.parts[i].start()
	}
	j.parts[0].chunks(j.parts[0].score)
	j.wg.Wait()
	best := &j.parts[0].best
	for i := 1; i < j.n; i++ {
		for _, h := range j.parts[i].best.hits {
			best.offer(h)
		}
	}
	return best
}

// share returns the i-th of n ranges that divide rows on word borders.
func share(i, n, rows int) (lo, hi int) {
	step := (rows/n + 64) &^ 63
	return min(i*step, rows), min((i+1)*step, rows)
}

// chunks calls f with the allowed rows, in order, some at a time.
func (p *window) chunks(f func(ids []uint32)) {
	n := 0
	for w := p.lo / 64; w*64 < p.hi; w++ {
		if n > chunkRows-64 {
			f(p.ids[:n])
			n = 0
		}
		base, word := uint32(w*64), p.word(w)
		if word == math.MaxUint64 {
			for i := range uint32(64) {
				p.ids[n+int(i)] = base + i
			}
			n += 64
			continue
		}
		for ; word != 0; word &= word - 1 {
			p.ids[n] = base + uint32(bits.TrailingZeros64(word))
			n++
		}
	}
	f(p.ids[:n])
}

// word returns which of the rows 64·w and following are allowed.
func (p *window) word(w int) uint64 {
	word := uint64(math.MaxUint64)
	if p.allowed != nil {
		words := p.allowed.Words()
		if w >= len(words) {
			return 0
		}
		word = words[w]
	}
	if over := (w+1)*64 - p.hi; over > 0 {
		word = word << over >> over
	}
	return word
}

func (p *part) scoreChunk(ids []uint32) {
	j := p.j
	scores := p.scores[:len(ids)]
	if j.coding != nil {
		j.coding.dots(scores, ids, &j.coded, j.coded.base)
	} else {
		for i, id := range ids {
			scores[i] = dot(j.q, j.m.Row(int(id)))
		}
	}
	if j.dst != nil {
		for i, id := range ids {
			j.dst[id] = scores[i]
		}
	}
	if j.k > 0 {
		p.keep(ids, scores)
	}
}

func (p *part) keep(ids []uint32, scores []float32) {
	for i, s := range scores {
		if p.best.full() && s < p.best.worst().Score || !p.j.present(ids[i]) {
			continue
		}
		p.best.offer(Hit{ids[i], s})
	}
}

func (j *job) present(row uint32) bool {
	if j.coding != nil {
		return j.coding.scale[row] != 0
	}
	return j.m.present(int(row))
}
