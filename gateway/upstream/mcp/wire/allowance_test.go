package wire

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

func TestAllowance(t *testing.T) {
	a := NewAllowance()
	now := a.since
	for range 10000 {
		if now = now.Add(time.Second); !a.Take(uselessRate-lineCost, now) {
			t.Fatal("a steady rate within bounds was stopped")
		}
	}
	if !a.Take(uselessBurst/2, now) || a.Take(uselessBurst, now) {
		t.Error("the burst is not as large as it should be")
	}
	if a.Take(0, now.Add(time.Second)) || !a.Take(0, now.Add(time.Hour)) {
		t.Error("the allowance does not come back with time")
	}
}

func TestLineWithoutEnd(t *testing.T) {
	r := LineReader{Reader: bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 2000)), 16), limit: 200}
	if _, _, err := r.Next(); err != ErrEndless {
		t.Errorf("got %v, want errEndless", err)
	}
}
