package remote

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

func testID(t *testing.T, v any) jsonrpc.ID {
	t.Helper()
	id, err := jsonrpc.MakeID(v)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// through sends a body of events through a stream and returns what comes out.
func through(t *testing.T, body string, set func(*eventStream)) (string, *wire.Sink) {
	t.Helper()
	tp := wire.NewTap(t.Context(), slog.New(slog.DiscardHandler), mask.Masker{}, nil, func() {})
	s := &wire.Sink{Token: "mine", Progress: make(chan upstream.Progress, 8)}
	id := testID(t, 5.0)
	x := &exchange{call: &jsonrpc.Request{ID: id, Method: "tools/call"}, sink: s, cancel: func(error) {}, detach: func() {}}
	tp.Outgoing(wire.WithSink(t.Context(), s), x.call)
	stream := newEventStream(tp, x, io.NopCloser(strings.NewReader(body)))
	if set != nil {
		set(stream)
	}
	out, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), s
}

func TestEventStream(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":5,"result":{"content": [ ],
"x":1}}`
	const taken = "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":\"the result was taken\"}}\n\n"
	events := func(data string) string { return "data: " + strings.ReplaceAll(data, "\n", "\ndata:") + "\n\n" }
	for _, c := range []struct {
		name, in, out string
		set           func(*eventStream)
	}{
		{"answer", events(answer), taken, nil},
		{"without end", "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}", taken, nil},
		{"ids and times", "id: 7\r\nretry: 100\r\nfoo: bar\r\n: note\r\ndata:\r\n\r\n", "id: 7\nretry: 100\n\n", nil},
		{"other events", "event: ping\ndata: 1\n\n", "event: ping\ndata: 1\n\n", nil},
		{"legacy", "event: ping\ndata: 1\n\nid: 1\n\nevent: endpoint\ndata: /m\n\n: note\n\n", "event: endpoint\ndata: /m\n\n", func(s *eventStream) { s.bare = true }},
		{"carriage returns", "\xef\xbb\xbfid: 7\rretry: 100\r\rid: 8\r\n\r\n", "id: 7\nretry: 100\n\nid: 8\n\n", nil},
		{"garbage", "data: hello\n\ndata: [1,2]\n\n", "", nil},
		{"listen", "id: 1\n" + events(`{"jsonrpc":"2.0","id":5,"result":{}}`) + events(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n", func(s *eventStream) { s.drop = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := through(t, c.in, c.set)
			if got != c.out {
				t.Errorf("got %q, want %q", got, c.out)
			}
		})
	}
	_, s := through(t, events(answer), nil)
	if raw, err := s.Outcome(); err != nil || string(raw) != "{\"content\": [ ],\n\"x\":1}" {
		t.Errorf("got %q, %v", raw, err)
	}
}

// FuzzEvents checks that a stream never fails, lets only whole messages
// through, and keeps the answer's bytes.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: message\nid: 3\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n\n"), false, false)
	f.Add([]byte("data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"ping\",\"id\":1}\r\n\r\n:x\n\n"), true, false)
	f.Add([]byte("event: endpoint\ndata: /a\n\n"), false, true)
	f.Fuzz(func(t *testing.T, data []byte, drop, bare bool) {
		out, s := through(t, string(data), func(e *eventStream) { e.drop, e.bare = drop, bare })
		for block := range strings.SplitSeq(out, "\n\n") {
			text, ok := strings.CutPrefix(block, "data: ")
			if !ok || strings.Contains(text, "\n") {
				continue
			}
			if _, err := jsonrpc.DecodeMessage([]byte(text)); err != nil {
				t.Errorf("%q came through: %v", text, err)
			}
		}
		if raw, err := s.Outcome(); err == nil && raw != nil && !json.Valid(raw) {
			t.Errorf("result %q", raw)
		}
	})
}
