//go:build windows

package rivals

// All lists no rivals.
func All() []Entry { return nil }
