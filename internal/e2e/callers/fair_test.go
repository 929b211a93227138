package callers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A run is one of a slow tool, which ends when the test says so.
type run struct {
	by  string // an argument
	end chan struct{}
}

// slow is the address of a server with a tool whose runs are sent as they
// begin.
func slow(t *testing.T) (url string, runs <-chan run) {
	t.Helper()
	began := make(chan run, 1000)
	s := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "ledger", Description: "Work with the books", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments struct{ By string }
			if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil {
				return nil, err
			}
			this := run{arguments.By, make(chan struct{})}
			began <- this
			select {
			case <-this.end:
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran for " + arguments.By}}}, nil
			case <-t.Context().Done(): // before the gateway waits for its calls
				return nil, t.Context().Err()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		web.CloseClientConnections() // a call may be under way when a test fails
		web.Close()
	})
	return web.URL, began
}

// A reply is what a client of somebody was answered.
type reply struct{ by, text string }

// calling has n clients of a token, each with a session of its own, call the
// slow tool at once.
func (c caller) calling(by string, n int, replies chan<- reply) {
	c.Helper()
	var sessions []session
	for range n {
		sessions = append(sessions, c.initialize("/mcp"))
	}
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"books/ledger","arguments":{"by":%q}}}}`, by)
	for _, s := range sessions {
		go func() { replies <- reply{by, s.ask("/mcp", message).text()} }()
	}
}

// next is what comes out of a channel.
func next[T any](w *world, what string, from <-chan T) (got T) {
	w.Helper()
	select {
	case got = <-from:
	case <-time.After(time.Minute):
		w.Fatalf("never: %s", what)
	}
	return got
}

// refused waits for so many replies, of calls that found no room to wait or
// lost it to somebody with fewer.
func (w *world) refused(n int, replies <-chan reply) {
	w.Helper()
	for range n {
		if r := next(w, "a call is refused", replies); r.by != "busy" || !strings.Contains(r.text, "queue full") {
			w.Fatalf("while all places are taken %s is answered %s", r.by, r.text)
		}
	}
}

// Two hundred clients of one principal have taken every place of a slow server and
// all the room to wait before another principal comes with five: these find
// room, are all answered, and overtake those that came before them. Who is
// refused tells when the others wait, so that no clock is needed.
func TestBusyPrincipalStarvesNobody(t *testing.T) {
	const places, room, busy, quiet = 2, 197, 200, 5
	url, runs := slow(t)
	many, few := newToken(), newToken()
	w := begin(t, fmt.Sprintf(`
mcpServers: {books: {url: %q, start: eager, concurrency: %d, queue: %d}}
execution: {timeout_seconds: 300}
auth:
  tokens: {busy: {hash: %q}, quiet: {hash: %q}}
  grants: [{anyone: true, endpoints: [default], role: use}]
`, url, places, room, many.hash, few.hash))
	w.listed(1)
	replies := make(chan reply, busy+quiet)
	w.as(many.secret).calling("busy", busy, replies)
	w.refused(busy-places-room, replies)
	w.as(few.secret).calling("quiet", quiet, replies)
	w.refused(quiet, replies)

	var under []run
	for range places {
		under = append(under, next(w, "a run begins", runs))
	}
	order := ""
	for left := room; len(under) > 0; {
		close(under[0].end)
		r := next(w, "a call is answered", replies)
		if r.by != under[0].by || !strings.Contains(r.text, "ran for "+r.by) {
			t.Fatalf("%s is answered %s when the run of %s ends", r.by, r.text, under[0].by)
		}
		order, under = order+r.by[:1], under[1:]
		if left > 0 {
			under, left = append(under, next(w, "a run begins", runs)), left-1
		}
	}
	// The first two were under way; then the principals take turns.
	if want := "bb" + strings.Repeat("bq", quiet) + strings.Repeat("b", room-2*quiet); order != want {
		t.Errorf("answered in the order %s, want %s", order, want)
	}
}
