package blend

import "golang.org/x/sys/cpu"

var fast = cpu.X86.HasAVX2

// A kernelCall is what runAVX2, in assembly, is called with; it knows the
// layout.
type kernelCall struct {
	scores, keywords, cosines, sizes *float32
	servers                          *uint32
	priors                           *float32
	n                                int // a multiple of 8
}

//go:noescape
func runAVX2(call *kernelCall, w *Weights, marks *uint64) (above int)

// runFast is run for the first n documents, a multiple of 8.
func (b *Block) runFast(w *Weights, marks []uint64, n int) int {
	_, _, _, _ = b.Keywords[n-1], b.Cosines[n-1], b.Sizes[n-1], b.Servers[n-1] // the kernel checks nothing
	call := kernelCall{
		scores: &b.Scores[0], keywords: &b.Keywords[0], cosines: &b.Cosines[0], sizes: &b.Sizes[0],
		servers: &b.Servers[0], priors: &b.Priors[0], n: n,
	}
	return runAVX2(&call, w, &marks[:(n+63)/64][0])
}
