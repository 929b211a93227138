package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/stdio"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// A slowServer is a process in a bubble of fake time. It reads its first
// message once delay has passed.
type slowServer struct {
	delay  time.Duration
	modern bool          // refuses initialize after server/discover, else it is of 2025-11-25
	dual   bool          // a modern one that takes initialize when it comes first
	mute   bool          // an older one that does not answer what it does not know
	chatty bool          // writes a line as it starts
	exit   string        // a method on which it ends
	slow   time.Duration // until a call is answered
	ended  func()        // told of the end, if it is not nil
	starts int
}

func (s *slowServer) start(stdio.Command, *slog.Logger) (*stdio.Process, error) {
	s.starts++
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	exited := make(chan struct{})
	go func() {
		defer func() {
			in.Close()
			out.Close()
			if s.ended != nil {
				s.ended()
			}
			close(exited)
		}()
		if s.chatty {
			fmt.Fprintln(out, "downloading")
		}
		lines, left := make(chan string, 8), make(chan struct{})
		go func() {
			defer close(left)
			defer close(lines)
			for r := bufio.NewScanner(in); r.Scan(); {
				lines <- r.Text()
			}
		}()
		select {
		case <-time.After(s.delay):
		case <-left:
			return
		}
		locked := ""
		for line := range lines {
			var m rawMessage
			_ = json.Unmarshal([]byte(line), &m)
			if m.Method == s.exit {
				return
			}
			if locked == "" {
				locked = m.Method
			}
			if m.Method == "tools/call" {
				<-time.After(s.slow)
			}
			if reply := s.answer(m, locked); reply != "" {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, reply)
			}
		}
	}()
	return stdio.Attach(stdin, stdout, exited), nil
}

func (s *slowServer) answer(m rawMessage, locked string) string {
	switch {
	case m.Method == "server/discover" && s.modern:
		return `"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}`
	case m.Method == "initialize" && s.modern && (!s.dual || locked != "initialize"):
		return `"error":{"code":-32022,"message":"this connection is of 2026-07-28","data":{"supported":["2026-07-28"]}}`
	case m.Method == "initialize":
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"slow","version":"1"}}`
	case s.mute || len(m.ID) == 0:
		return ""
	}
	return `"error":{"code":-32601,"message":"method not found"}`
}

// dialSlow connects to s in fake time.
func dialSlow(t *testing.T, s *slowServer, known Era) (version string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		d := dialer{
			spec: Spec{Name: "slow", Command: "slow"}, log: log, client: &mcp.Implementation{Name: "t", Version: "1"},
			garbage: func(string) {}, connectTimeout: time.Minute, discoverTimeout: 10 * time.Second, start: s.start,
		}
		var c *conn
		if c, err = d.dial(t.Context(), known); err == nil {
			version = c.version()
			c.close()
		}
		time.Sleep(time.Hour) // fake time: for what is left of an ended process
	})
	return version, err
}

func TestSlowServersKeepTheirEra(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{0, 9, 11, 40, 59} {
		delay *= time.Second
		for name, c := range map[string]struct {
			s       slowServer
			version string
			starts  int
		}{
			"modern":                {slowServer{modern: true}, wire.Stateless, 1},
			"modern, chatty":        {slowServer{modern: true, chatty: true}, wire.Stateless, 1},
			"dual, chatty":          {slowServer{modern: true, dual: true, chatty: true}, wire.Stateless, 1},
			"old":                   {slowServer{}, wire.Handshake, 1},
			"old, chatty":           {slowServer{chatty: true}, wire.Handshake, 1},
			"old and mute, chatty":  {slowServer{mute: true, chatty: true}, wire.Handshake, 1},
			"old, ends on discover": {slowServer{exit: "server/discover"}, wire.Handshake, 2},
		} {
			t.Run(fmt.Sprintf("%s after %v", name, delay), func(t *testing.T) {
				c.s.delay = delay
				version, err := dialSlow(t, &c.s, Era{})
				if err != nil || version != c.version || c.s.starts != c.starts {
					t.Errorf("got %q in %d starts, error %v; want %q in %d", version, c.s.starts, err, c.version, c.starts)
				}
			})
		}
	}
}

func TestErasThatTakeAnotherStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s       slowServer
		known   Era
		version string
		starts  int
	}{
		"old, says nothing to discover":          {slowServer{mute: true}, Era{}, wire.Handshake, 2},
		"old, known":                             {slowServer{mute: true}, Era{Transport: "stdio", Version: wire.Handshake}, wire.Handshake, 1},
		"modern, known as old":                   {slowServer{modern: true}, Era{Transport: "stdio", Version: wire.Handshake}, wire.Stateless, 2},
		"modern, known as such, chatty and slow": {slowServer{modern: true, chatty: true, delay: 50 * time.Second}, Era{Transport: "stdio", Version: wire.Stateless}, wire.Stateless, 1},
		"old, known as modern":                   {slowServer{}, Era{Transport: "stdio", Version: wire.Stateless}, wire.Handshake, 1},
		"of another transport once":              {slowServer{}, Era{Transport: "http", Version: wire.Handshake}, wire.Handshake, 1},
	} {
		t.Run(name, func(t *testing.T) {
			version, err := dialSlow(t, &c.s, c.known)
			if err != nil || version != c.version || c.s.starts != c.starts {
				t.Errorf("got %q in %d starts, error %v; want %q in %d", version, c.s.starts, err, c.version, c.starts)
			}
		})
	}
	_, err := dialSlow(t, &slowServer{modern: true, delay: 2 * time.Minute}, Era{})
	wantError(t, err, "no answer within 1m0s, which start_timeout can raise")
}

// noteEras is a Memory.
type noteEras struct {
	mu   sync.Mutex // guards eras
	eras map[string]Era
}

func (n *noteEras) Recall(name, source string) Era {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.eras[name+source]
}

func (n *noteEras) Remember(name, source string, e Era) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.eras == nil {
		n.eras = map[string]Era{}
	}
	n.eras[name+source] = e
}

func TestEraOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: "2025-11-25", Name: "old"}
	sp, _ := serveHTTP(t, r)
	memory := &noteEras{}
	for range 2 {
		s := start(t, Options{Memory: memory}, sp)
		mustCall(t, s, "raw", "exact")
	}
	if n := len(r.seen("HEADER server/discover")); n != 1 {
		t.Errorf("got %d server/discover from two processes, want 1", n)
	}
	if got, want := memory.Recall("raw", sp.Source()), (Era{"http", wire.Handshake, "old 1"}); got != want {
		t.Errorf("remembered %+v, want %+v", got, want)
	}
	sp.Headers = map[string]string{"X": "y"}
	mustCall(t, start(t, Options{Memory: memory}, sp), "raw", "exact")
	if n := len(r.seen("HEADER server/discover")); n != 2 {
		t.Errorf("got %d server/discover after the configuration changed, want 2", n)
	}
}

// odd serves r over HTTP but for the answers to one method.
func odd(t *testing.T, r *rawServer, method string, answer func(w http.ResponseWriter, req *http.Request)) Spec {
	t.Helper()
	r.cancels, r.events, r.cut = make(chan json.RawMessage, 8), make(chan string, 8), make(chan struct{}, 8)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if !strings.Contains(string(body), `"`+method+`"`) {
			req.Body = io.NopCloser(strings.NewReader(string(body)))
			r.streamable(w, req)
			return
		}
		r.note("HEADER " + method + " answered oddly")
		answer(w, req)
	}))
	t.Cleanup(srv.Close)
	return Spec{Name: "raw", Type: "http", URL: srv.URL}
}

// stall sends the head of an answer and the beginning of its body.
func stall(kind, begin string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, begin)
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}
}

func TestDiscoverThatStallsInItsBody(t *testing.T) {
	t.Parallel()
	for kind, begin := range map[string]string{"application/json": `{"json`, "text/event-stream": "event: message\ndata: {"} {
		r := &rawServer{Version: "2025-11-25"}
		s := start(t, Options{DiscoverTimeout: 100 * time.Millisecond}, odd(t, r, "server/discover", stall(kind, begin)))
		if got := mustCall(t, s, "raw", "exact").Protocol; got != "2025-11-25" {
			t.Errorf("%s: got protocol %s", kind, got)
		}
	}
}

func TestListenIsOptional(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"endless JSON": stall("application/json", `{"jsonrpc":"2.0",`),
		"not found":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"error": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rawServer{Version: wire.Stateless, Listen: true}
			s := start(t, Options{}, odd(t, r, "subscriptions/listen", answer))
			if got := mustCall(t, s, "raw", "exact").Protocol; got != wire.Stateless {
				t.Errorf("got protocol %s", got)
			}
			if _, err := s.Refresh(within(t, hangTime), "raw"); err != nil {
				t.Error(err)
			}
			if st := s.Status()[0]; st.Restarts != 0 || st.State != upstream.Ready {
				t.Errorf("got status %+v", st)
			}
		})
	}
}

func TestDiscoverTurnedAway(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"unauthorized":      {status(401, "who?"), "HTTP 401 Unauthorized: who?: it wants a login"},
		"forbidden":         {status(403, ""), "HTTP 403 Forbidden: it wants a login"},
		"no common version": {status(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2027-01-01"]}}}`), "no common protocol version: the server speaks 2027-01-01, tooldex 2024-11-05"},
		"none in the result": {status(200, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2027-01-01"],"capabilities":{}}}`),
			"no common protocol version: the server speaks 2027-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rawServer{Version: "2025-11-25"}
			s := start(t, Options{}, odd(t, r, "server/discover", c.answer))
			_, err := s.Refresh(within(t, hangTime), "raw")
			wantError(t, err, c.want)
			if n := len(r.seen("HEADER initialize")); n != 0 {
				t.Errorf("initialize was sent %d times", n)
			}
		})
	}
	t.Run("no common version on stdio", func(t *testing.T) {
		s := start(t, Options{}, stdioSpec(t, &rawServer{Version: "2027-01-01"}))
		_, err := s.Refresh(within(t, hangTime), "raw")
		wantError(t, err, "no common protocol version: the server speaks 2027-01-01")
	})
	for _, code := range []int{500, 503, 429} {
		t.Run(fmt.Sprint(code, " does not stick"), func(t *testing.T) {
			memory := &noteEras{}
			sp := odd(t, &rawServer{Version: "2025-11-25"}, "server/discover", status(code, "busy"))
			mustCall(t, start(t, Options{Memory: memory}, sp), "raw", "exact")
			if got := memory.Recall("raw", sp.Source()); got.Version != "" {
				t.Errorf("remembered %+v from a server that had failed", got)
			}
		})
	}
}

func TestModernServerKnownAsOldOverHTTP(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: wire.Stateless}
	sp := odd(t, r, "initialize", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}`)
	})
	memory := &noteEras{}
	memory.Remember("raw", sp.Source(), Era{Transport: "http", Version: wire.Handshake, Server: "raw 0"})
	s := start(t, Options{Memory: memory}, sp)
	if got := mustCall(t, s, "raw", "exact").Protocol; got != wire.Stateless {
		t.Errorf("got protocol %s", got)
	}
}

func TestRefusalsOfInitialize(t *testing.T) {
	t.Parallel()
	if wire.RefusesHandshake(errors.New("gone")) || wire.RefusesHandshake(context.Canceled) {
		t.Error("an error of the connection was taken for one of the server")
	}
}
