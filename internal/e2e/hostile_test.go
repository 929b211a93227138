//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// A neighbour is one kind of hostile server or client.
type neighbour struct {
	name string
	run  func(ctx context.Context) // until ctx ends
}

// hostile is what the process has to survive.
func (l *load) hostile(total time.Duration) []neighbour {
	return []neighbour{
		{"babbling server", l.babbles},
		{"cancelled calls", every(50*time.Millisecond, l.call("hanging/fault_slow", object{"seconds": 600}, time.Second))},
		{"dying server", every(4*time.Second, l.call("dying/fault_exit", object{}, 10*time.Second))},
		{"changing lists", every(time.Second, l.call("changing/fault_change_tools", object{}, 10*time.Second))},
		{"4 MB results", every(2*time.Second, l.call("huge/fault_huge", object{"bytes": 4 << 20}, 10*time.Second))},
		{"forgotten sessions", every(100*time.Millisecond, l.openSession)},
		{"slow bodies", every(100*time.Millisecond, l.slowBody)},
		{"unread answers", every(time.Second, func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, min(time.Minute, total/20))
			defer cancel()
			l.unreadAnswer(ctx)
		})},
	}
}

// every begins f again and again, without waiting for its end, up to four
// hundred at once.
func every(d time.Duration, f func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		var wg sync.WaitGroup
		defer wg.Wait()
		places := make(chan struct{}, 400)
		for more := true; more; more = tick(ctx, d) {
			select {
			case places <- struct{}{}:
				wg.Go(func() { f(ctx); <-places })
			default:
			}
		}
	}
}

// turns measures ordinary calls without and with each neighbour, again and
// again, so that what else the machine does falls on both. It logs a table
// and returns the times without any.
func (l *load) turns(hostile []neighbour, length time.Duration) *timings {
	const rounds = 3
	alone := newTimings()
	var table strings.Builder
	fmt.Fprintf(&table, "%-20s %25s %25s %17s\n", "beside", "execute p99 (alone)", "search p99 (alone)", "CPU (alone)")
	window := length / time.Duration(2*rounds*len(hostile))
	for _, h := range hostile {
		quiet, beside := newTimings(), newTimings()
		for range rounds {
			l.window(window, quiet, func(context.Context) {})
			l.window(window, beside, h.run)
		}
		fmt.Fprintf(&table, "%-20s", h.name)
		for _, kind := range measured {
			fmt.Fprintf(&table, " %12v %12s", beside.p99(kind), fmt.Sprintf("(%v)", quiet.p99(kind)))
			alone.took[kind] = append(alone.took[kind], quiet.took[kind]...)
		}
		fmt.Fprintf(&table, " %7.0f%% %8s\n", 100*beside.cpu/beside.length, fmt.Sprintf("(%.0f%%)", 100*quiet.cpu/quiet.length))
		alone.cpu, alone.length = alone.cpu+quiet.cpu, alone.length+quiet.length
		alone.failed = append(append(alone.failed, quiet.failed...), beside.failed...)
	}
	l.t.Logf("%d turns of %v each:\n%s", rounds, window, table.String())
	return alone
}

// window measures ordinary calls, and the processor time of the process, for
// a time while run runs.
func (l *load) window(length time.Duration, r *timings, run func(context.Context)) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { run(ctx) })
	began, before := time.Now(), l.metrics()["process_cpu_seconds_total"]
	l.ordinary(ctx, length, r)
	r.cpu += l.metrics()["process_cpu_seconds_total"] - before
	r.length += time.Since(began).Seconds()
	cancel()
	wg.Wait()
}

// babbles lets the babbling server write for a while, again and again.
func (l *load) babbles(ctx context.Context) {
	if err := os.WriteFile(l.babble, nil, 0o600); err != nil {
		l.t.Error(err)
	}
	<-ctx.Done()
	os.Remove(l.babble)
}

// call calls a tool for a time. The answer is of no interest: the call is
// meant to go wrong.
func (l *load) call(tool string, args object, timeout time.Duration) func(context.Context) {
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
		"name": "execute_tool", "arguments": object{"tool_name": tool, "arguments": args},
		"_meta": object{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{}},
	}})
	if err != nil {
		l.t.Fatal(err)
	}
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		l.post(ctx, string(body), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "execute_tool")
	}
}

// openSession opens a session and forgets it.
func (l *load) openSession(ctx context.Context) {
	l.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"forgetful","version":"1"}}}`)
}

// post sends a message with further headers and passes over the answer.
func (l *load) post(ctx context.Context, body string, headers ...string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.endpoint, strings.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if res, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}

// slowBody sends half a body and waits for whatever comes first.
func (l *load) slowBody(ctx context.Context) {
	l.half(ctx, "Content-Length: 15000000\r\n\r\n"+strings.Repeat(" ", 200<<10))
}

// unreadAnswer asks for much and reads nothing of it.
func (l *load) unreadAnswer(ctx context.Context) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tools","arguments":{"page_size":100,"include_schemas":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	l.half(ctx, fmt.Sprintf("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: list_tools\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
}

// half writes a request that begins with the usual headers and does not read
// until the server hangs up or ctx ends.
func (l *load) half(ctx context.Context, rest string) {
	c, err := net.Dial("tcp", l.addr)
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%s", rest); err != nil {
		return
	}
	if strings.Contains(rest, "Mcp-Name") {
		<-ctx.Done()
		return
	}
	_, _ = io.Copy(io.Discard, c)
}
