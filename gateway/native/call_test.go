package native

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A native call is one of the tool it names, and says in words that need no
// meta-tool what is wrong with it.
func TestAnswer(t *testing.T) {
	var sent upstream.Request
	calls := gatewaytest.Caller(func(_ context.Context, r upstream.Request) (upstream.Result, error) {
		sent = r
		return upstream.Result{Raw: json.RawMessage(`{"content":[{"type":"text","text":"ok"}],"x":1}`), Sent: true}, nil
	})
	g := gateway.New(gatewaytest.Open(t), calls, gateway.Options{})
	gatewaytest.Fill(t, g)
	ts := New(g, quiet)
	for _, tt := range []struct {
		tool, arguments string
		want, sent      string
	}{
		{"files__read_file", `{"path":"x"}`, `"ok"`, "files read_file {\"path\":\"x\"}"},
		{"files__search", ``, `"ok"`, "files search {}"},
		{"github__search", `null`, `"ok"`, "github search {}"},
		{"files__read_file", `{}`, "signature: files/read_file(path: string)", ""},
		{"files__read_file", `[]`, "files__read_file: arguments: expected an object, got an array", ""},
		{"vault__read_secret", `{}`, `there is no tool \"vault__read_secret\" any more; list the tools again`, ""},
		{"files/read_file", `{}`, `there is no tool \"files/read_file\"`, ""},
	} {
		sent = upstream.Request{}
		a := ts.Answer(t.Context(), surface.Call{Tool: tt.tool, Arguments: json.RawMessage(tt.arguments), View: gatewaytest.View, Protocol: gateway.StatelessEra})
		got, err := a.Result("", nil)
		if err != nil {
			t.Fatal(err)
		}
		ran := strings.TrimSpace(strings.Join([]string{sent.Server, sent.Tool, string(sent.Arguments)}, " "))
		if !strings.Contains(string(got), tt.want) || ran != tt.sent || a.IsError != (tt.sent == "") {
			t.Errorf("%s %s: %s, sent %q; want %q and %q", tt.tool, tt.arguments, got, ran, tt.want, tt.sent)
		}
		if strings.Contains(string(got), "_tools") {
			t.Errorf("%s names a meta-tool", got)
		}
	}
}

// A server's error about the client reaches the client; any other is told to
// the model, and so are both before there were such errors.
func TestAnswerRefused(t *testing.T) {
	var code int64
	calls := gatewaytest.Caller(func(_ context.Context, r upstream.Request) (upstream.Result, error) {
		return upstream.Result{Sent: true}, &upstream.CallError{
			Server: r.Server, Tool: r.Tool, Sent: true, Refused: true, Err: errors.New("no"), Code: code, Data: json.RawMessage(`{"a":1}`),
		}
	})
	g := gateway.New(gatewaytest.Open(t), calls, gateway.Options{})
	gatewaytest.Fill(t, g)
	ts := New(g, quiet)
	for _, tt := range []struct {
		code     int64
		state    string
		protocol string
		refused  bool
	}{
		{-32021, "", gateway.StatelessEra, true},
		{-32021, "", "2025-11-25", false},
		{-32602, `"s"`, gateway.StatelessEra, true},
		{-32602, "", gateway.StatelessEra, false},
		{-32603, `"s"`, gateway.StatelessEra, false},
	} {
		code = tt.code
		c := surface.Call{Tool: "github__search", View: gatewaytest.View, Protocol: tt.protocol}
		if tt.state != "" {
			c.Client.RequestState = json.RawMessage(tt.state)
		}
		a := ts.Answer(t.Context(), c)
		if refused := a.Refused != nil; refused != tt.refused || refused && (a.Refused.Code != tt.code || string(a.Refused.Data) != `{"a":1}`) {
			t.Errorf("%+v: refused %+v", tt, a.Refused)
		}
		if got, err := a.Result("", nil); err != nil || !a.IsError || !strings.Contains(string(got), "JSON-RPC error") {
			t.Errorf("%+v: %s, %v", tt, got, err)
		}
	}
}

func TestCheckHeaders(t *testing.T) {
	ts, _ := over(t, gateway.Options{}, map[string][]string{"s": {
		`{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},` +
			`"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}}}}}`,
		`{"name":"faulty","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}`,
	}})
	for _, tt := range []struct {
		tool, arguments string
		headers         map[string]string
		wrong           string // "" for nothing
	}{
		{"s__t", `{}`, nil, ""},
		{"s__t", ``, nil, ""},
		{"s__t", `{"a":"é","o":{"n":7,"b":true}}`, map[string]string{"A": "é", "N": "7", "B": "true"}, ""},
		{"s__t", `{"a":null,"o":{"n":7.0}}`, map[string]string{"N": "7"}, ""},
		{"s__t", `{"a":"x"}`, nil, `Mcp-Param-A is missing, which repeats argument "a"`},
		{"s__t", `{"a":"x"}`, map[string]string{"A": "y"}, `Mcp-Param-A is "y", which is not the value of argument "a"`},
		{"s__t", `{"a":null}`, map[string]string{"A": "x"}, `Mcp-Param-A is given, and argument "a" is not`},
		{"s__t", `{"o":{"n":7}}`, map[string]string{"N": "8"}, `argument "o.n"`},
		{"s__t", `{"o":{"n":7.5}}`, map[string]string{"N": "7.5"}, `argument "o.n"`},
		{"s__t", `{"o":{"n":{}}}`, map[string]string{"N": "{}"}, `argument "o.n"`},
		{"s__t", `{"o":{"b":true}}`, map[string]string{"B": "True"}, `argument "o.b"`},
		{"s__faulty", `{"a":"x"}`, nil, ""},
		{"s__none", `{"a":"x"}`, nil, ""},
	} {
		err := ts.CheckHeaders(view.View{}, tt.tool, json.RawMessage(tt.arguments), func(name string) string {
			return tt.headers[strings.TrimPrefix(name, "Mcp-Param-")]
		})
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s %s %v: %v, want %q", tt.tool, tt.arguments, tt.headers, err, tt.wrong)
		}
	}
}

// store has a server list tools of the names.
func store(t *testing.T, g *gateway.Gateway, server string, names ...string) {
	t.Helper()
	var l upstream.Listing
	for _, n := range names {
		l.Tools = append(l.Tools, json.RawMessage(`{"name":"`+n+`"}`))
	}
	if _, err := g.Sync(t.Context(), server, l); err != nil {
		t.Fatal(err)
	}
}

// A watcher tells of changes of what its view shows, whether tools or view
// change, once for those that come together, and of no others.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, g := over(t, gateway.Options{}, map[string][]string{"a": {`{"name":"one"}`}, "b": {`{"name":"one"}`}})
		of := func(server string) view.View {
			return view.View{Scope: index.NewScope(func(t *index.Tool) bool { return t.Server == server })}
		}
		v, told := of("a"), 0
		w := ts.Watch(func() view.View { return v }, func() { told++ })
		expect := func(what string, n int) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			if told != n {
				t.Errorf("%s: told %d times, want %d", what, told, n)
			}
			told = 0
		}
		expect("nothing has changed", 0)
		store(t, g, "b", "one", "two")
		store(t, g, "c", "one")
		expect("other servers have changed", 0)
		store(t, g, "a", "one")
		expect("the same list again", 0)
		store(t, g, "a", "one", "two")
		store(t, g, "a", "one", "two", "three")
		expect("two changes at once", 1)
		g.SetServers(map[string]gateway.Server{"a": {Tags: []string{"new"}, Phrases: []string{"count to one"}}})
		store(t, g, "a", "one", "two", "three")
		expect("tags and phrases alone", 0)
		g.SetServers(map[string]gateway.Server{"a": {Tools: map[string]gateway.Override{"one": {Description: "Count to one."}}}})
		store(t, g, "a", "one", "two", "three")
		expect("an operator's description", 1)
		v = of("c")
		w.Look()
		expect("another view", 1)
		v = of("c")
		w.Look()
		expect("a view of the same tools", 0)
		store(t, g, "c")
		expect("no tools any more", 1)
		w.Stop()
		store(t, g, "c", "four")
		expect("nobody watches", 0)
	})
}

// Names of tools that callers are not shown are told from those of none, later
// than the call.
func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, _ := over(t, gateway.Options{}, gatewaytest.Catalog)
		var mu sync.Mutex // guards told
		var told []string
		take := func() []string {
			mu.Lock()
			defer mu.Unlock()
			was := told
			told = nil
			return was
		}
		lost := 0
		newProbes := func(shown bool) *Probes {
			return NewProbes(ts, shown, func(p Probe) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, p.Name+" → "+strings.Join(p.Tools, " "))
			}, func(n int) { lost += n })
		}
		for shown, want := range map[bool]string{
			true:  "vault/read_secret → vault/read_secret, vault__read_secret → vault/read_secret",
			false: "files__read_file → files/read_file, search → files/search github/search, vault/read_secret → vault/read_secret, vault__read_secret → vault/read_secret",
		} {
			ps := newProbes(shown)
			for _, name := range []string{"nope", "files__read_file", "search", "vault/read_secret", "vault__read_secret", "", "execute_tool"} {
				ps.Note(Probe{Name: name, View: gatewaytest.View})
			}
			if got := take(); len(got) > 0 {
				t.Errorf("it is told %v at once", got)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if got := strings.Join(take(), ", "); got != want {
				t.Errorf("shown %t: %s\nwant %s", shown, got, want)
			}
		}
		ps := newProbes(false)
		for range maxProbes + 7 {
			ps.Note(Probe{Name: "search"})
		}
		ps.Flush()
		if n := len(take()); n != maxProbes || lost != 7 {
			t.Errorf("%d are told and %d lost, want %d and 7", n, lost, maxProbes)
		}
	})
}
