package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// overGateway serves the test catalog, with its gateway to change it by.
func overGateway(t testing.TB, o Options) (*Server, *gateway.Gateway) {
	t.Helper()
	g := gateway.New(gatewaytest.Open(t), verbatim, gateway.Options{})
	gatewaytest.Fill(t, g)
	o.View = gatewaytest.View
	s, err := New(g, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, g
}

// listAs has a server list tools of the names.
func listAs(t *testing.T, g *gateway.Gateway, server string, names ...string) {
	t.Helper()
	var l upstream.Listing
	for _, n := range names {
		l.Tools = append(l.Tools, json.RawMessage(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, n)))
	}
	if _, err := g.Sync(t.Context(), server, l); err != nil {
		t.Fatal(err)
	}
}

func namesOf(t *testing.T, c *mcp.ClientSession) (names []string) {
	t.Helper()
	for x, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, x.Name)
	}
	return names
}

// Clients are told when what they see changes, in a session or by a
// subscription, and then list what there is.
func TestListChanged(t *testing.T) {
	everywhere(t, func(t *testing.T, connect connectFunc, era string) {
		s, g := overGateway(t, Options{Native: true})
		told := make(chan struct{}, 100)
		c := connect(t, s, era, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }})
		if caps := c.InitializeResult(); era < gateway.StatelessEra && !caps.Capabilities.Tools.ListChanged {
			t.Error("listChanged is not announced")
		}
		if got := namesOf(t, c); !slices.Contains(got, "files__read_file") || slices.Contains(got, "vault__read_secret") {
			t.Errorf("it lists %v", got)
		}
		until(t, told, func(i int) {
			listAs(t, g, "vault", "read_secret", fmt.Sprint("secret_", i)) // which nobody sees
			listAs(t, g, "files", "read_file", "rename_file", fmt.Sprint("file_", i))
		})
		if got := namesOf(t, c); !slices.Contains(got, "files__rename_file") || slices.Contains(got, "files__write_file") {
			t.Errorf("after a change it lists %v", got)
		}
		until(t, told, func(int) {
			s.SetView(view.View{Scope: index.NewScope(func(t *index.Tool) bool { return t.Server == "vault" })})
		})
		if got := namesOf(t, c); !slices.Contains(got, "vault__read_secret") || slices.Contains(got, "files__rename_file") {
			t.Errorf("after a change of the view it lists %v", got)
		}
	})
}

// until makes changes until one is told: the SDK's client begins to listen in
// the background.
func until(t *testing.T, told chan struct{}, change func(i int)) {
	t.Helper()
	for i := 0; ; i++ {
		change(i)
		select {
		case <-told:
			return
		case <-t.Context().Done():
			t.Fatal("nothing is told")
		case <-time.After(time.Second):
		}
	}
}

// In the era without a handshake a list that may change is each caller's own
// and soon stale; before, nothing says so. The page after it has no meta-tools.
func TestNativeListOnTheWire(t *testing.T) {
	s, g := overGateway(t, Options{Native: true})
	var names []string
	for i := range 250 {
		names = append(names, fmt.Sprintf("tool_%03d", i))
	}
	listAs(t, g, "many", names...)
	srv := serveTest(t, s)
	list := func(era, params string) string {
		t.Helper()
		h := rawHeader(t, srv, era)
		h.Set("Mcp-Method", "tools/list")
		_, body := post(t, srv, h, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+params+`}}`)
		return body
	}
	newer, older := list(gateway.StatelessEra, statelessMeta), list("2025-11-25", "")
	for _, part := range []string{`"resultType":"complete"`, `"ttlMs":30000`, `"cacheScope":"private"`, `"io.modelcontextprotocol/serverInfo"`} {
		if !strings.Contains(newer, part) || strings.Contains(older, part) {
			t.Errorf("%s is to be in the first of\n%.300s\n%.300s", part, newer, older)
		}
	}
	raw := `{"name":"files__write_file",` + strings.SplitN(gatewaytest.Catalog["files"][1], ",", 2)[1]
	if !strings.Contains(newer, raw) || !strings.Contains(older, raw) || !strings.Contains(newer, `"name":"search_tools"`) {
		t.Errorf("%s is not in\n%s\n%s", raw, newer, older)
	}
	_, cursor, _ := strings.Cut(newer, `"nextCursor":"`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	second := list(gateway.StatelessEra, `"cursor":"`+cursor+`",`+statelessMeta)
	if !strings.Contains(second, `"many__tool_249"`) || strings.Contains(second, "search_tools") || strings.Contains(second, "nextCursor") {
		t.Errorf("the second page is %.500s", second)
	}
	if got := list(gateway.StatelessEra, `"cursor":"!",`+statelessMeta); !strings.Contains(got, `"code":-32602`) {
		t.Errorf("a bad cursor: %s", got)
	}
}

// A native call that is answered directly is as the SDK's way, and its headers
// have to repeat its arguments on both.
func TestNativeCallsOnTheWire(t *testing.T) {
	s, g := overGateway(t, Options{Native: true})
	if _, err := g.Sync(t.Context(), "geo", upstream.Listing{Tools: []json.RawMessage{json.RawMessage(
		`{"name":"at","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`)}}); err != nil {
		t.Fatal(err)
	}
	srv := serveTest(t, s)
	for _, tt := range []struct {
		name, arguments, region string
		status                  int
		want                    string
	}{
		{"files__read_file", `{"path":"x"}`, "", 200, `<a> & b`},
		{"files__read_file", `{}`, "", 200, `signature: files/read_file(path: string)`},
		{"geo__at", `{"region":"east"}`, "east", 200, `<a> & b`},
		{"geo__at", `{"region":"øst"}`, "=?base64?w7hzdA==?=", 200, `<a> & b`},
		{"geo__at", `{"region":"east"}`, "west", 400, `-32020`},
		{"geo__at", `{"region":"east"}`, "", 400, `-32020`},
		{"geo__at", `{}`, "east", 400, `-32020`},
	} {
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, tt.name, tt.arguments, statelessMeta)
		header := statelessHeader(tt.name)
		if tt.region != "" {
			header.Set("Mcp-Param-Region", tt.region)
		}
		direct, got := post(t, srv, header, message)
		header.Set("Accept", "text/event-stream, application/json")
		sdk, want := post(t, srv, header, message)
		if diff := cmp.Diff(want, got); diff != "" || direct.StatusCode != tt.status || sdk.StatusCode != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s %q: HTTP %d and %d, want %d with %s: %s", tt.name, tt.arguments, tt.region, direct.StatusCode, sdk.StatusCode, tt.status, tt.want, got)
		}
	}
}

// A hidden tool is answered as one that there is not, by whatever name, and
// only the operator is told.
func TestHiddenTools(t *testing.T) {
	var told accesses
	for _, tt := range []struct {
		options Options
		hidden  []string
	}{
		{Options{}, []string{"read_file", "files/read_file", "files__read_file", "vault__read_secret"}},
		{Options{Native: true}, []string{"vault__read_secret", "read_secret"}},
	} {
		tt.options.Auditor, tt.options.Endpoint = &told, "here"
		s, _ := overGateway(t, tt.options)
		srv := serveTest(t, s)
		for _, era := range eras {
			for _, name := range tt.hidden {
				h := rawHeader(t, srv, era)
				h.Set("Mcp-Method", "tools/call")
				ask := func(name string) (int, string) {
					h.Set(nameHeader, name)
					meta := ""
					if era == gateway.StatelessEra {
						meta = "," + statelessMeta
					}
					res, body := post(t, srv, h, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q%s}}`, name, meta))
					return res.StatusCode, body
				}
				unknown := strings.Repeat("u", len(name))
				status, got := ask(name)
				wantStatus, want := ask(unknown)
				if status != wantStatus || strings.ReplaceAll(got, name, unknown) != want || !strings.Contains(got, "unknown tool") {
					t.Errorf("%s %s: %d %s\nwant %d %s", era, name, status, got, wantStatus, want)
				}
				s.offer.probes.Flush()
				if got := told.take(); len(got) != 1 || got[0].Name != name || got[0].Origin.Endpoint != "here" || len(got[0].Tools) != 1 {
					t.Errorf("%s %s: told %+v", era, name, got)
				}
			}
		}
	}
}

// accesses are what an Auditor was told.
type accesses struct {
	mu   sync.Mutex // guards told
	told []HiddenAccess
}

func (a *accesses) HiddenToolAccess(h HiddenAccess) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, h)
}

func (a *accesses) take() []HiddenAccess {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := a.told
	a.told = nil
	return told
}

// Without an Auditor what is hidden and was called is logged, at the latest
// when serving ends.
func TestHiddenToolsAreLogged(t *testing.T) {
	var log bytes.Buffer
	s, _ := overGateway(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Endpoint: "here"})
	const call = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"vault__read_secret"}}`
	if got := answersOf(t, s, initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, call); !strings.Contains(got, "unknown tool") {
		t.Errorf("it is answered with %s", got)
	}
	if err := s.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := `msg=hidden_tool_access endpoint=here principal="" name=vault__read_secret tools=vault/read_secret`; !strings.Contains(log.String(), want) {
		t.Errorf("the log has not %s but %s", want, &log)
	}
}

const listens = `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + statelessMeta + `}}`

// A client that listens does not keep a server from ending.
func TestEndWhileSubscribed(t *testing.T) {
	for _, end := range []string{"the server", "the client"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := overGateway(t, Options{Native: true})
				in, client := io.Pipe()
				var out bytes.Buffer
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				began := time.Now()
				go func() { served <- s.ServeStdio(ctx, in, &out) }()
				if _, err := io.WriteString(client, listens+"\n"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if end == "the server" {
					stop()
				} else if err := client.Close(); err != nil {
					t.Fatal(err)
				}
				if err := <-served; err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("it ends after %v", took)
				}
				stop()
			})
		})
	}
}

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The same over HTTP, where there are so many at most.
func TestSubscriptionsOverHTTP(t *testing.T) {
	var log lockedBuffer
	s, _ := overGateway(t, Options{Native: true, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- hosted(s, HostOptions{MaxSessions: 1}).Serve(ctx, ln) }()
	listen := func(more string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+ln.Addr().String()+"/mcp", strings.NewReader(listens+more))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = statelessHeader("")
		req.Header.Del(nameHeader)
		req.Header.Set("Mcp-Method", "subscriptions/listen")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := listen("")
	for more, want := range map[string]int{"": http.StatusServiceUnavailable, strings.Repeat(" ", freeBody): http.StatusRequestEntityTooLarge} {
		if res := listen(more); res.StatusCode != want {
			t.Errorf("a second one: HTTP %s, want %d", res.Status, want)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(first.Body) // which ends
	if !strings.Contains(string(body), "subscriptions/acknowledged") {
		t.Errorf("the stream has %s", body)
	}
	if log.String() != "" {
		t.Errorf("the end is logged as %s", log.String())
	}
}

// A server's error about the client is the answer, however the call came; where
// progress may have been told it is the last event.
func TestNativeCallsRefused(t *testing.T) {
	calls := gatewaytest.Caller(func(_ context.Context, r upstream.Request) (upstream.Result, error) {
		return upstream.Result{Sent: true}, &upstream.CallError{Server: r.Server, Tool: r.Tool, Sent: true, Refused: true,
			Err: errors.New("sampling is not declared"), Code: mcp.CodeMissingRequiredClientCapabilities, Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	})
	g := gateway.New(gatewaytest.Open(t), calls, gateway.Options{})
	gatewaytest.Fill(t, g)
	s, err := New(g, Options{Native: true, View: gatewaytest.View})
	if err != nil {
		t.Fatal(err)
	}
	srv := serveTest(t, s)
	const want = `"error":{"code":-32021,"message":"sampling is not declared","data":{"requiredCapabilities":{"sampling":{}}}}`
	for _, tt := range []struct {
		meta, accept string
		status       int
	}{
		{statelessMeta, "application/json, text/event-stream", http.StatusBadRequest},
		{statelessMeta, "text/event-stream, application/json", http.StatusBadRequest},
		{strings.Replace(statelessMeta, `{`, `{"progressToken":1,`, 1), "application/json, text/event-stream", http.StatusOK},
	} {
		header := statelessHeader("github__search")
		header.Set("Accept", tt.accept)
		res, got := post(t, srv, header, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"github__search","arguments":{},`+tt.meta+`}}`)
		if res.StatusCode != tt.status || !strings.Contains(got, want) {
			t.Errorf("%s: HTTP %d: %s", tt.accept, res.StatusCode, got)
		}
	}
	_, got := post(t, srv, rawHeader(t, srv, "2025-11-25"), `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"github__search","arguments":{}}}`)
	if !strings.Contains(got, `"isError":true`) {
		t.Errorf("in a session: %s", got)
	}
}
