package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// answers sends messages to a server of the era and returns what it writes.
// Over stdio they go in one after the other, over HTTP each by itself.
type answers func(t *testing.T, g *Server, era string, messages ...string) string

func stdioAnswers(t *testing.T, g *Server, era string, messages ...string) string {
	t.Helper()
	lines := strings.Join(messages, "\n") + "\n"
	if era < gateway.StatelessEra {
		lines = initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + lines
	}
	var out bytes.Buffer
	if err := g.ServeStdio(t.Context(), io.NopCloser(strings.NewReader(lines)), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func httpAnswers(t *testing.T, g *Server, era string, messages ...string) string {
	t.Helper()
	srv := serveTest(t, g)
	h := rawHeader(t, srv, era)
	var all strings.Builder
	for _, message := range messages {
		if era >= gateway.StatelessEra {
			m, _ := readMessage([]byte(message))
			h.Set("Mcp-Method", m.method)
			h.Set(nameHeader, text(m.params, "name"))
		}
		_, body := post(t, srv, h, message)
		all.WriteString(body)
	}
	return all.String()
}

var transports = map[string]answers{"stdio": stdioAnswers, "http": httpAnswers}

// Ids come back as they were sent, whatever 64-bit floats make of them.
func TestIDsAreKept(t *testing.T) {
	for name, send := range transports {
		for _, era := range eras {
			for _, id := range []string{`9007199254740993`, `1.5`, `1e3`, `12345678901234567890123`, `-0`, `"x\u00e9"`, `7`} {
				t.Run(name+" "+era+" "+id, func(t *testing.T) {
					meta := ""
					if era >= gateway.StatelessEra {
						meta = "," + statelessMeta
					}
					for _, message := range []string{
						`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"list_tools","arguments":{}%s}}`,
						`{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":{"x":1%s}}`,
					} {
						got := send(t, newGateway(t, nil, Options{}), era, fmt.Sprintf(message, id, meta))
						want := id
						if name == "stdio" || strings.Contains(message, "tools/list") {
							want = strings.ReplaceAll(id, `\u00e9`, "é")
						}
						if !strings.Contains(got, `"id":`+want+`,"result"`) {
							t.Errorf("%s is answered by %.300s", fmt.Sprintf(message, id, meta), got)
						}
					}
				})
			}
		}
	}
}

// A caller's answers, state and _meta go on as they came, and come back so.
func TestAnswersAreRelayedExactly(t *testing.T) {
	const responses, state = `{"who":{"action":"accept","content":{"n":12345678901234567890},"unknown":[1.0]}}`, `""`
	for name, send := range transports {
		t.Run(name, func(t *testing.T) {
			calls := gatewaytest.Caller(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
				if string(r.InputResponses) != responses || string(r.RequestState) != state {
					t.Errorf("got %s and %s", r.InputResponses, r.RequestState)
				}
				if got := fmt.Sprintf("%s", r.Meta["n"]); got != "12345678901234567890" || len(r.Meta) != 1 {
					t.Errorf("_meta is %s", r.Meta)
				}
				if string(r.Capabilities) != `{"elicitation":{"form":{}},"sampling":{}}` {
					t.Errorf("capabilities are %s", r.Capabilities)
				}
				return gatewaytest.Done(ctx, r)
			})
			got := send(t, newGateway(t, calls, Options{}), gateway.StatelessEra,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"}},`+
					`"inputResponses":`+responses+`,"requestState":`+state+`,"_meta":{"n":12345678901234567890,"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
					`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"sampling":{},"experimental":{"x":{}}}}}}`)
			if !strings.Contains(got, `\"result\":\"done\"`) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// What is malformed is refused in words of the protocol, and not of Go.
func TestMalformedMessages(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":%s}`
	for name, send := range transports {
		for _, era := range eras {
			t.Run(name+" "+era, func(t *testing.T) {
				for message, want := range map[string]string{
					`{nope`:     `"id":null,"error":{"code":-32700`,
					`"x"`:       `"id":null,"error":{"code":-32600`,
					`{"id":[]}`: `"id":null,"error":{"code":-32600`,
					`{"jsonrpc":"2.0","id":true,"method":"ping"}`:               `"id":null,"error":{"code":-32600`,
					`{"jsonrpc":"1.0","id":4,"method":"ping"}`:                  `"id":4,"error":{"code":-32600`,
					`{"jsonrpc":"2.0","id":4,"method":7}`:                       `"id":4,"error":{"code":-32600`,
					`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":7}`: `"id":4,"error":{"code":-32602,"message":"tools/list: params: expected an object, got a number"`,
					fmt.Sprintf(call, `[1]`):                                    `"id":3,"error":{"code":-32602`,
					fmt.Sprintf(call, `{"_meta":5}`):                            `"id":3,"error":{"code":-32602`,
					fmt.Sprintf(call, `{"name":5,`+statelessMeta+`}`):           `"message":"tools/call: name: expected a text, got a number"`,
					fmt.Sprintf(call, `{`+statelessMeta+`}`):                    `"message":"tools/call: name: expected a text, got nothing"`,
					fmt.Sprintf(call, `{"name":"x","_meta":{"progressToken":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`): `tools/call: progressToken: expected a text or a number`,
					fmt.Sprintf(call, `{"name":"x","inputResponses":{"a":5},`+statelessMeta+`}`):                                          `tools/call: inputResponses: a: expected an object`,
				} {
					if got := send(t, newGateway(t, nil, Options{}), era, message); !strings.Contains(got, want) || strings.Contains(got, "Go ") {
						t.Errorf("%s is answered by %s, want %s", message, got, want)
					}
				}
			})
		}
	}
	got := httpAnswers(t, newGateway(t, nil, Options{}), gateway.StatelessEra, strings.Replace(
		`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{`+statelessMeta+`}}`, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`, 1))
	if !strings.Contains(got, `"code":-32602`) {
		t.Errorf("an unknown log level is answered by %s", got)
	}
}

// A session begins with one initialize.
func TestInitializeIsFirstAndOnce(t *testing.T) {
	srv := serveTest(t, newGateway(t, nil, Options{}))
	h := rawHeader(t, srv, "2025-11-25")
	if res, body := post(t, srv, h, initialize); res.StatusCode != 200 || !strings.Contains(body, `"id":1,"error":{"code":-32600`) {
		t.Errorf("the second is answered by %s %s", res.Status, body)
	}
	if _, body := post(t, srv, h, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`); !strings.Contains(body, "search_tools") {
		t.Errorf("after it the session is gone: %s", body)
	}
	h.Del(sessionHeader)
	res, body := post(t, srv, h, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
	if res.StatusCode != 400 || !strings.Contains(body, `"id":9,"error":{"code":-32600`) || res.Header.Get(sessionHeader) != "" {
		t.Errorf("without one: %s %s", res.Status, body)
	}
	var line struct{ Error struct{ Code int } }
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}` + "\n")
	if err := newGateway(t, nil, Options{}).ServeStdio(t.Context(), io.NopCloser(in), &out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Error.Code != -32600 {
		t.Errorf("over stdio: %s", out.String())
	}
}
