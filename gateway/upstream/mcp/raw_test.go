package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// rawEnv names the file with the rawServer that a re-executed test binary
// runs as.
const rawEnv = "TOOLDEX_TEST_RAW_SERVER"

// hostEnv names the file that runHost writes.
const hostEnv = "TOOLDEX_TEST_HOST"

func TestMain(m *testing.M) {
	if path := os.Getenv(rawEnv); path != "" {
		runRaw(path)
		return
	}
	if path := os.Getenv(hostEnv); path != "" {
		runHost(path)
	}
	// The tests mostly wait: for processes, back-offs and deadlines.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// exactTools and exactResult are what a typed decoder loses, spaces and the
// order of keys included.
var exactTools = []string{
	`{"name":"exact", "title":"Exact  <&>","icons":[{"src":"data:image/png;base64,AA==","sizes":["48x48"]}],"description":"d\u00e9j\u00e0 \/ vu","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890123}},"x-unknown":1.0},"outputSchema":{"type":"object"},"execution":{"taskSupport":"optional"},"annotations":{"title":"t","readOnlyHint":true,"x":null},"_meta":{"a/b":[1e400,  2]},"unknownKey":{"z":1,"a":2}}`,
	`{"name":"echo","inputSchema":{"type":"object"}}`,
	`{"inputSchema":true,"name":"bare"}`,
}

const exactResult = `{"content":[{"type":"text","text":"a<b>&\u2028","annotations":{"audience":["user"],"x":1}},{"type":"hologram","data":[1,  2]},{"type":"image","data":"AA==","mimeType":"image/png","_meta":{"k":1.0}}],"structuredContent":{"id":12345678901234567890,"f":1.10,"nested":{"z":1,"a":2}},"isError":false,"_meta":{"vendor/x":9007199254740993,"io.modelcontextprotocol/serverInfo":{"name":"raw","version":"1"}},"unknown":[ ]}`

// A rawServer is a hand-written MCP server that says exactly what it is told
// to, over any transport.
type rawServer struct {
	Version  string // protocol version; from 2026-07-28 on it answers server/discover
	Name     string
	Manual   string     // added to its instructions
	Tools    []string   // tool objects; nil means exactTools
	Pages    [][]string // instead of Tools
	Repeat   bool       // tools/list gives the same cursor for ever
	Blank    bool       // the cursor of its second page is an empty string
	Discover string     // "exit" or "silent" instead of answering server/discover
	Start    string     // "exit", "silent", "garbage", "babble" at start
	TTL      int        // ttlMs of tools/list
	NoList   bool       // tools/list is not known
	Mute     string     // a method that is never answered
	Stream   bool       // over HTTP: answers are event streams
	Session  bool       // over HTTP: sessions are required
	Listen   bool       // offers listChanged
	Stubborn bool       // does not end with stdin

	mu       sync.Mutex
	log      []string // methods received, or whole messages of interest
	sessions int
	cancels  chan json.RawMessage
	events   chan string // sent on listen, GET and SSE streams
	cut      chan struct{}
	srv      *httptest.Server // over HTTP
}

type rawMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (r *rawServer) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, text)
}

// seen returns the messages that contain text.
func (r *rawServer) seen(text string) (found []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.log {
		if strings.Contains(m, text) {
			found = append(found, m)
		}
	}
	return found
}

// handle answers one message through send, "" when it has no answer.
func (r *rawServer) handle(ctx context.Context, line []byte, send func(string)) {
	var m rawMessage
	if json.Unmarshal(line, &m) != nil {
		return
	}
	r.note(string(line))
	reply := func(result string) { send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)) }
	refuse := func(code int, text string) {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"big":12345678901234567890}}}`, m.ID, code, text))
	}
	if m.Method == r.Mute {
		<-ctx.Done()
		return
	}
	capabilities := fmt.Sprintf(`{"tools":{"listChanged":%t}}`, r.Listen)
	switch m.Method {
	case "server/discover":
		switch {
		case r.Discover == "exit":
			os.Exit(3)
		case r.Discover == "silent":
		case r.Version < wire.Stateless:
			refuse(-32601, "method not found")
		default:
			reply(fmt.Sprintf(`{"supportedVersions":[%q],"capabilities":%s,"instructions":%q,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":%q,"version":"1"}}}`, r.Version, capabilities, "raw"+r.Manual, r.Name))
		}
	case "initialize":
		reply(fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":%q,"version":"1"},"instructions":%q}`, r.Version, capabilities, r.Name, "raw"+r.Manual))
	case "tools/list":
		if r.NoList {
			refuse(-32601, "method not found")
			return
		}
		reply(r.page(m.Params))
	case "tools/call":
		r.call(ctx, m, reply, refuse, send)
	case "notifications/cancelled":
		select {
		case r.cancels <- m.Params:
		default:
		}
	}
}

func (r *rawServer) page(params json.RawMessage) string {
	var p struct{ Cursor *string }
	_ = json.Unmarshal(params, &p)
	pages := r.Pages
	if pages == nil {
		pages = [][]string{r.Tools}
		if r.Tools == nil {
			pages[0] = exactTools
		}
	}
	n := 0
	if p.Cursor != nil && *p.Cursor == "" {
		n = 1
	} else if p.Cursor != nil {
		fmt.Sscanf(*p.Cursor, "page-%d", &n)
	}
	next := ""
	if n+1 < len(pages) {
		next = fmt.Sprintf(`,"nextCursor":"page-%d"`, n+1)
	}
	switch {
	case r.Blank && n == 0:
		next = `,"nextCursor":""`
	case r.Repeat:
		next = `,"nextCursor":"page-0"`
	}
	return fmt.Sprintf(`{"tools":[%s]%s,"ttlMs":%d}`, strings.Join(pages[n], ", "), next, r.TTL)
}

// runRaw serves stdio until stdin ends.
func runRaw(path string) {
	var r rawServer
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		panic(err)
	}
	r.cancels = make(chan json.RawMessage, 8)
	out := bufio.NewWriter(os.Stdout)
	var mu sync.Mutex
	send := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		out.WriteString(line + "\n")
		out.Flush()
	}
	switch r.Start {
	case "exit":
		fmt.Fprintln(os.Stderr, "raw: cannot find my config")
		os.Exit(5)
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "cut":
		fmt.Print(`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 9<<20))
		os.Exit(9)
	case "garbage":
		send("Listening on stdio…")
		send("{ not json")
		send("[]")
		send("")
	case "chatter":
		for {
			send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("chatter ", 1000) + `"}}`)
		}
	case "babble":
		line := strings.Repeat("babble ", 1000)
		for {
			send(line)
		}
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if r.Stubborn {
				select {}
			}
			return
		}
		go r.handle(context.Background(), line, send)
	}
}

// stdioSpec is the Spec of r as a child process that is kept running.
func stdioSpec(t testing.TB, r *rawServer) Spec {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "raw.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return Spec{Name: "raw", Command: exe, Env: map[string]string{rawEnv: path}, Eager: true}
}

// serveHTTP serves r as streamable HTTP and returns its Spec.
func serveHTTP(t testing.TB, r *rawServer) (Spec, *httptest.Server) {
	t.Helper()
	r.cancels, r.events, r.cut = make(chan json.RawMessage, 8), make(chan string, 8), make(chan struct{}, 8)
	srv := httptest.NewServer(http.HandlerFunc(r.streamable))
	t.Cleanup(srv.Close)
	r.srv = srv
	return Spec{Name: "raw", Type: "http", URL: srv.URL}, srv
}

func (r *rawServer) streamable(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var m rawMessage
	_ = json.Unmarshal(body, &m)
	session := req.Header.Get("Mcp-Session-Id")
	r.mu.Lock()
	current := fmt.Sprintf("s%d", r.sessions)
	r.mu.Unlock()
	r.note(fmt.Sprintf("HEADER %s %s", m.Method, headerText(req.Header)))
	switch {
	case req.Method == http.MethodDelete:
		r.note("DELETE " + session)
		return
	case req.Method == http.MethodGet && !r.Listen:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case req.Method == http.MethodGet, m.Method == "subscriptions/listen":
		r.note("STREAM " + string(body))
		r.stream(w, req)
		return
	case r.Session && m.Method != "initialize" && session != current:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`)
		return
	case m.Method == "initialize" && r.Session:
		w.Header().Set("Mcp-Session-Id", current)
	}
	if _, text, ok := strings.Cut(string(m.Params), `"name":"http-`); ok {
		status, _ := strconv.Atoi(text[:3])
		w.WriteHeader(status)
		fmt.Fprint(w, "as you wish")
		return
	}
	if len(m.ID) == 0 {
		r.handle(req.Context(), body, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if r.Stream {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		r.handle(req.Context(), body, func(text string) { writeEvent(w, text) })
		return
	}
	w.Header().Set("Content-Type", "application/json")
	r.handle(req.Context(), body, func(text string) { io.WriteString(w, text) })
}

func headerText(h http.Header) string {
	text, _ := json.Marshal(h)
	return string(text)
}

func writeEvent(w http.ResponseWriter, data string) {
	fmt.Fprintf(w, ": a comment\nevent: message\ndata: %s\n\n", data)
	w.(http.Flusher).Flush()
}

// stream sends r.events until r.cut.
func (r *rawServer) stream(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	for {
		select {
		case text := <-r.events:
			writeEvent(w, text)
		case <-r.cut:
			return
		case <-req.Context().Done():
			return
		}
	}
}

// serveSSE serves r as legacy HTTP+SSE and returns its Spec.
func serveSSE(t testing.TB, r *rawServer) Spec {
	t.Helper()
	r.cancels, r.events, r.cut = make(chan json.RawMessage, 8), make(chan string, 8), make(chan struct{}, 8)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages?session=1\n\n")
		r.stream(w, req)
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.WriteHeader(http.StatusAccepted)
		go r.handle(t.Context(), body, func(text string) { r.events <- text })
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	r.srv = srv
	return Spec{Name: "raw", Type: "sse", URL: srv.URL}
}

// start runs a Set of the specs until the test ends.
func start(t testing.TB, o Options, specs ...Spec) *Set {
	t.Helper()
	s, err := NewSet(specs, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(hangTime):
			t.Error("Run has not returned after its context ended")
		}
	})
	return s
}

// hangTime bounds waits that end by themselves: it is reached by what hangs,
// and not by a machine with much else to do and the race detector on.
const hangTime = 3 * time.Minute

// within bounds one wait of a test.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
