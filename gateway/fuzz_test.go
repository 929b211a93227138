package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// FuzzMapResult: whatever a server answers, what is handed on is JSON.
func FuzzMapResult(f *testing.F) {
	for _, raw := range []string{
		`{"content":[{"type":"text","text":"{\"a\":1}"}],"_meta":{"a":1,"io.modelcontextprotocol/b":2}}`,
		`{"content":[{"type":"text","text":"x"},{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":true}`,
		`{"structuredContent":[1,null],"content":null}`, `{"structuredContent":"\ud800","content":[]}`,
		`{"resultType":"input_required","inputRequests":{"a":{}},"requestState":"s"}`, `{"content":[{"type":"text","text":7},3]}`,
	} {
		f.Add([]byte(raw), true)
		f.Add([]byte(raw), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, untouched bool) {
		if !json.Valid(raw) || !utf8.Valid(raw) { // neither gets as far
			return
		}
		x := &execution{hit: index.Hit{ID: "0123456789ab", Tool: index.Tool{Server: "s", Name: "t"}}, name: "s/t", untouched: untouched}
		for _, era := range []string{"2025-06-18", statelessEra} {
			a, err := mapResult(upstream.Result{Raw: raw, Protocol: era, Sent: true}, x, caller{protocol: era}, time.Millisecond)
			if err != nil {
				continue
			}
			if wire, err := a.MarshalJSON(); err != nil || !json.Valid(wire) {
				t.Errorf("%s became %s: %v", raw, wire, err)
			}
		}
	})
}

// FuzzCheck: no schema and no arguments break the check, and what it says is
// short.
func FuzzCheck(f *testing.F) {
	for _, bomb := range bombs() {
		if len(bomb[0])+len(bomb[1]) < 4000 {
			f.Add([]byte(bomb[0]), []byte(bomb[1]))
		}
	}
	f.Add([]byte(`{"properties":{"a":{"oneOf":[{"const":1},{"pattern":"x"}],"not":{"enum":[2]}}},"dependentSchemas":{"a":{"required":["b"]}}}`), []byte(`{"a":"é"}`))
	f.Add([]byte(`{"$id":"x:y","$recursiveAnchor":true,"$schema":"https://json-schema.org/draft/2019-09/schema","unevaluatedProperties":{"$recursiveRef":"#"}}`), []byte(`{"a":{"b":[]}}`))
	g := New(nil, nil, Options{})
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		if !json.Valid(schema) {
			return
		}
		obj, err := readObject(append(append([]byte(`{"name":"t","inputSchema":`), schema...), '}'))
		if err != nil {
			return
		}
		err = g.check(t.Context(), "s/t", obj, arguments)
		var e *callError
		if errors.As(err, &e) && len(e.msg) > 4000 { // of at most 1,000 characters
			t.Errorf("the error has %d bytes: %s", len(e.msg), e.msg)
		}
		if s := signature("s/t", obj.input); len(s) > 8000 {
			t.Errorf("the signature has %d bytes: %s", len(s), s)
		}
	})
}

// FuzzMessageReader: whatever a client writes, what is passed on are
// messages, one a line, and so are the answers to the rest.
func FuzzMessageReader(f *testing.F) {
	for _, in := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
		"\n \r\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r\nnonsense\n",
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7]` + "\n[]\n[1]\n[[]]\n",
		`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		passed, err := io.ReadAll(newMessageReader(io.NopCloser(bytes.NewReader(in)), &out, &batches{}))
		if err != nil {
			t.Fatalf("reading ended with %v", err)
		}
		for line := range bytes.Lines(passed) {
			if _, err := jsonrpc.DecodeMessage(line); err != nil {
				t.Errorf("passed on %q: %v", line, err)
			}
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("answered %q, which is no JSON", line)
			}
		}
	})
}
