package mcp

import "time"

// A server may write this much that is of no use to us, logs on stdout mostly,
// and so much more a second: one that babbles would take a core for nothing.
const (
	uselessBurst = 8 << 20
	uselessRate  = 256 << 10 // bytes a second
)

// lineCost is what a line costs beside its bytes, in bytes.
const lineCost = 64

// ownCost is what part of its bytes a message costs that nobody asked for.
const ownCost = 8

// An allowance is what is left of what a server may write.
type allowance struct {
	spent int
	since time.Time
}

// take reports whether n bytes more are within bounds.
func (a *allowance) take(n int, now time.Time) bool {
	if back := int(now.Sub(a.since).Seconds() * uselessRate); back > 0 {
		a.spent, a.since = max(0, a.spent-back), now
	}
	a.spent += n + lineCost
	return a.spent <= uselessBurst
}
