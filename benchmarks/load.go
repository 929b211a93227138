package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	loadClients = 32
	loadRounds  = 4 // turns that each load gets, so that noise falls on all alike
	loadTools   = 10_000
	loadGrace   = 10 * time.Second // for memory to come back once the calls have ended
)

// loadEras are the protocol versions that clients speak.
var loadEras = []string{handshakeEra, statelessEra}

// A target is a process that serves MCP over HTTP on its own, so that neither
// its memory nor its collector is ours.
type target struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	host  string
}

// startTarget runs child until stop. Its input begins with line, and where it
// serves the sample server, that speaks the era.
func startTarget(ctx context.Context, child, dir, era, line string) (*target, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &target{cmd: exec.CommandContext(ctx, exe, "-child", child, "-dir", dir, "-era", era)}
	t.cmd.Stderr = os.Stderr
	if t.stdin, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(t.stdin, line); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	host, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", child, err), t.stop())
	}
	t.host = strings.TrimSpace(host)
	return t, nil
}

// stop ends the process by the end of its input.
func (t *target) stop() error {
	err := t.stdin.Close()
	return errors.Join(err, t.cmd.Wait())
}

// vitals are what a gateway says of itself on /metrics.
type vitals struct{ allocated, collections, resident float64 }

func (t *target) vitals() (v vitals, err error) {
	resp, err := http.Get("http://" + t.host + "/metrics")
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	wanted := map[string]*float64{
		"go_memstats_alloc_bytes_total": &v.allocated,
		"go_gc_duration_seconds_count":  &v.collections,
		"process_resident_memory_bytes": &v.resident,
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if into := wanted[name]; into != nil {
			if *into, err = strconv.ParseFloat(value, 64); err != nil {
				return v, err
			}
		}
	}
	return v, nil
}

// A loading is 32 clients of one target that make one kind of call.
type loading struct {
	name   string
	system string
	gate   *target // nil for a bare server
	users  []*user

	times             timings
	took              time.Duration
	garbage, collects float64
}

// round has every client make n calls.
func (l *loading) round(n int) error {
	var before, after vitals
	var err error
	if l.gate != nil {
		if before, err = l.gate.vitals(); err != nil {
			return err
		}
	}
	errs := make([]error, len(l.users))
	times := make([]timings, len(l.users))
	var wg sync.WaitGroup
	start := time.Now()
	for i, u := range l.users {
		wg.Go(func() { times[i], errs[i] = u.calls(n) })
	}
	wg.Wait()
	l.took += time.Since(start)
	l.times = append(l.times, slices.Concat(times...)...)
	if l.gate != nil {
		after, err = l.gate.vitals()
		l.garbage += after.allocated - before.allocated
		l.collects += after.collections - before.collections
	}
	return errors.Join(append(errs, err)...)
}

func (l *loading) close() {
	for _, u := range l.users {
		u.close()
	}
}

// row is what was measured; bare is the measure, nil for the bare server's
// own row.
func (l *loading) row(n int, bare *row) row {
	r := row{Name: l.name, System: l.system, N: n, Rate: float64(len(l.times)) / l.took.Seconds()}
	l.times.fill(&r)
	r.P95 = micros(l.times.at(.95))
	r.Note = fmt.Sprintf("%.0f a second, p95 %s", r.Rate, human(r.P95))
	if bare == nil {
		return r
	}
	r.Garbage = int64(l.garbage) / int64(len(l.times))
	r.Note += fmt.Sprintf(" (%.1f ×), %.0f KB and %.3f collections a call; calls of go-sdk's:",
		r.P95/bare.P95, float64(r.Garbage)/1e3, l.collects/float64(len(l.times)))
	r.Ratio = r.Rate / bare.Rate
	return r
}

// loadAlone is load on a catalog made for it.
func (b *bench) loadAlone(ctx context.Context) error {
	c, err := newCorpus(b.o.seed, b.loadSize(), b.o.queries)
	if err != nil {
		return err
	}
	dir, err := b.folder("load")
	if err != nil {
		return err
	}
	ix, err := b.build(ctx, dir, c)
	if err != nil {
		return err
	}
	if err := ix.Close(); err != nil {
		return err
	}
	return b.load(ctx, dir, c)
}

// load measures many clients at once, in each era.
func (b *bench) load(ctx context.Context, dir string, c *corpus) error {
	for _, era := range loadEras {
		b.step("%d tools: %d clients of %s", c.n, loadClients, era)
		if err := b.loadEra(ctx, dir, c, era); err != nil {
			return fmt.Errorf("%s: %w", era, err)
		}
	}
	return nil
}

// loadEra measures calls of a bare go-sdk server, the same calls through
// gateways to that server and to one over stdio, and searches. Servers speak
// the era of the clients, so that all calls are of one kind. The clients write
// prepared requests to kept-alive connections of their own: they take little
// of the machine, and the same for every target.
func (b *bench) loadEra(ctx context.Context, dir string, c *corpus, era string) (err error) {
	bare, err := startTarget(ctx, webChild, "", era, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.stop()) }()
	web, err := startTarget(ctx, gatewayChild, dir, era, "http://"+bare.host+"/mcp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, web.stop()) }()
	stdio, err := startTarget(ctx, gatewayChild, dir, era, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stdio.stop()) }()
	loads := []*loading{
		{name: "load/call/" + era, system: "go-sdk"},
		{name: "load/execute/http/" + era, system: "tooldex", gate: web},
		{name: "load/execute/stdio/" + era, system: "tooldex", gate: stdio},
		{name: "load/search/" + era, system: "tooldex", gate: web},
	}
	bodies := [][]message{{bareCall()}, {executeCall()}, {executeCall()}, searchCalls(c.queries)}
	if err := b.turns(loads, bodies, era, bare); err != nil {
		return err
	}
	alone := loads[0].row(c.n, nil)
	b.add(alone)
	for _, l := range loads[1:] {
		b.add(l.row(c.n, &alone))
	}
	return b.settled(ctx, web, c.n, era)
}

// turns connects the clients of all loads and has them call by turns.
func (b *bench) turns(loads []*loading, bodies [][]message, era string, bare *target) (err error) {
	for i, l := range loads {
		t := bare
		if l.gate != nil {
			t = l.gate
		}
		defer l.close()
		for range loadClients {
			u, err := newUser(t.host, era, bodies[i])
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			l.users = append(l.users, u)
		}
		if err := l.round(2); err != nil { // warms up
			return fmt.Errorf("%s: %w", l.name, err)
		}
		*l = loading{name: l.name, system: l.system, gate: l.gate, users: l.users}
	}
	n := max(1, 8*b.o.queries/loadClients/loadRounds)
	for range loadRounds {
		for _, l := range loads {
			if err := l.round(n); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
	}
	return nil
}

// settled adds the memory of a gateway after the calls: the least within
// loadGrace.
func (b *bench) settled(ctx context.Context, t *target, n int, era string) error {
	v, err := t.vitals()
	if err != nil {
		return err
	}
	at, least := v.resident, v.resident
	end := time.After(min(loadGrace, time.Duration(b.o.queries)*10*time.Millisecond))
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-end:
			done = true
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if v, err = t.vitals(); err != nil {
			return err
		}
		least = min(least, v.resident)
	}
	var note bytes.Buffer
	fmt.Fprintf(&note, "resident after %d clients, with the model; %s when they ended", loadClients, size(int64(at)))
	b.add(row{Name: "memory/load/" + era, System: "tooldex", N: n, Bytes: int64(least), Note: note.String()})
	return nil
}
