// Package heap fits the garbage collector to a process that answers many short
// calls over a heap that hardly changes.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	rtmetrics "runtime/metrics"
	"sync"
	"time"
)

const (
	// gcPercent lets the heap grow to five times the live one between two
	// collections, as far as the limit allows: a call makes some hundred KB of
	// garbage and keeps none of it.
	gcPercent = 400
	// gcHeadroom is added to the limit, which holds stacks and buffers too.
	gcHeadroom = 16 << 20
	// callRoom is added to the limit for each call under way.
	callRoom = 2 << 20
	// leastRoom and mostRoom bound the calls that the limit grows for: fewer
	// need nothing, and more make garbage no faster than the processors do.
	leastRoom, mostRoom = 4, 32
	// calmAfter is how long fewer calls are under way before the limit sinks.
	calmAfter = time.Second
)

// Tune sets the collector for many short calls over a heap that hardly
// changes: GOGC 400 within a memory limit of 1.25 × the live heap + 16 MB,
// and 2 MB more for each of up to 32 calls under way: within the limit at
// rest, 32 clients would have it collect without a pause. It collects once to
// measure; call it after loading and when the catalog has changed much. It
// does nothing when GOGC or GOMEMLIMIT is set.
func Tune() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	runtime.GC()
	sample := []rtmetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	rtmetrics.Read(sample)
	if sample[0].Value.Kind() != rtmetrics.KindUint64 {
		return
	}
	live := int64(sample[0].Value.Uint64())
	debug.SetGCPercent(gcPercent)
	memory.rest(live + live/4 + gcHeadroom)
}

// memory is the limit of the process, whatever the number of gateways.
var memory memoryLimit

// A memoryLimit follows the calls under way. Setting the limit stops the
// world, so it moves in steps: up at once, down after calmAfter.
type memoryLimit struct {
	mu     sync.Mutex // guards the fields below
	atRest int64      // 0 while Tune has set none
	calls  int        // under way
	peak   int        // most calls since the limit was looked at
	room   int        // calls that the limit has room for
}

// rest sets the limit without calls.
func (m *memoryLimit) rest(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.atRest = bytes
	m.applyLocked()
}

func (m *memoryLimit) applyLocked() {
	debug.SetMemoryLimit(m.atRest + int64(m.room)*callRoom)
}

// enter counts a call until leave.
func (m *memoryLimit) enter() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.peak = max(m.peak, m.calls)
	if m.atRest == 0 || roomFor(m.calls) <= m.room {
		return
	}
	if m.room == 0 {
		time.AfterFunc(calmAfter, m.calm)
	}
	m.room = roomFor(m.calls)
	m.applyLocked()
}

func (m *memoryLimit) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls--
}

// calm lowers the limit to what the last calls needed, and gives the memory
// back to the system once it is at rest.
func (m *memoryLimit) calm() {
	m.mu.Lock()
	if need := roomFor(m.peak); need < m.room {
		m.room = need
		m.applyLocked()
	}
	m.peak = m.calls
	rests := m.room == 0
	m.mu.Unlock()
	if rests {
		debug.FreeOSMemory()
		return
	}
	time.AfterFunc(calmAfter, m.calm)
}

// roomFor is the calls to make room for when n are under way: a power of two,
// so that the limit seldom moves.
func roomFor(n int) int {
	if n < leastRoom {
		return 0
	}
	room := leastRoom
	for room < min(n, mostRoom) {
		room *= 2
	}
	return room
}

// Enter makes room for the garbage of one call, until Leave.
func Enter() { memory.enter() }

// Leave says that a call has ended.
func Leave() { memory.leave() }
