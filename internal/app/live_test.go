package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/config"
)

// A running is an engine that serves over HTTP until the test ends.
type running struct {
	*Engine
	path string
}

// serving serves a configuration of these lines, which may change.
func serving(t *testing.T, lines string) running {
	t.Helper()
	dir, err := os.MkdirTemp("", "live") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := running{path: filepath.Join(dir, "tooldex.yaml")}
	r.write(t, lines)
	load := func() (*config.Config, error) {
		return config.Load(config.Options{Path: r.path, Surfaces: serve.Surfaces()})
	}
	cfg, err := load()
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := Claim(t.Context(), cfg, "v1", true)
	if err != nil || claimed == nil {
		t.Fatal(claimed, err)
	}
	if r.Engine, err = Open(cfg, Options{Version: "v1", Online: true, Serving: true, Load: load, Claimed: claimed}); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, ln, nil) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, r.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r running) write(t *testing.T, lines string) {
	t.Helper()
	text := fmt.Sprintf("state: %q\n%s", filepath.Join(filepath.Dir(r.path), "state"), lines)
	next := r.path + ".next" // half a file would be a configuration, too
	if err := errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, r.path)); err != nil {
		t.Fatal(err)
	}
}

// until waits for what the background does.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(time.Minute)
	for !ok() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("never: %s", what)
		}
	}
}

func (r running) has(tool string, tags ...string) bool {
	hits, _ := r.Index.List(index.Listing{Filter: index.Filter{Tags: tags}})
	return slices.ContainsFunc(hits, func(h index.Hit) bool { return h.Tool.QualifiedName() == tool })
}

// Servers and settings of tools come, change and go with the file; a file that
// is wrong changes nothing and is named.
func TestLiveConfiguration(t *testing.T) {
	one, two := numbers(t), numbers(t)
	r := serving(t, fmt.Sprintf("mcpServers: {one: {url: %q}}", one))
	until(t, "listed", func() bool { return r.has("one/convert_units") })

	r.write(t, fmt.Sprintf("mcpServers: {one: {url: %q}, two: {url: %q}}", one, two))
	until(t, "a server is added", func() bool { return r.has("two/convert_units") })
	listed := r.Servers.Status()[0].Since

	r.write(t, fmt.Sprintf("mcpServers: {one: {url: %q, tags: [fresh], tools: {convert_units: {hidden: true}}}}", one))
	until(t, "a server is removed and tools are labelled", func() bool {
		return !r.has("two/convert_units") && !r.has("one/convert_units") && r.has("one/distance_between_points", "fresh")
	})
	if now := r.Servers.Status()[0].Since; !now.Equal(listed) {
		t.Errorf("a server was started anew as its tools were labelled: %v, %v", listed, now)
	}

	r.write(t, fmt.Sprintf("mcpServers: {one: {url: %q, hiden: true}}\nembeding: {}", two))
	until(t, "the mistake is named", func() bool {
		return strings.Contains(r.Status("v1").Live.Problem, `unknown key "embeding"`)
	})
	if !strings.Contains(r.live.status().Problem, "line 3") || !r.has("one/distance_between_points") {
		t.Errorf("got %+v", r.live.status())
	}

	for text, want := range map[string]string{"": "the file is empty; write {}", "mcpServers: {one: {url:": "line 1"} { // in place, as while it is being written
		if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		until(t, "a broken file is told of", func() bool { return strings.Contains(r.live.status().Problem, want) })
		if !r.has("one/distance_between_points") {
			t.Errorf("%q took a server away", text)
		}
	}

	r.write(t, fmt.Sprintf("mcpServers: {one: {url: %q}}\nembedding: {provider: none}", one))
	until(t, "a restart is asked for", func() bool { return slices.Equal(r.live.status().Restart, []string{"embedding"}) })
	until(t, "what needs none is in force", func() bool { return r.has("one/convert_units") })
	if st := r.live.status(); st.Problem != "" {
		t.Errorf("got %+v", st)
	}
}

// Other processes find this one by version and settings, also after these
// changed, and run its tools.
func TestSharing(t *testing.T) {
	one := numbers(t)
	lines := fmt.Sprintf("mcpServers: {one: {url: %q}}", one)
	r := serving(t, lines)
	until(t, "stored", func() bool { return r.has("one/convert_units") && len(r.Index.Status().Pending) == 0 })
	cfg := r.Config
	other, err := Running(t.Context(), cfg, "v1")
	if _, verr := Running(t.Context(), cfg, "v2"); err != nil || !errors.Is(verr, attach.ErrNobody) {
		t.Fatalf("not found: %v, or by another version: %v", err, verr)
	}
	if again, err := Claim(t.Context(), cfg, "v1", true); again != nil || err != nil {
		t.Errorf("claimed by two: %v, %v", again, err)
	}
	e := opened(t, cfg, Options{Version: "v1", Calls: other})
	called, err := e.endpoints.host.Get(config.DefaultEndpoint).Call(t.Context(), "execute_tool",
		json.RawMessage(`{"tool_name":"one/convert_units","arguments":{"value":1,"from":"km","to":"m"}}`)).MarshalJSON()
	if err != nil || !strings.Contains(string(called), "1000") {
		t.Errorf("got %s, %v", called, err)
	}
	var st Status
	if err := other.Place.Status(t.Context(), &st); err != nil || len(st.Servers) != 1 || st.Process.PID != os.Getpid() || st.Process.Listen == "" {
		t.Errorf("got %+v, %v", st, err)
	}
	if id := e.Index.Resolve("one/convert_units", nil)[0].ID; r.Index.Metrics(id).Total != 1 {
		t.Errorf("counted %+v", r.Index.Metrics(id))
	}

	r.write(t, lines+"\n# the same\nexecution: {retry_attempts: 1}")
	until(t, "a restart is asked for", func() bool { return len(r.live.status().Restart) > 0 })
	if _, err := Running(t.Context(), cfg, "v1"); err != nil {
		t.Error("what needs a restart is in force for others")
	}
	next, err := config.Load(config.Options{Path: r.path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Running(t.Context(), next, "v1"); !errors.Is(err, attach.ErrNobody) {
		t.Errorf("found with settings that are not in force: %v", err)
	}
	mine, _ := Place(next, "v1")
	var beside Status
	beside.Beside(t.Context(), Neighbours(t.Context(), next.State), mine)
	if len(beside.Others) != 1 || beside.Others[0].Config != r.path || len(beside.Silent) != 0 {
		t.Errorf("others: %+v", beside)
	}
	r.write(t, fmt.Sprintf("mcpServers: {one: {url: %q, timeout: 5s}}", one))
	until(t, "the place has moved", func() bool {
		cfg, err := config.Load(config.Options{Path: r.path})
		if err != nil {
			return false
		}
		_, err = Running(t.Context(), cfg, "v1")
		return err == nil
	})
	if st := StatusOf(t.Context(), Neighbours(t.Context(), r.Config.State), attach.Place{}, r.path, "v1"); st == nil {
		t.Error("its status is not found by the file")
	}
}

// A session over the socket is one over stdio.
func TestAttachedSession(t *testing.T) {
	r := serving(t, fmt.Sprintf("mcpServers: {one: {url: %q}}", numbers(t)))
	link, err := Attached(t.Context(), r.Config, "v1", config.DefaultEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if _, err := io.WriteString(link, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct{ ProtocolVersion string }
	}
	if err := json.NewDecoder(link).Decode(&answer); err != nil || answer.Result.ProtocolVersion != "2025-06-18" {
		t.Errorf("got %+v, %v", answer, err)
	}
	if _, err := Attached(t.Context(), r.Config, "v2", config.DefaultEndpoint); !errors.Is(err, attach.ErrNobody) {
		t.Errorf("another version: %v", err)
	}
}

// What changes an answer is in the agreement; what does not, is not.
func TestPlaceOfConfiguration(t *testing.T) {
	t.Setenv("TOOLDEX_TEST_GIVEN", "1")
	base := func() *config.Config {
		cfg := written(t, "mcpServers: {a: {command: x, args: [y], inherit_env: [TOOLDEX_TEST_GIVEN]}}")
		cfg.State, cfg.Path = "s", "p"
		return cfg
	}
	want, ok := Place(base(), "v1")
	if !ok {
		t.Fatal("no place")
	}
	for name, change := range map[string]func(*config.Config){
		"same":   func(*config.Config) {},
		"listen": func(c *config.Config) { c.Listen = "x" },
		"path":   func(c *config.Config) { c.Path = "q" },
		"log":    func(c *config.Config) { c.Log.Level = "debug" },
	} {
		cfg := base()
		change(cfg)
		if got, _ := Place(cfg, "v1"); got != want {
			t.Errorf("%s: another place", name)
		}
	}
	for name, change := range map[string]func(*config.Config){
		"argument":  func(c *config.Config) { c.Servers[0].Spec.Args = []string{"z"} },
		"relative":  func(c *config.Config) { c.Servers[0].Spec.Args = []string{"y", "./z"} },
		"hidden":    func(c *config.Config) { c.Servers[0].Hidden = true },
		"broken":    func(c *config.Config) { c.Disabled = []config.Disabled{{Name: "b", Reason: "r"}} },
		"embedding": func(c *config.Config) { c.Embedding.Model = "m" },
		"limit":     func(c *config.Config) { c.Meta.MaxSearchLimit++ },
		"variable":  func(*config.Config) { t.Setenv("TOOLDEX_TEST_GIVEN", "2") },
	} {
		cfg := base()
		change(cfg)
		if got, _ := Place(cfg, "v1"); got == want {
			t.Errorf("%s: the same place", name)
		}
	}
	t.Setenv("TOOLDEX_TEST_GIVEN", "1")
	if got, _ := Place(base(), "v2"); got == want {
		t.Error("another version: the same place")
	}
}
