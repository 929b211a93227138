package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// largeResult serves results of size bytes; released gets a value when one is
// out of memory.
func largeResult(t *testing.T, size int) (srv *httptest.Server, g *Server, released chan struct{}) {
	t.Helper()
	released = make(chan struct{}, 1)
	raw := json.RawMessage(`{"resultType":"complete","content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`)
	g = newGateway(t, gatewaytest.Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
		return upstream.Result{Raw: raw, Protocol: gateway.StatelessEra, Sent: true, Released: func() { released <- struct{}{} }}, nil
	}), Options{})
	return serveTest(t, g), g, released
}

// rawPost sends a call of the tool over a connection whose reading the test
// decides.
func rawPost(t *testing.T, srv *httptest.Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"},` +
		`"options":{"include_metadata":false}},` + statelessMeta + `}}`
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n", len(body))
	for name, values := range statelessHeader("execute_tool") {
		fmt.Fprintf(c, "%s: %s\r\n", name, values[0])
	}
	fmt.Fprintf(c, "\r\n%s", body)
	return c
}

// A client that reads slowly gets a large answer whole, though it takes
// several times the deadline of a part.
func TestSlowReadersGetAllOfAnAnswer(t *testing.T) {
	const size = 16 << 20
	srv, g, released := largeResult(t, size)
	g.writeTimeout = 200 * time.Millisecond
	began := time.Now()
	res, err := http.ReadResponse(bufio.NewReader(rawPost(t, srv)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	n := int64(0)
	for err = nil; err == nil; <-pause.C {
		var part int64
		part, err = io.CopyN(io.Discard, res.Body, 512<<10)
		n += part
	}
	if err != io.EOF || n < size {
		t.Errorf("%d bytes, %v", n, err)
	}
	if took := time.Since(began); took < g.writeTimeout {
		t.Errorf("it took %v, which says nothing of the deadline", took)
	}
	<-released
}

// One that has stopped reading does not keep the answer in memory.
func TestAnswersThatNobodyReadsEnd(t *testing.T) {
	srv, g, released := largeResult(t, 16<<20)
	g.writeTimeout = 50 * time.Millisecond
	c := rawPost(t, srv)
	<-released
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Errorf("all %d bytes came", n)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	g := newGateway(t, nil, Options{MaxSessions: 2})
	srv := serveTest(t, g)
	h := rawHeader(t, srv, gateway.StatelessEra)
	h.Set("Mcp-Method", "subscriptions/listen")
	for open, want := range map[int64]int{0: http.StatusOK, 1: http.StatusOK, 2: http.StatusServiceUnavailable} {
		g.streams.Store(open)
		res, body := post(t, srv, h, `{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+statelessMeta+`}}`)
		if res.StatusCode != want || (res.Header.Get("Retry-After") != "") != (want != http.StatusOK) {
			t.Errorf("beside %d: %d %s", open, res.StatusCode, body)
		}
		if got := g.streams.Load(); got != open {
			t.Errorf("%d streams are counted after one beside %d", got, open)
		}
	}
}
