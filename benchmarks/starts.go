package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
)

const (
	startServers = 24
	startRounds  = 3
	startSettle  = 10 * time.Second // for all to have started that will
)

// starts measures what a set of programs costs a client that calls one of
// them: started when needed, and kept running. Its rows are of the first call;
// bytes are those that the programs take once they have settled.
func starts(ctx context.Context, b *bench) error {
	for range startRounds {
		for _, eager := range []bool{false, true} {
			b.step("%d servers, eager %t", startServers, eager)
			r, err := firstCall(ctx, eager)
			if err != nil {
				return fmt.Errorf("start %d servers: %w", startServers, err)
			}
			b.add(r)
		}
	}
	return nil
}

// firstCall starts a Set whose servers were listed before, and calls one.
func firstCall(ctx context.Context, eager bool) (r row, err error) {
	r = row{Name: "first call/lazy", System: "tooldex"}
	if eager {
		r.Name = "first call/eager"
	}
	exe, err := os.Executable()
	if err != nil {
		return r, err
	}
	var specs []mcp.Spec
	for i := range startServers {
		specs = append(specs, mcp.Spec{Name: fmt.Sprintf("s%02d", i), Command: exe, Args: []string{"-child", sampleChild}, Eager: eager})
	}
	listed := time.Now()
	set, err := mcp.NewSet(specs, mcp.Options{Stored: func(string) (int, time.Time) { return 1, listed }})
	if err != nil {
		return r, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- set.Run(running) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	calling, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	d, err := timed(func() error {
		res, err := set.Call(calling, upstream.Request{Server: specs[startServers-1].Name, Tool: "count_text", Arguments: json.RawMessage(`{"text":"one two"}`)})
		res.Release()
		return err
	})
	if err != nil {
		return r, err
	}
	timings{d}.fill(&r)
	select {
	case <-time.After(startSettle):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	n, bytes, err := children()
	r.Bytes, r.Note = bytes, fmt.Sprintf("programs: %d; bytes resident", n)
	return r, err
}

// children counts the processes that this one has started, and their resident
// memory; where the system does not say both are 0.
func children() (n int, bytes int64, err error) {
	entries, err := os.ReadDir("/proc")
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0, nil
	}
	parent := fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())
	for _, e := range entries {
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil || !strings.Contains(string(status), parent) {
			continue // no process, or one that has ended
		}
		size, err := residentOf(status)
		if err != nil {
			return 0, 0, err
		}
		n, bytes = n+1, bytes+size
	}
	return n, bytes, err
}
