package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// FuzzPage checks that what decodes as a page has nothing but tools in it.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a"},7,null],"nextCursor":"x","ttlMs":1e400}`))
	f.Add([]byte(`{"tools":null}`))
	f.Add([]byte(`{"Tools":[],"tools":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodePage(data)
		if err != nil {
			return
		}
		if p.fresh < 0 {
			t.Errorf("negative time %v", p.fresh)
		}
		var l upstream.Listing
		p.addTo(&l, 1)
		if len(l.Tools)+len(l.Warnings) != len(p.tools) {
			t.Errorf("%d tools and %d warnings of %d entries", len(l.Tools), len(l.Warnings), len(p.tools))
		}
		for _, raw := range l.Tools {
			if !bytes.Contains(data, raw) {
				t.Errorf("tool %s is not as it came", raw)
			}
		}
	})
}

func TestPagesThatDoNotDecode(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                            "the result does not decode",
		`{}`:                            "the result has no array named tools",
		`{"tools":{}}`:                  "the result has no array named tools",
		`{"tools":null}`:                "the result has no array named tools",
		`{"tools":[],"nextCursor":[1]}`: "nextCursor [1] is not a string",
	} {
		_, err := decodePage(json.RawMessage(text))
		wantError(t, err, want)
	}
}

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
	s := &wire.Sink{Token: "mine", Progress: make(chan wire.Progress, 8)}
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

func TestQuietTime(t *testing.T) {
	var q quietTime
	now := time.Unix(1000, 0)
	var got []time.Duration
	for range 9 {
		d := q.next(now)
		got = append(got, d)
		now = now.Add(d)
	}
	if want := "[250ms 500ms 1s 2s 4s 8s 16s 30s 30s]"; fmt.Sprint(got) != want {
		t.Errorf("for endless changes got %v, want %s", got, want)
	}
	if d := q.next(now.Add(time.Hour)); d != debounce {
		t.Errorf("after an hour got %v, want %v", d, debounce)
	}
}
