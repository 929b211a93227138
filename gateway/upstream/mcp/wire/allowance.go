package wire

import (
	"fmt"
	"time"
)

// A server may write this much that is of no use to us, logs on stdout mostly,
// and so much more a second: one that babbles would take a core for nothing.
const (
	uselessBurst = 8 << 20
	uselessRate  = 256 << 10 // bytes a second
)

// ErrBabble reports a server beyond its allowance.
var ErrBabble = fmt.Errorf("the server never stops writing what nobody asked for: over %d MiB, and over %d KiB a second", uselessBurst>>20, uselessRate>>10)

// lineCost is what a line costs beside its bytes, in bytes.
const lineCost = 64

// OwnCost is what part of its bytes a message costs that nobody asked for.
const OwnCost = 8

// An Allowance is what is left of what a server may write.
type Allowance struct {
	burst, rate int // in bytes, and in bytes a second
	spent       int
	since       time.Time
}

// NewAllowance returns an allowance that nothing was taken from.
func NewAllowance() *Allowance { return AllowanceOf(uselessBurst, uselessRate) }

// AllowanceOf returns an allowance of burst bytes, to which rate bytes come
// back a second.
func AllowanceOf(burst, rate int) *Allowance {
	return &Allowance{burst: burst, rate: rate, since: time.Now()}
}

// Take reports whether n bytes more are within bounds.
func (a *Allowance) Take(n int, now time.Time) bool {
	if back := int(now.Sub(a.since).Seconds() * float64(a.rate)); back > 0 {
		a.spent, a.since = max(0, a.spent-back), now
	}
	a.spent += n + lineCost
	return a.spent <= a.burst
}
