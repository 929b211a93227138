package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/internal/logins/loginstest"
)

// A world is a server whose callers have sessions of their own.
type world struct {
	*testing.T
	*Set
	issuer        *loginstest.Issuer
	down          atomic.Bool
	opened, ended atomic.Int64 // sessions, as the server sees them
	began         chan string  // tools that run, and end when told so
	end           chan struct{}
}

// begin runs a Set with the server "mine" until the test ends.
func begin(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{T: t, issuer: loginstest.New(t), began: make(chan string, 100), end: make(chan struct{}, 100)}
	s := sdk.NewServer(&sdk.Implementation{Name: "mine", Version: "1"}, nil)
	for _, name := range []string{"quick", "slow"} {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if name == "slow" {
				w.began <- name
				select {
				case <-w.end:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Session.ID()}}}, nil
		})
	}
	tools := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	w.issuer.Set(func() {
		w.issuer.Behind = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case w.down.Load():
				http.Error(rw, "away", http.StatusBadGateway)
				return
			case r.Method == http.MethodDelete:
				w.ended.Add(1)
			case r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "":
				defer func() {
					if rw.Header().Get("Mcp-Session-Id") != "" {
						w.opened.Add(1)
					}
				}()
			}
			tools.ServeHTTP(rw, r)
		})
	})
	o.MCP.Logger = slog.New(slog.DiscardHandler)
	w.Set = New(o)
	w.Apply([]mcp.Spec{w.spec()})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Set.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := w.as("ada", "quick"); w.Has("mine") && !errors.Is(err, upstream.ErrStopped) {
			t.Errorf("a call after the end: %v", err)
		}
		if a, b := w.opened.Load(), w.ended.Load(); a != b {
			t.Errorf("%d sessions were opened and %d closed", a, b)
		}
	})
	w.until("it runs", func() bool { _, err := w.as("first", "quick"); return err == nil })
	return w
}

// spec is the server, whose calls go out with tokens in place of callers'.
func (w *world) spec() mcp.Spec {
	return mcp.Spec{Name: "mine", URL: w.issuer.URL + "/mcp", Timeout: 20 * time.Second, Auth: login.Config{
		Type: login.TokenExchange, Issuer: w.issuer.URL, ClientID: "tooldex", ClientSecret: "s3cret-of-machine",
	}}
}

// as calls a tool as somebody, and returns the session in which it ran.
func (w *world) as(caller, tool string) (session string, err error) {
	w.Helper()
	res, err := w.Call(context.Background(), upstream.Request{
		Server: "mine", Tool: tool, Arguments: []byte("{}"), Caller: caller, Token: upstream.CallerToken("the-token-of-" + caller),
	})
	if err != nil {
		return "", err
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(res.Raw, &result); err != nil || len(result.Content) != 1 {
		w.Fatalf("%s: %v", res.Raw, err)
	}
	return result.Content[0].Text, nil
}

func (w *world) must(caller, tool string) (session string) {
	w.Helper()
	session, err := w.as(caller, tool)
	if err != nil {
		w.Fatal(err)
	}
	return session
}

// status is that of the server.
func (w *world) status() upstream.Status {
	st := upstream.Status{Name: "mine"}
	w.Add(&st)
	return st
}

func (w *world) until(what string, ok func() bool) {
	w.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for timeout := time.After(time.Minute); !ok(); {
		select {
		case <-ticker.C:
		case <-timeout:
			w.Fatalf("never: %s", what)
		}
	}
}

// A caller keeps its session; when there are too many, the one goes that was
// not used for the longest time, and none in which a call is under way.
func TestMost(t *testing.T) {
	w := begin(t, Options{Most: 2})
	ada := w.must("ada", "quick") // beside first
	eve := w.must("eve", "quick") // in first's place
	if ada == eve || w.must("ada", "quick") != ada || w.status().Sessions != 2 {
		t.Errorf("got %s, %s, %d sessions", ada, eve, w.status().Sessions)
	}
	w.must("mallory", "quick") // in eve's place
	if w.must("ada", "quick") != ada || w.must("eve", "quick") == eve {
		t.Error("the session went that was used last")
	}
	done := make(chan error, 2)
	for _, caller := range []string{"ada", "eve"} {
		go func() { _, err := w.as(caller, "slow"); done <- err }()
		<-w.began
	}
	if _, err := w.as("mallory", "quick"); !errors.Is(err, upstream.ErrQueueFull) {
		t.Errorf("with both in use: %v", err)
	}
	for range 2 {
		w.end <- struct{}{}
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.must("mallory", "quick")
}

// A session that nobody uses is closed, and its caller has another one later.
func TestIdle(t *testing.T) {
	w := begin(t, Options{Idle: 100 * time.Millisecond})
	before := w.must("ada", "quick")
	w.until("the sessions are closed", func() bool { return w.status().Sessions == 0 && w.ended.Load() == w.opened.Load() })
	if w.must("ada", "quick") == before {
		t.Error("the same session")
	}
}

// One entry that changes or goes ends its sessions, when their calls have ended;
// one that stays keeps them.
func TestApply(t *testing.T) {
	w := begin(t, Options{})
	before := w.must("ada", "quick")
	w.Apply([]mcp.Spec{w.spec()})
	if w.must("ada", "quick") != before {
		t.Error("an entry that stayed lost its session")
	}
	done := make(chan error, 1)
	go func() { _, err := w.as("ada", "slow"); done <- err }()
	<-w.began
	changed := w.spec()
	changed.Headers = map[string]string{"X-Team": "finance"}
	w.Apply([]mcp.Spec{changed})
	if w.must("ada", "quick") == before {
		t.Error("an entry that changed kept its session")
	}
	w.end <- struct{}{}
	if err := <-done; err != nil {
		t.Errorf("a call under way: %v", err)
	}
	other := w.spec()
	other.Auth = login.Config{}
	for _, specs := range [][]mcp.Spec{{other}, nil} {
		w.Apply(specs)
		if _, err := w.as("ada", "quick"); !errors.Is(err, upstream.ErrUnknownServer) || w.Has("mine") {
			t.Errorf("got %v", err)
		}
	}
	w.until("the sessions are closed", func() bool { return w.ended.Load() == w.opened.Load() })
}

// All sessions together call no more at once than the entry allows.
func TestConcurrency(t *testing.T) {
	w := begin(t, Options{})
	narrow := w.spec()
	narrow.Concurrency, narrow.Queue = 1, 1
	w.Apply([]mcp.Spec{narrow})
	done := make(chan error, 2)
	for i, caller := range []string{"ada", "eve"} {
		go func() { _, err := w.as(caller, "slow"); done <- err }()
		if i == 0 {
			<-w.began
		}
	}
	w.until("the second call waits", func() bool { return w.servers["mine"].calls.Waiting() == 1 })
	if _, err := w.as("mallory", "quick"); !errors.Is(err, upstream.ErrQueueFull) {
		t.Errorf("a third one: %v", err)
	}
	if len(w.began) != 0 || w.status().InFlight != 1 {
		t.Errorf("%d calls run beside the first, %d in flight", len(w.began), w.status().InFlight)
	}
	for range 2 {
		w.end <- struct{}{}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Who came without a token has no session, nor has whose token is not
// exchanged; a server that was away is called again by the next call.
func TestNoSession(t *testing.T) {
	w := begin(t, Options{})
	before := w.status().Sessions
	for _, r := range []upstream.Request{{Caller: "ada"}, {Token: "a-token"}} {
		r.Server, r.Tool = "mine", "quick"
		if _, err := w.Call(t.Context(), r); !errors.Is(err, upstream.ErrNoToken) {
			t.Errorf("got %v", err)
		}
	}
	w.issuer.Set(func() { w.issuer.Refuses = "access_denied" })
	if _, err := w.as("ada", "quick"); err == nil || !strings.Contains(err.Error(), "access_denied") || strings.Contains(err.Error(), "the-token-of-ada") {
		t.Errorf("got %v", err)
	}
	w.issuer.Set(func() { w.issuer.Refuses = "" })
	w.down.Store(true)
	if _, err := w.as("ada", "quick"); err == nil {
		t.Error("a server that is away was called")
	}
	if after := w.status().Sessions; after != before {
		t.Errorf("%d sessions, and %d after failures", before, after)
	}
	w.down.Store(false)
	w.must("ada", "quick")
}
