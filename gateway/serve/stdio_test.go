package serve

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// answersOf serves the lines over stdio and returns the lines that come back.
func answersOf(t *testing.T, g *Server, lines ...string) string {
	t.Helper()
	var out bytes.Buffer
	in := io.NopCloser(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	if err := g.ServeStdio(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestStdioAnswersOddMessages(t *testing.T) {
	const initialize2025 = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for _, tt := range []struct{ line, want, not string }{
		{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`, ``},
		{`[1]`, `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600`, ``},
		{`[1,{"jsonrpc":"2.0","id":5,"method":"foo"}]`, `"id":5,"error":{"code":-32601`, ``},
		{`[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`, `[{"jsonrpc":"2.0","id":5,"result":{}}]`, ``},
		{`[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":5,"method":"ping"}]`, `its id is in use`, ``},
		{`[{"jsonrpc":"2.0","method":"notifications/foo"}]`, ``, `[`},
		{`[` + strings.Repeat(`1,`, maxBatch-1) + `{"jsonrpc":"2.0","id":5,"method":"ping"}]`, `{"jsonrpc":"2.0","id":5,"result":{}}]`, `at most`},
		{`[` + strings.Repeat(`1,`, maxBatch) + `{"jsonrpc":"2.0","id":5,"method":"ping"}]`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: a batch of 101 messages, of at most 100`, `"id":5`},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `"id":null,"error":{"code":-32600`, ``},
		{`{"jsonrpc":"2.0","id":5,"method":"resources/list"}`, `"id":5,"error":{"code":-32601`, ``},
		{`{"jsonrpc":"2.0","id":5,"method":"prompts/list","params":{` + statelessMeta + `}}`, `"id":5,"error":{"code":-32601`, ``},
		{`{"jsonrpc":"2.0","id":5,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}`, `"code":-32022`, ``},
		{`{"jsonrpc":"2.0","method":"notifications/tasks/status"}`, ``, `error`},
	} {
		got := answersOf(t, newGateway(t, nil, Options{}), initialize2025, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, tt.line, ping)
		rest := strings.Replace(got, `"capabilities"`, "", 1)
		if !strings.Contains(rest, tt.want) || tt.not != "" && strings.Contains(rest[strings.IndexByte(rest, '\n'):], tt.not) {
			t.Errorf("%s: got %s", tt.line, got)
		}
		if !strings.Contains(got, `{"jsonrpc":"2.0","id":2,"result":{}}`) {
			t.Errorf("%s: the session ended: %s", tt.line, got)
		}
	}
	if got := answersOf(t, newGateway(t, nil, Options{}), initialize, `[`+ping+`]`); !strings.Contains(got, "has no batches") {
		t.Errorf("a batch at 2025-11-25: %s", got)
	}
	if got := answersOf(t, newGateway(t, nil, Options{}), `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`); !strings.Contains(got, `"id":4,"error":{"code":-32600`) {
		t.Errorf("a call before initialize: %s", got)
	}
}

// The response to a cancelled call is not sent.
func TestStdioDropsCancelledResponses(t *testing.T) {
	w := newGate()
	g := newGateway(t, w, Options{})
	in, feed := io.Pipe()
	out, answers := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- g.ServeStdio(context.Background(), in, answers)
		answers.Close()
	}()
	go io.WriteString(feed, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"}},`+statelessMeta+"}}\n")
	<-w.entered
	go func() {
		io.WriteString(feed, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n")
		<-w.ended
		io.WriteString(feed, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{`+statelessMeta+"}}\n")
		feed.Close()
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxBody)
	n := 0
	for lines.Scan() {
		if n++; !strings.Contains(lines.Text(), `"id":3`) {
			t.Errorf("got %s", lines.Text())
		}
	}
	if err := <-served; err != nil || n != 1 {
		t.Errorf("%d answers, %v", n, err)
	}
}

// Whatever an upstream says, what goes out is UTF-8.
func TestAnswersAreUTF8(t *testing.T) {
	bad := gatewaytest.Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
		return upstream.Result{Raw: []byte(`{"content":[{"type":"image","data":"a` + "\xff" + `b"}],"structuredContent":{"x":"` + "\xc3" + `"},"_meta":{"y":"` + "\xe2\x82" + `"}}`), Sent: true}, nil
	})
	for _, options := range []string{`{}`, `{"include_metadata":false}`} {
		params := `{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"},"options":` + options + `},` + statelessMeta + `}`
		if got := rawStdio(t, newGateway(t, bad, Options{}), gateway.StatelessEra, params); !utf8.ValidString(got) || !strings.Contains(got, "a\uFFFDb") {
			t.Errorf("got %s", got)
		}
	}
}

// A client that sends and does not read cannot keep the process.
func TestStdioEndsWithoutAReader(t *testing.T) {
	for _, how := range []string{"end of input", "signal"} {
		g := newGateway(t, nil, Options{})
		synctest.Test(t, func(t *testing.T) {
			in, feed := io.Pipe()
			out, blocked := newBlockedWriter()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served := make(chan error, 1)
			go func() { served <- g.ServeStdio(ctx, in, out) }()
			io.WriteString(feed, initialize+"\n")
			<-blocked
			if how == "signal" {
				cancel()
			} else {
				feed.Close()
			}
			if err := <-served; err != nil {
				t.Errorf("%s: %v", how, err)
			}
			close(out.release)
			feed.Close()
		})
	}
}

// A blockedWriter takes nothing until it is released.
type blockedWriter struct{ entered, release chan struct{} }

func newBlockedWriter() (w blockedWriter, entered <-chan struct{}) {
	w = blockedWriter{make(chan struct{}, 1), make(chan struct{})}
	return w, w.entered
}

func (w blockedWriter) Write(p []byte) (int, error) {
	select {
	case w.entered <- struct{}{}:
	default:
	}
	<-w.release
	return 0, io.ErrClosedPipe
}
