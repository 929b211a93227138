package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
)

func statelessHeader(tool string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set(versionHeader, gateway.StatelessEra)
	h.Set("Mcp-Method", "tools/call")
	h.Set(nameHeader, tool)
	return h
}

// readPlain reads a message as post does.
func readPlain(h http.Header, raw, protocol string) (*directCall, bool) {
	m, wrong := readMessage([]byte(raw))
	if wrong != nil || m.refusal(protocol) != nil {
		return nil, false
	}
	return readDirect(h, m, protocol)
}

const plainTriple = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// A client cannot tell a direct call from one that the SDK answers, to which
// another order in the Accept header sends it.
func TestDirectCallsAreAnsweredAsBefore(t *testing.T) {
	calls := gatewaytest.Caller(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
		if r.Progress != nil {
			r.Progress(upstream.Progress{Progress: 1, Total: 3, Message: "<one>", Meta: map[string]json.RawMessage{"v/x": json.RawMessage(`"<one>"`)}})
			r.Progress(upstream.Progress{Progress: 2})
		}
		if r.Meta["ask"] != nil {
			if !strings.Contains(string(r.Capabilities), "elicitation") {
				t.Error("the elicitation capability is lost")
			}
			return upstream.Result{Protocol: gateway.StatelessEra, Sent: true, Raw: json.RawMessage(
				`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}},"requestState":"s"}`)}, nil
		}
		return upstream.Result{Raw: json.RawMessage(strings.Replace(awkward, ",", ",\n ", 1)), Protocol: gateway.StatelessEra, Sent: true}, nil
	})
	srv := httptest.NewServer(hosted(newGateway(t, calls, Options{}), HostOptions{}).Handler())
	defer srv.Close()
	const untouched = `{"tool_name":"read_file","arguments":{"path":"x"},"options":{"include_metadata":false}}`
	for _, tt := range []struct{ name, tool, params string }{
		{"search", "search_tools", `"arguments":{"query":"read a <file>"},"_meta":{` + plainTriple + `}`},
		{"an error", "describe_tool", `"arguments":{"tool_name":"none"},"_meta":{` + plainTriple + `}`},
		{"no arguments", "list_tools", `"_meta":{` + plainTriple + `}`},
		{"bytes", "execute_tool", `"arguments":` + untouched + `,"_meta":{` + plainTriple + `}`},
		{"progress", "execute_tool", `"arguments":` + untouched + `,"_meta":{"progressToken":"p<7>",` + plainTriple + `}`},
		{"numbered progress", "execute_tool", `"arguments":` + untouched + `,"_meta":{"progressToken":7,` + plainTriple + `}`},
		{"input", "execute_tool", `"arguments":` + untouched + `,"_meta":{"ask":true,"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,%s}}`, 2, tt.tool, tt.params)
			header := statelessHeader(tt.tool)
			if _, ok := readPlain(header, message, gateway.StatelessEra); !ok {
				t.Fatal("the call is not direct")
			}
			direct, got := post(t, srv, header, message)
			header.Set("Accept", "text/event-stream, application/json")
			if _, ok := readPlain(header, message, gateway.StatelessEra); ok {
				t.Fatal("the other call is direct, too")
			}
			sdk, want := post(t, srv, header, message)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if direct.StatusCode != sdk.StatusCode {
				t.Errorf("HTTP %s, want %s", direct.Status, sdk.Status)
			}
			for _, name := range []string{"Content-Type", "Cache-Control", "X-Accel-Buffering"} {
				if got, want := direct.Header.Get(name), sdk.Header.Get(name); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
		})
	}
}

// The same in a session, where progress and bytes are those of the era.
func TestDirectCallsInASession(t *testing.T) {
	calls := gatewaytest.Caller(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
		if r.Progress != nil {
			r.Progress(upstream.Progress{Progress: 1, Total: 3, Message: "<one>", Meta: map[string]json.RawMessage{"v/x": json.RawMessage(`"<one>"`)}})
		}
		return upstream.Result{Raw: json.RawMessage(awkward), Protocol: gateway.StatelessEra, Sent: true}, nil
	})
	g := newGateway(t, calls, Options{})
	srv := serveTest(t, g)
	header := rawHeader(t, srv, "2025-11-25")
	for _, params := range []string{
		`"name":"search_tools","arguments":{"query":"read a <file>"}`, `"name":"describe_tool","arguments":{"tool_name":"none"},"_meta":{}`,
		`"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"},"options":{"include_metadata":false}},"_meta":{"progressToken":7}`,
	} {
		message := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + params + `}}`
		if _, ok := readPlain(header, message, "2025-11-25"); !ok {
			t.Fatalf("%s is not direct", message)
		}
		_, got := post(t, srv, header, message)
		other := header.Clone()
		other.Set("Accept", "text/event-stream, application/json")
		_, want := post(t, srv, other, message)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// A call in a session ends with its cancellation or with the session, not
// with the connection that it came on.
func TestDirectCallsEndWithTheSession(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"}}}}`
	for name, end := range map[string]func(t *testing.T, g *Server, srv *httptest.Server, h http.Header){
		"cancelled": func(t *testing.T, _ *Server, srv *httptest.Server, h http.Header) {
			other := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}`
			if res, _ := post(t, srv, h, other); res.StatusCode != http.StatusAccepted {
				t.Errorf("HTTP %s", res.Status)
			}
			if res, _ := post(t, srv, h, strings.Replace(other, `"b"`, `"a"`, 1)); res.StatusCode != http.StatusAccepted {
				t.Errorf("HTTP %s", res.Status)
			}
		},
		"deleted": func(t *testing.T, _ *Server, srv *httptest.Server, h http.Header) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, srv.URL+"/mcp", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = h.Clone()
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newGate()
			g := newGateway(t, w, Options{})
			srv := serveTest(t, g)
			header := rawHeader(t, srv, "2025-11-25")
			ctx, hangUp := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/mcp", strings.NewReader(call))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = header.Clone()
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if res, err := srv.Client().Do(req); err == nil {
					res.Body.Close()
				}
			}()
			<-w.entered
			hangUp()
			<-gone
			select {
			case err := <-w.ended:
				t.Fatalf("the call ended with its connection: %v", err)
			default:
			}
			end(t, g, srv, header)
			if err := <-w.ended; err == nil {
				t.Error("the call was not cancelled")
			}
		})
	}
}

// The SDK closes sessions that it does not see, so it sees a call now and
// then; and of two calls with one id it sees the second.
func TestDirectCallsLetTheSDKSeeTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions(1)
		if _, ok := s.open(nil); !ok {
			t.Fatal("no room")
		}
		key := sessionKey{id: "s"}
		s.opened(key, nil)
		cancel := func() {}
		ended, ok := s.begin(key, "1", cancel)
		if !ok {
			t.Fatal("a call in a fresh session is not direct")
		}
		if _, ok := s.begin(key, "1", cancel); ok {
			t.Error("a second call with the id is direct")
		}
		ended()
		if _, ok := s.begin(sessionKey{id: "none"}, "1", cancel); ok {
			t.Error("a call in no session is direct")
		}
		time.Sleep(seenEvery + 1)
		if _, ok := s.begin(key, "1", cancel); ok {
			t.Error("a call is direct in a session that the SDK has not seen for long")
		}
		s.use(key, http.MethodPost)()
		if _, ok := s.begin(key, "1", cancel); !ok {
			t.Error("a call is not direct in a session that the SDK has just seen")
		}
	})
}

// What is not plainly a call of the era without a handshake is left to the
// SDK.
func TestDirectCallsArePlain(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"list_tools","arguments":{},"_meta":{` + plainTriple + `}}}`
	if _, ok := readPlain(statelessHeader("list_tools"), message, gateway.StatelessEra); !ok {
		t.Fatal("a plain call is not direct")
	}
	for _, header := range [][2]string{
		{versionHeader, "2027-01-01"}, {versionHeader, "2025-11-25"}, {"Mcp-Method", ""}, {"Mcp-Method", "tools/list"},
		{nameHeader, "search_tools"}, {nameHeader, ""}, {"Accept", "application/json"}, {"Content-Type", "text/plain"},
	} {
		h := statelessHeader("list_tools")
		h.Set(header[0], header[1])
		if _, ok := readPlain(h, message, gateway.StatelessEra); ok {
			t.Errorf("%s: %s is direct", header[0], header[1])
		}
	}
	for _, change := range [][2]string{
		{`"2.0"`, `"1.0"`}, {`"id":"a",`, ``}, {`"id":"a"`, `"id":null`}, {`"id":"a"`, `"id":[]`}, {`"method"`, `"Method"`}, {`"params"`, `"Params"`}, {`"_meta"`, `"Meta"`},
		{`"arguments":{}`, `"arguments":{},"inputResponses":[]`}, {`"arguments":{}`, `"requestState":7`}, {`"name":"list_tools"`, `"name":7`},
		{`"2026-07-28"`, `"2025-11-25"`}, {`"2026-07-28"`, `7`}, {`clientCapabilities":{}`, `clientCapabilities":null`},
		{`clientCapabilities":{}`, `clientCapabilities":{"elicitation":7}`}, {`clientCapabilities`, `clientcapabilities`},
		{`"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":7,`}, {`"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":null,`},
		{`"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`}, {`"_meta":{`, `"_meta":{"progressToken":[1],`},
		{`"arguments":{}`, `"arguments":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001)},
		{`{"jsonrpc"`, `[{"jsonrpc"`}, {`}}}`, `}}`},
	} {
		odd := strings.Replace(message, change[0], change[1], 1)
		if odd == message {
			t.Fatalf("%s is not in the message", change[0])
		}
		if _, ok := readPlain(statelessHeader("list_tools"), odd, gateway.StatelessEra); ok {
			t.Errorf("%s is direct", odd[:min(len(odd), 300)])
		}
	}
}
func TestEventsAreOneLine(t *testing.T) {
	for message, want := range map[string]string{
		`{"a": 1}`:           "event: message\ndata: {\"a\": 1}\n\n",
		"{\"a\":\r\n [ 1 ]}": "event: message\ndata: {\"a\":[1]}\n\n",
	} {
		w := httptest.NewRecorder()
		if err := writeEvent(w, []byte(message)); err != nil || w.Body.String() != want {
			t.Errorf("%q is written as %q, %v, want %q", message, w.Body, err, want)
		}
	}
}
