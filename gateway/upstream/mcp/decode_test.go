package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
)

func TestReadLine(t *testing.T) {
	r := lineReader{Reader: bufio.NewReaderSize(strings.NewReader("short\r\n\n"+strings.Repeat("x", 100)+"\n"+
		`{"result":{"id":1,"s":"\"id\":2}"},"jsonrpc":"2.0","id":77,"pad":"`+strings.Repeat("y", 300)+"\"}\nlast"), 16), limit: 200}
	for _, want := range []struct {
		line string
		id   any
		err  error
	}{
		{"short", nil, nil}, {"", nil, nil}, {strings.Repeat("x", 100), nil, nil},
		{"", int64(77), upstream.ErrTooLarge}, {"last", nil, nil}, {"", nil, io.EOF},
	} {
		line, id, err := r.next()
		if string(line) != want.line || id.Raw() != want.id || !errors.Is(err, want.err) {
			t.Errorf("got %q, id %v, %v, want %q, %v, %v", line, id.Raw(), err, want.line, want.id, want.err)
		}
	}
}

// FuzzReadLine checks lines against bytes.Split, and the scanner of ids
// against a JSON decoder.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x\"y","result":{"id":[1,{"id":2}]}}`), 5)
	f.Add([]byte(`{"id": 12, "a":[{}], "b":"}"}`), 1)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = max(1, limit%100)
		r := lineReader{Reader: bufio.NewReaderSize(bytes.NewReader(data), 16), limit: limit}
		lines := strings.Split(string(data), "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for i, want := range lines {
			got, id, err := r.next()
			if err == errEndless {
				if len(want)+1 <= maxLine*limit {
					t.Fatalf("line %d of %d bytes is said to have no end", i, len(want))
				}
				return
			}
			if err == upstream.ErrTooLarge {
				if len(want)+1 <= limit {
					t.Fatalf("line %d of %d bytes is said to be over %d", i, len(want), limit)
				}
				checkID(t, want, id)
				continue
			}
			if err != nil || string(got) != strings.TrimRight(want, "\r") {
				t.Fatalf("line %d: got %q, %v, want %q", i, got, err, want)
			}
		}
		if _, _, err := r.next(); err != io.EOF {
			t.Fatalf("at the end: got %v, want EOF", err)
		}
	})
}

// checkID compares the id found in text with that of a decoder, for what is
// one JSON object without a key twice and with a plain id.
func checkID(t *testing.T, text string, id jsonrpc.ID) {
	var fields map[string]json.RawMessage
	if strings.Count(text, `"id"`) != 1 || json.Unmarshal([]byte(text), &fields) != nil {
		return
	}
	var want any
	if json.Unmarshal(fields["id"], &want) != nil {
		return
	}
	switch v := want.(type) {
	case string:
		if len(v) > 100 {
			return
		}
	case float64:
		want = int64(v)
	default:
		return
	}
	if id.Raw() != want {
		t.Fatalf("id of %s: got %v, want %v", text, id.Raw(), want)
	}
}

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
		standIn(data)
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
func through(t *testing.T, body string, set func(*eventStream)) (string, *sink) {
	t.Helper()
	tp := newTap(slog.New(slog.DiscardHandler), func() {})
	s := &sink{token: "mine", progress: make(chan progress, 8)}
	id := testID(t, 5.0)
	x := &exchange{call: &jsonrpc.Request{ID: id, Method: "tools/call"}, sink: s, cancel: func(error) {}, detach: func() {}}
	tp.outgoing(withSink(t.Context(), s), x.call)
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
	if raw, err := s.outcome(); err != nil || string(raw) != "{\"content\": [ ],\n\"x\":1}" {
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
		if raw, err := s.outcome(); err == nil && raw != nil && !json.Valid(raw) {
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

func TestTailKeepsTheEnd(t *testing.T) {
	var tl tail
	text := strings.Repeat("a", 10000) + "\n\none\ntwo\n" + strings.Repeat("é", 400) + "\nthree"
	tl.copy(strings.NewReader(text), slog.New(slog.DiscardHandler))
	got := tl.last()
	if !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "é | three") || len(got) > tailBytes+10 {
		t.Errorf("got %q", got)
	}
}

// FuzzDecodeMessage checks that messages are read as the SDK reads them.
func FuzzDecodeMessage(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a","method":"","params":{"a":[1e2,"é\u0000"]}}`,
		`{"jsonrpc":"2.0","method":"notifications/x","params":null}`, `{"jsonrpc":"2.0","id":1,"result":{"b": 1,"a":12345678901234567890}}`,
		`{"jsonrpc":"2.0","id":1.5,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"x","data":{"a":1}},"result":null}`, `{"jsonrpc":"2.0","id":7,"error":null}`,
		`{"jsonrpc":"2.0","id":7,"error":"no"}`, `{"jsonrpc":"2.0","id":[],"result":{}}`, `{"jsonrpc":"2.0","ID":1,"Result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"1.0","id":1,"result":{}}`, `[]`, `{}`, `null`, `7`, ``, `{"jsonrpc":"2.0","id":1`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeMessage(data)
		want, wantErr := jsonrpc.DecodeMessage(data)
		if wantErr == nil && !json.Valid(data) {
			return // the SDK reads the first value of several
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: got error %v, the SDK %v", data, err, wantErr)
		}
		if err != nil {
			return
		}
		if r, ok := got.(*jsonrpc.Response); ok && r.Error != nil {
			return // whose keys are not told apart by case
		}
		same, err := jsonrpc.EncodeMessage(got)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := jsonrpc.EncodeMessage(want); err != nil || !bytes.Equal(same, text) {
			t.Errorf("%s: got %s, the SDK %s (%v)", data, same, text, err)
		}
	})
}
