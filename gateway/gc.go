package gateway

import (
	"os"
	"runtime"
	"runtime/debug"
	rtmetrics "runtime/metrics"
)

const (
	// gcPercent lets the heap grow to five times the live one between two
	// collections: a call makes some 500 KB of garbage and keeps none of it.
	gcPercent = 400
	// gcHeadroom is added to the limit, which holds stacks and buffers too.
	gcHeadroom = 16 << 20
)

// TuneGC sets the collector for many short calls over a heap that hardly
// changes: GOGC 400 within a memory limit of 1.25 × the live heap + 16 MB. It
// collects once to measure; call it after loading and when the catalog has
// changed much. It does nothing when GOGC or GOMEMLIMIT is set.
func TuneGC() {
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
	debug.SetMemoryLimit(live + live/4 + gcHeadroom)
}
