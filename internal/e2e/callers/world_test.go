package callers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/certs"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/manage"
)

// A world is a gateway that serves a configuration over HTTP until the test
// ends.
type world struct {
	*testing.T
	*app.Engine
	path   string // of the configuration
	scheme string
	listen string // address
	client *http.Client
}

// begin serves a configuration of these lines, which may change.
func begin(t *testing.T, lines string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "callers") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{T: t, scheme: "http", path: filepath.Join(dir, "tooldex.yaml"), client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(w.client.CloseIdleConnections)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.listen = ln.Addr().String()
	w.write(lines)
	load := func() (*config.Config, error) {
		return config.Load(config.Options{Path: w.path, Surfaces: serve.Surfaces()})
	}
	cfg, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.TLS.Cert != "" {
		w.scheme = "https"
		files := certs.Files{Cert: cfg.TLS.Cert, Key: cfg.TLS.Key, ClientCA: cfg.TLS.ClientCA}
		if ln, err = certs.Listen(ln, files, w.quiet()); err != nil {
			t.Fatal(err)
		}
	}
	claimed, err := app.Claim(t.Context(), cfg, "v1", true)
	if err != nil || claimed == nil {
		t.Fatal(claimed, err)
	}
	w.serve(cfg, ln, claimed, load)
	return w
}

func (w *world) serve(cfg *config.Config, ln net.Listener, claimed *attach.Listener, load func() (*config.Config, error)) {
	w.Helper()
	var err error
	w.Engine, err = app.Open(cfg, app.Options{Version: "v1", Online: true, Serving: true, Load: load, Claimed: claimed})
	if err != nil {
		w.Fatal(err)
	}
	if err := manage.Serve(w.Engine, "v1", ln.Addr()); err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, ln, nil) }()
	w.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, w.Close()); err != nil {
			w.Error(err)
		}
	})
}

// write replaces the configuration; LISTEN stands for the address.
func (w *world) write(lines string) {
	w.Helper()
	text := fmt.Sprintf("state: %q\nlisten: %s\n%s", w.state(), w.listen, strings.ReplaceAll(lines, "LISTEN", w.listen))
	next := w.path + ".next" // half a file would be a configuration, too
	if err := errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, w.path)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) state() string { return filepath.Join(filepath.Dir(w.path), "state") }

// until waits for what the background does.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(time.Minute)
	for !ok() {
		select {
		case <-ticker.C:
		case <-timeout:
			w.Fatalf("never: %s", what)
		}
	}
}

func (w *world) quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// listed waits until the catalog has so many tools.
func (w *world) listed(n int) {
	w.Helper()
	w.until(fmt.Sprintf("%d tools are listed", n), func() bool {
		_, total := w.Index.List(index.Listing{Limit: 1})
		return total == n
	})
}

// An answer is what an HTTP request is answered.
type answer struct {
	status int
	header http.Header
	body   string
}

// text is the answer without what differs between any two.
func (a answer) text() string { return fmt.Sprint(a.status, " ", a.body) }

// A caller makes requests with a token.
type caller struct {
	*world
	token string // "" sends none
}

func (w *world) as(token string) caller { return caller{w, token} }

// send makes a request to a path.
func (c caller) send(method, path, body string, headers ...string) answer {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.scheme+"://"+c.listen+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.client.Do(r)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	body = string(text)
	if _, data, ok := strings.Cut(body, "data: "); ok {
		body, _, _ = strings.Cut(data, "\n")
	}
	return answer{res.StatusCode, res.Header, body}
}

const newest = "2026-07-28"

// rpc asks an endpoint in the era without a handshake.
func (c caller) rpc(path, method, name string, params map[string]any) answer {
	c.Helper()
	all := map[string]any{"_meta": map[string]any{
		mcp.MetaKeyProtocolVersion: newest, mcp.MetaKeyClientCapabilities: map[string]any{},
	}}
	for key, value := range params {
		all[key] = value
	}
	headers := []string{"Mcp-Protocol-Version", newest, "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	return c.send(http.MethodPost, path, encoded(c.T, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": all}), headers...)
}

// call calls a tool of an endpoint.
func (c caller) call(path, tool string, arguments map[string]any) answer {
	c.Helper()
	return c.rpc(path, "tools/call", tool, map[string]any{"name": tool, "arguments": arguments})
}

// sees are the names that list_tools shows.
func (c caller) sees() string {
	c.Helper()
	a := c.call("/mcp", "list_tools", map[string]any{"page_size": 100})
	var result struct {
		Result struct {
			Structured struct {
				Tools []struct {
					Name string `json:"qualified_name"`
				} `json:"tools"`
			} `json:"structuredContent"`
			Content []struct{ Text string } `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(a.body), &result); err != nil || a.status != http.StatusOK {
		return a.text()
	}
	if len(result.Result.Structured.Tools) == 0 && len(result.Result.Content) > 0 {
		if err := json.Unmarshal([]byte(result.Result.Content[0].Text), &result.Result.Structured); err != nil {
			return a.text()
		}
	}
	var names []string
	for _, t := range result.Result.Structured.Tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A session is one of the handshake era.
type session struct {
	caller
	id string
}

const older = "2025-06-18"

// initialize opens a session.
func (c caller) initialize(path string) session {
	c.Helper()
	a := c.send(http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	s := session{c, a.header.Get("Mcp-Session-Id")}
	if s.id == "" {
		c.Fatalf("no session: %s", a.text())
	}
	s.ask(path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// ask sends a message within the session.
func (s session) ask(path, message string) answer {
	s.Helper()
	return s.send(http.MethodPost, path, message, "Mcp-Session-Id", s.id, "Mcp-Protocol-Version", older)
}

const listRequest = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`

// stream opens the session's stream and sends on what comes by it, until it
// ends.
func (s session) stream(path string) <-chan string {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+s.listen+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	for key, value := range map[string]string{
		"Accept": "text/event-stream", "Authorization": "Bearer " + s.token, "Mcp-Session-Id": s.id, "Mcp-Protocol-Version": older,
	} {
		r.Header.Set(key, value)
	}
	res, err := s.client.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		s.Fatal(res, err)
	}
	sent := make(chan string, 100)
	go func() {
		defer close(sent)
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); { // how it ends does not matter
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				sent <- data
			}
		}
	}()
	return sent
}

// waits for the end of a stream.
func (w *world) waits(what string, sent <-chan string) {
	w.Helper()
	for timeout := time.After(time.Minute); ; {
		select {
		case _, more := <-sent:
			if !more {
				return
			}
		case <-timeout:
			w.Fatalf("never: %s", what)
		}
	}
}

// An owner is an MCP server that counts the runs of its tools.
type owner struct {
	url  string
	runs map[string]*atomic.Int64
}

// owning serves tools of these names, each with a description.
func owning(t *testing.T, tools map[string]string) owner {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "sample", Version: "1"}, nil)
	o := owner{runs: map[string]*atomic.Int64{}}
	for name, description := range tools {
		n := new(atomic.Int64)
		o.runs[name] = n
		s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				n.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + name}}}, nil
			})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	o.url = web.URL
	return o
}

// named are tools with a description each.
func named(names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		out[name] = "Work with the books: " + name
	}
	return out
}

// A token is a secret and the entry of its hash in a configuration.
type token struct{ secret, hash string }

func newToken() token {
	secret := auth.NewSecret()
	return token{secret, auth.HashToken(secret)}
}
