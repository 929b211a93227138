package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A hotFile is a configuration that is changed while it is served.
type hotFile struct {
	setup
	servers object
}

// write writes the file in place, as many editors do.
func (f *hotFile) write(t *testing.T, templates, endpoints object) {
	t.Helper()
	stays := object{
		"stays": object{"scope": object{"include_servers": []string{"ledger"}}}, "three": object{"surface": "discover"},
		"listed": object{"hide_underlying_tools": false, "scope": object{"include_servers": []string{"ledger"}}},
		"scoped": object{"scope": "changing"},
	}
	maps.Copy(stays, endpoints)
	text, err := json.MarshalIndent(object{
		"state": f.state, "mcpServers": f.servers, "meta_server": object{"scope_templates": templates}, "virtual_servers": stays,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.config, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

func changing(servers ...string) object {
	return object{"changing": object{"include_servers": servers}}
}

// shows waits until the API says of a virtual server how many tools it shows,
// -1 for none of that name.
func (a admin) shows(name string, tools int) {
	a.t.Helper()
	a.until(fmt.Sprintf("%s shows %d tools", name, tools), "/servers", func(now object) bool {
		all := now["servers"].([]any)
		i := slices.IndexFunc(all, func(s any) bool { return s.(object)["name"] == name })
		return i < 0 && tools < 0 || i >= 0 && all[i].(object)["tools"] == float64(tools)
	})
}

// until waits until what the API answers on a path is as hoped.
func (a admin) until(what, path string, ok func(object) bool) {
	a.t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(time.Minute)
	for {
		now, _ := a.ask("GET", path, "", http.StatusOK)
		if ok(now) {
			return
		}
		select {
		case <-again.C:
		case <-late:
			a.t.Fatalf("never: %s: %v", what, now)
		}
	}
}

// A hotCall is one that must go well whatever changes elsewhere.
type hotCall struct {
	session *mcp.ClientSession
	tool    string
	args    object
	want    string // in the answer
}

// rush makes fifty calls a second, in turn, until it is stopped, which tells
// how many there were.
func rush(t *testing.T, calls []hotCall) (stop func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	var under, all sync.WaitGroup
	n := 0
	all.Go(func() {
		pace, began := time.NewTicker(time.Second/50), time.Now()
		defer pace.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-pace.C: // which may come late
			}
			for ; n < int(50*time.Since(began).Seconds()); n++ {
				c := calls[n%len(calls)]
				under.Go(func() { c.make(t) })
			}
		}
	})
	return func() int {
		cancel()
		all.Wait()
		under.Wait()
		return n
	}
}

func (c hotCall) make(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
	if err != nil {
		t.Errorf("%s %v: %v", c.tool, c.args, err)
		return
	}
	text, err := json.Marshal(res)
	if err != nil || res.IsError || !strings.Contains(string(text), c.want) {
		t.Errorf("%s %v: %s %v, want %s", c.tool, c.args, text, err, c.want)
	}
}

// Endpoints, templates and scopes come, change and go, in the file and over the
// API, under fifty calls a second in both eras, over HTTP, and over stdio
// through an attached process: no call fails that concerns something else.
func TestEndpointsChangeUnderLoad(t *testing.T) {
	dir, err := os.MkdirTemp("", "hot") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := &hotFile{setup: setup{config: filepath.Join(dir, "tooldex.json"), state: filepath.Join(dir, "state")}, servers: object{
		"ledger": object{"url": mcpServer(t, "book", "close"), "start": "eager"}, "post": object{"url": mcpServer(t, "send"), "start": "eager"},
	}}
	f.write(t, changing("ledger"), nil)
	a, _ := process(t, f.setup)
	a.shows("default", 3)
	over := func(name, version string) *mcp.ClientSession {
		return connect(t, &mcp.StreamableClientTransport{Endpoint: "http://" + a.addr + "/servers/" + name + "/mcp"}, version)
	}
	log := &logBuffer{}
	cmd := exec.Command(tooldex(t), "serve", "--stdio", "--config", f.config, "--server", "stays", "--log.level", "debug")
	cmd.Stderr = log
	attached := connect(t, &mcp.CommandTransport{Command: cmd}, "2025-06-18")
	if text := log.String(); strings.Contains(text, "not attached") || strings.Contains(text, "works alone") {
		t.Fatalf("it is not attached: %s", text)
	}
	run := object{"tool_name": "ledger/book", "arguments": object{}}
	stop := rush(t, []hotCall{
		{over("stays", "2025-06-18"), "execute_tool", run, "ran book"},
		{over("stays", "2026-07-28"), "execute_tool", run, "ran book"},
		{attached, "execute_tool", run, "ran book"},
		{over("three", "2025-11-25"), "discover_tools", object{"query": "close the books"}, `close`},
		{over("listed", "2026-07-28"), "ledger__close", object{}, "ran close"},
		{over("scoped", "2025-06-18"), "list_tools", object{}, `total_items`},
		{attached, "search_tools", object{"query": "close the books"}, `ledger/close`},
	})
	began := time.Now()
	for range 3 {
		f.changes(t, a)
	}
	n := stop()
	t.Logf("%d calls in %v", n, time.Since(began).Round(time.Second))
	if n < 50 {
		t.Errorf("only %d calls were made", n)
	}
}

// changes does whatever can be done to endpoints, templates and scopes, and
// waits until each is in force.
func (f *hotFile) changes(t *testing.T, a admin) {
	f.write(t, changing("post"), object{"comes": object{}}) // a template, and one that is added
	a.shows("scoped", 1)
	a.shows("comes", 3)
	f.write(t, changing("ledger", "post"), object{"comes": object{"surface": "toolbox", "scope": "changing"}}) // its surface and scope
	a.shows("scoped", 3)
	f.write(t, changing("ledger"), object{"comes": object{"scope": object{"include_servers": []string{"post"}}}})
	a.shows("comes", 1)
	a.ask("POST", "/servers", `{"name": "made", "scope": "changing"}`, http.StatusCreated)
	a.shows("made", 2)
	a.ask("PATCH", "/servers/made", `{"surface": "direct", "scope": {"include_servers": ["post"]}}`, http.StatusOK, "If-Match", "*")
	a.shows("made", 1)
	if err := os.WriteFile(f.config, nil, 0o600); err != nil { // who writes the file stops half-way
		t.Fatal(err)
	}
	a.warned("the file is empty")
	if err := os.WriteFile(f.config, fmt.Appendf(nil, `{"state": %q, "virtual_servers": {`, f.state), 0o600); err != nil {
		t.Fatal(err)
	}
	a.warned("tooldex.json")
	a.ask("DELETE", "/servers/made", "", http.StatusNoContent, "If-Match", "*")
	f.write(t, changing("ledger"), nil)
	a.shows("comes", -1)
	a.shows("made", -1)
}

// warned waits until the status says of the configuration's file what is wrong
// with it.
func (a admin) warned(want string) {
	a.t.Helper()
	a.until("the status says "+want, "/status", func(now object) bool {
		live, ok := now["live"].(object)
		return ok && strings.Contains(fmt.Sprint(live["problem"]), want)
	})
}
