package gateway

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

func resultOf(t *testing.T, raw string, untouched bool, c caller) *Answer {
	t.Helper()
	x := &execution{
		hit: index.Hit{ID: "0123456789ab", Tool: index.Tool{Server: "s", Name: "t"}}, name: "s/t", untouched: untouched,
	}
	a, err := mapResult(upstream.Result{Raw: json.RawMessage(raw), Protocol: c.protocol, Sent: true}, x, c, 42*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func wireOf(t *testing.T, a *Answer) string {
	t.Helper()
	b, err := a.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) {
		t.Fatalf("no JSON: %s", b)
	}
	return string(b)
}

func TestWrappedResult(t *testing.T) {
	const metadata = `,"execution_metadata":{"tool_id":"0123456789ab","execution_time_ms":42,"server":"s"}}`
	for _, tt := range []struct {
		name, raw, json string
		wire            string // what follows the first block, up to structuredContent
	}{
		{"structured", `{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":12345678901234567890}}`,
			`{"result":{"n":12345678901234567890}` + metadata, ""},
		{"array structured", `{"content":[],"structuredContent":[1]}`, `{"result":[1]` + metadata, ""},
		{"null structured", `{"content":[{"type":"text","text":"x"}],"structuredContent":null}`, `{"result":"x"` + metadata, ""},
		{"text", `{"content":[{"type":"text","text":"a <b> & c"}]}`, `{"result":"a <b> & c"` + metadata, ""},
		{"json text", `{"content":[{"type":"text","text":" {\"a\": 1e400} "}]}`, `{"result":{"a": 1e400}` + metadata, ""},
		{"texts", `{"content":[{"type":"text","text":"1"},{"type":"text","text":"b"}]}`, `{"result":["1","b"]` + metadata, ""},
		{"nothing", `{"content":[]}`, `{"result":[]` + metadata, ""},
		{"image", `{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"x"},{"type":"hologram","z":1,"a":2}]}`,
			`{"result":"x"` + metadata, `,{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"hologram","z":1,"a":2}]`},
		{"error", `{"content":[{"type":"text","text":"no such file"}],"isError":true}`,
			`{"error":"no such file","hint":"s/t itself reported this error; describe_tool shows what it expects"` + metadata, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := resultOf(t, tt.raw, false, caller{})
			if string(a.JSON) != tt.json {
				t.Errorf("got  %s\nwant %s", a.JSON, tt.json)
			}
			wire := wireOf(t, a)
			if !strings.Contains(wire, `"structuredContent":`+tt.json) {
				t.Errorf("structuredContent is not the text's object: %s", wire)
			}
			if tt.wire != "" && !strings.Contains(wire, tt.wire) {
				t.Errorf("got %s, want %s in it", wire, tt.wire)
			}
			if wantErr := strings.Contains(tt.raw, `"isError":true`); a.IsError != wantErr {
				t.Errorf("isError is %v, want %v", a.IsError, wantErr)
			}
		})
	}
}

func TestUntouchedResult(t *testing.T) {
	old, current := caller{protocol: "2025-06-18"}, caller{protocol: statelessEra}
	for _, tt := range []struct {
		name, raw string
		c         caller
		want      string
	}{
		{"as it came", `{"_meta":{"z":1,"io.modelcontextprotocol/serverInfo":{"name":"u"},"a":{"y":2,"b":12345678901234567890}},"content":[{"text":"<&>","type":"text","new":true}],"structuredContent":{"b":1,"a":2},"isError":true}`, old,
			`{"_meta":{"z":1,"a":{"y":2,"b":12345678901234567890}},"content":[{"text":"<&>","type":"text","new":true}],"structuredContent":{"b":1,"a":2},"isError":true}`},
		{"array for an old client", `{"content":[],"structuredContent":[1]}`, old, `{"content":[{"type":"text","text":"[1]"}]}`},
		{"array for a new client", `{"content":[],"structuredContent":[1]}`, current, `{"content":[],"structuredContent":[1]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := wireOf(t, resultOf(t, tt.raw, true, tt.c)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestInputRequired(t *testing.T) {
	const raw = `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"new":1}}},"requestState":"s1"}`
	able := caller{protocol: statelessEra, elicitation: json.RawMessage(`{}`)}
	got := wireOf(t, resultOf(t, raw, false, able))
	want := `{"inputRequests":{"q":{"method":"elicitation/create","params":{"new":1}}},"requestState":"s1"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, c := range map[string]caller{
		"old caller":          {protocol: "2025-11-25", elicitation: json.RawMessage(`{}`)},
		"without elicitation": {protocol: statelessEra},
	} {
		a := resultOf(t, raw, false, c)
		if !a.IsError || !strings.Contains(string(a.JSON), "server s asks for input") {
			t.Errorf("%s: got %s, want an error that says so", name, a.JSON)
		}
	}
}

func TestBadResults(t *testing.T) {
	x := &execution{name: "s/t"}
	for _, raw := range []string{`[]`, `{"content":7}`, `{"content":[7]}`, `{"_meta":{"a":}}`, ``} {
		if a, err := mapResult(upstream.Result{Raw: json.RawMessage(raw)}, x, caller{}, 0); err == nil {
			t.Errorf("result %q gave %s, want an error", raw, a.JSON)
		}
	}
}
