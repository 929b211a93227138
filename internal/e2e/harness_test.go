package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// need returns what an environment variable names, or skips the test.
func need(t *testing.T, name string) string {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		t.Skipf("%s is not set; .ci/integration installs what this test needs and sets it", name)
	}
	return v
}

// npm is the entry script of an installed npm package.
func npm(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(need(t, "TOOLDEX_E2E_NPM"), "@modelcontextprotocol", script)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// binary is the tooldex that the tests run, in a folder of its own.
var binary struct {
	dir   string
	build sync.Once
	err   error
}

// TestMain removes the binary when the tests have ended.
func TestMain(m *testing.M) {
	code := m.Run()
	if binary.dir != "" {
		os.RemoveAll(binary.dir)
	}
	os.Exit(code)
}

// tooldex builds the binary once and returns its path.
func tooldex(t *testing.T) string {
	t.Helper()
	binary.build.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "tooldex-e2e"); binary.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", binary.dir+string(filepath.Separator), "github.com/tooldex/tooldex/cmd/tooldex")
		if text, err := cmd.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("build tooldex: %w\n%s", err, text)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	name := "tooldex"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(binary.dir, name)
}

// A setup is one configuration and state folder.
type setup struct {
	config, state string
}

type object = map[string]any

// configure writes a configuration that names the servers.
func configure(t *testing.T, servers object) setup {
	t.Helper()
	return configureWith(t, servers, nil)
}

// configureWith is configure with other settings, too.
func configureWith(t *testing.T, servers, settings object) setup {
	t.Helper()
	dir := t.TempDir()
	s := setup{config: filepath.Join(dir, "tooldex.json"), state: filepath.Join(dir, "state")}
	all := object{"state": s.state, "mcpServers": servers}
	maps.Copy(all, settings)
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.config, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// freeAddress is a loopback address that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs a command until the test ends and returns what it wrote to
// stderr so far.
func start(t *testing.T, env []string, name string, args ...string) *logBuffer {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	log := &logBuffer{}
	cmd.Stderr, cmd.Stdout = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		done := time.AfterFunc(15*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		done.Stop()
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(name), log)
		}
	})
	return log
}

// A logBuffer collects output from several goroutines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// waitHTTP returns once the address answers with any status the test accepts.
func waitHTTP(t *testing.T, url string, ok func(status int) bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for time.Now().Before(deadline) {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
			if ok(resp.StatusCode) {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s did not answer as hoped within 90 s", url)
}

func is200(status int) bool   { return status == http.StatusOK }
func any200s(status int) bool { return status < 500 }

// serveHTTP starts "tooldex serve" and returns its MCP endpoint once it is
// ready.
func serveHTTP(t *testing.T, s setup) string {
	t.Helper()
	addr := freeAddress(t)
	start(t, nil, tooldex(t), "serve", "--config", s.config, "--listen", addr)
	waitHTTP(t, "http://"+addr+"/readyz", is200)
	return "http://" + addr + "/mcp"
}

// connect opens a session of the Go SDK.
func connect(t *testing.T, tr mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	return connectWith(t, tr, version, nil)
}

func connectWith(t *testing.T, tr mcp.Transport, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, o)
	session, err := c.Connect(ctx, tr, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// call calls one meta-tool and returns its first text block as JSON, and the
// whole result.
func call(t *testing.T, s *mcp.ClientSession, tool string, args object) (object, *mcp.CallToolResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var out object
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: first block is %T", tool, res.Content[0])
	}
	if err := json.Unmarshal([]byte(text.Text), &out); err != nil {
		t.Fatalf("%s: %v in %s", tool, err, text.Text)
	}
	return out, res
}

// execute calls a tool of a server and fails the test on any error.
func execute(t *testing.T, s *mcp.ClientSession, tool string, args object) (any, *mcp.CallToolResult) {
	t.Helper()
	out, res := call(t, s, "execute_tool", object{"tool_name": tool, "arguments": args})
	if res.IsError {
		t.Fatalf("%s: %v", tool, out)
	}
	return out["result"], res
}

// find asks for a need until the tool is among the first five: servers are
// listed while serving already answers.
func find(t *testing.T, s *mcp.ClientSession, need, tool string) {
	t.Helper()
	var rows []any
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		out, _ := call(t, s, "search_tools", object{"query": need, "limit": 5})
		rows, _ = out["tools"].([]any)
		for _, r := range rows {
			if r.(object)["qualified_name"] == tool {
				return
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("%q did not find %s but %v", need, tool, rows)
}
