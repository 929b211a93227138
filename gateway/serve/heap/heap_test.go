package heap

import (
	"math"
	"os"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// keepGC restores the collector's settings, which are the process's.
func keepGC(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	t.Cleanup(func() {
		memory.mu.Lock()
		memory.atRest = 0
		memory.mu.Unlock()
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
}

func TestTune(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if os.Getenv(name) != "" {
			t.Skipf("%s is set", name)
		}
	}
	keepGC(t)
	t.Setenv("GOGC", "50")
	Tune()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC is set and yet the percentage became %d", got)
	}
	t.Setenv("GOGC", "")
	Tune()
	if got := debug.SetGCPercent(100); got != gcPercent {
		t.Errorf("the percentage is %d, want %d", got, gcPercent)
	}
	if got := debug.SetMemoryLimit(-1); got < gcHeadroom || got == math.MaxInt64 {
		t.Errorf("the memory limit is %d", got)
	}
}

// The limit rises with the calls under way, in steps, and comes back when
// they have ended, but not between two bursts.
func TestMemoryLimit(t *testing.T) {
	keepGC(t)
	const rest = 1 << 30
	synctest.Test(t, func(t *testing.T) {
		var m memoryLimit
		check := func(when string, room int) {
			t.Helper()
			if got := debug.SetMemoryLimit(-1) - rest; got != int64(room)*callRoom {
				t.Errorf("%s: the limit has room for %.1f calls, want %d", when, float64(got)/callRoom, room)
			}
		}
		calls := func(n int) {
			for range n {
				m.enter()
			}
			for range -n {
				m.leave()
			}
		}
		m.rest(rest)
		calls(3)
		check("3 calls", 0)
		calls(2)
		check("5 calls", 8)
		calls(95)
		check("100 calls", 32)
		m.rest(rest)
		check("100 calls, tuned again", 32)
		calls(-90)
		wait := func() { time.Sleep(calmAfter); synctest.Wait() }
		wait()
		check("10 calls, but 100 within the last second", 32)
		wait()
		check("10 calls", 16)
		calls(-10)
		calls(12)
		calls(-12)
		wait()
		check("no call, but 12 within the last second", 16)
		wait()
		check("no call", 0)
		calls(4)
		check("4 calls again", 4)
		calls(-4)
		wait()
		wait()
		check("no call again", 0)
	})
}

// A process that was not tuned keeps its limit.
func TestMemoryLimitUntuned(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	var m memoryLimit
	for range 40 {
		m.enter()
	}
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("the limit became %d, want %d as before", got, before)
	}
}
