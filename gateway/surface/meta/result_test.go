package meta

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// run executes a tool whose server answers raw in the protocol version.
func run(t *testing.T, raw, protocol string, c gateway.Client) (gateway.Execution, error) {
	t.Helper()
	answers := gatewaytest.Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
		return upstream.Result{Raw: json.RawMessage(raw), Protocol: protocol, Sent: true}, nil
	})
	g := newGateway(t, answers, gateway.Options{})
	x, err := g.Execute(t.Context(), g.view, gateway.ExecuteRequest{Name: "files/search", Arguments: json.RawMessage(`{}`), Client: c})
	x.Took = 42 * time.Millisecond
	x.Tool = index.Hit{ID: "0123456789ab", Tool: index.Tool{Server: "s", Name: "t"}}
	return x, err
}

func resultOf(t *testing.T, raw string, untouched bool, protocol string) *surface.Answer {
	t.Helper()
	x, err := run(t, raw, protocol, gateway.Client{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Executed(x, protocol, untouched)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func wireOf(t *testing.T, a *surface.Answer) string {
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
			a := resultOf(t, tt.raw, false, "")
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
	const old, current = "2025-06-18", gateway.StatelessEra
	for _, tt := range []struct {
		name, raw string
		protocol  string
		want      string
	}{
		{"as it came", `{"_meta":{"z":1,"io.modelcontextprotocol/serverInfo":{"name":"u"},"a":{"y":2,"b":12345678901234567890}},"content":[{"text":"<&>","type":"text","new":true}],"structuredContent":{"b":1,"a":2},"isError":true}`, old,
			`{"_meta":{"z":1,"a":{"y":2,"b":12345678901234567890}},"content":[{"text":"<&>","type":"text","new":true}],"structuredContent":{"b":1,"a":2},"isError":true}`},
		{"array for an old client", `{"content":[],"structuredContent":[1]}`, old, `{"content":[{"type":"text","text":"[1]"}]}`},
		{"array for a new client", `{"content":[],"structuredContent":[1]}`, current, `{"content":[],"structuredContent":[1]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := wireOf(t, resultOf(t, tt.raw, true, tt.protocol)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestInputRequired(t *testing.T) {
	const raw = `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"new":1}}},"requestState":"s1"}`
	able := gateway.Client{Capabilities: json.RawMessage(`{"elicitation":{}}`)}
	x, err := run(t, raw, gateway.StatelessEra, able)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Executed(x, gateway.StatelessEra, false)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"inputRequests":{"q":{"method":"elicitation/create","params":{"new":1}}},"requestState":"s1"}`
	if got := wireOf(t, a); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, tt := range map[string]struct {
		protocol string
		client   gateway.Client
	}{"old server": {"2025-11-25", able}, "without elicitation": {gateway.StatelessEra, gateway.Client{}}} {
		if _, err := run(t, raw, tt.protocol, tt.client); err == nil || !strings.Contains(err.Error(), "server files asks for input") {
			t.Errorf("%s: got %v, want an error that says so", name, err)
		}
	}
}

func TestBadResults(t *testing.T) {
	for _, raw := range []string{`[]`, `{"content":7}`, `{"content":[7]}`, `{"_meta":{"a":}}`, ``} {
		if x, err := run(t, raw, gateway.StatelessEra, gateway.Client{}); err == nil {
			t.Errorf("result %q gave %+v, want an error", raw, x)
		}
	}
}

// FuzzResult: whatever a server answers, what is handed on is JSON.
func FuzzResult(f *testing.F) {
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
		for _, era := range []string{"2025-06-18", gateway.StatelessEra} {
			x, err := run(t, string(raw), era, gateway.Client{})
			if err != nil {
				continue
			}
			a, err := Executed(x, era, untouched)
			if err != nil {
				t.Fatal(err)
			}
			if wire, err := a.MarshalJSON(); err != nil || !json.Valid(wire) {
				t.Errorf("%s became %s: %v", raw, wire, err)
			}
		}
	})
}
