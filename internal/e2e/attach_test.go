package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// attached are ten stdio clients of one configuration with one sample server.
func attached(t *testing.T, s setup) []*mcp.ClientSession {
	t.Helper()
	sessions := make([]*mcp.ClientSession, 10)
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			cmd := exec.Command(tooldex(t), "serve", "--stdio", "--config", s.config)
			version := "2025-06-18"
			if i%2 == 1 {
				version = "2026-07-28"
			}
			sessions[i] = connect(t, &mcp.CommandTransport{Command: cmd}, version)
		})
	}
	wg.Wait()
	return sessions
}

// sampled is a configuration with the text group, in a folder whose path is
// short enough for a socket and has a space and a letter beyond ASCII.
func sampled(t *testing.T) setup {
	t.Helper()
	dir, err := os.MkdirTemp("", "ö x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := setup{config: filepath.Join(dir, "tooldex.yaml"), state: filepath.Join(dir, "state")}
	text := fmt.Sprintf("state: %q\nmcpServers: {text: {command: %q, args: [sample-server, --group, text, --faults, --root, %q]}}\n", s.state, tooldex(t), dir)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// servers are the processes of sample servers that work in the folder.
func servers(t *testing.T, s setup) (n int) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if runtime.GOOS != "linux" {
		t.Skip("processes are counted by /proc")
	}
	if err != nil || len(processes) == 0 {
		t.Fatalf("no processes in /proc: %v", err)
	}
	for _, p := range processes {
		text, err := os.ReadFile(p)
		if err == nil && strings.Contains(string(text), "\x00sample-server\x00") && strings.Contains(string(text), filepath.Dir(s.config)) {
			n++
		}
	}
	return n
}

func sorted(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	out, _ := execute(t, session, "text/sort_lines", object{"text": "b\na"})
	if fmt.Sprint(out) != fmt.Sprint(object{"text": "a\nb"}) {
		t.Errorf("got %v", out)
	}
}

// Ten clients have one server between them; when the process is killed that
// serves them all, their sessions go on, and again they have one.
func TestTenClientsOneServer(t *testing.T) {
	s := sampled(t)
	addr := freeAddress(t)
	serve := exec.Command(tooldex(t), "serve", "--config", s.config, "--listen", addr)
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { serve.Process.Kill() })
	waitHTTP(t, "http://"+addr+"/readyz", is200)
	sessions := attached(t, s)
	find(t, sessions[0], "sort the lines of a text", "text/sort_lines")
	for _, session := range sessions {
		sorted(t, session)
	}
	if n := servers(t, s); n != 1 {
		t.Errorf("%d servers for ten clients", n)
	}
	began := make(chan struct{})
	inFlight := make(chan string, 1)
	go func() {
		p := &mcp.CallToolParams{Name: "execute_tool", Arguments: object{"tool_name": "text/fault_slow", "arguments": object{"seconds": 60}}}
		close(began)
		res, err := sessions[3].CallTool(t.Context(), p)
		if err != nil {
			inFlight <- err.Error()
			return
		}
		inFlight <- res.Content[0].(*mcp.TextContent).Text
	}()
	<-began
	waitHTTP(t, "http://"+addr+"/metrics", is200)
	sorted(t, sessions[3]) // after which the other call is under way
	if err := serve.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	serve.Wait()
	select {
	case got := <-inFlight:
		if !strings.Contains(got, "may have run") {
			t.Errorf("the call under way: %s", got)
		}
	case <-time.After(time.Minute):
		t.Error("the call under way is never answered")
	}
	var all sync.WaitGroup
	for _, session := range sessions {
		all.Go(func() { sorted(t, session) })
	}
	all.Wait()
	if n := servers(t, s); n != 1 {
		t.Errorf("%d servers after one took over", n)
	}
}

// Without a serve the first client's process serves the others; when its
// client leaves, another does.
func TestClientsShareWithoutServe(t *testing.T) {
	s := sampled(t)
	sessions := attached(t, s)
	find(t, sessions[0], "sort the lines of a text", "text/sort_lines")
	for len(sessions) > 1 {
		for _, session := range sessions {
			sorted(t, session)
		}
		if n := servers(t, s); n != 1 {
			t.Errorf("%d servers for %d clients", n, len(sessions))
		}
		if err := sessions[0].Close(); err != nil {
			t.Error(err)
		}
		sessions = sessions[1:]
	}
	sorted(t, sessions[0]) // it looks for another when it needs one
	out, err := exec.Command(tooldex(t), "status", "--config", s.config).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "for a client over stdio") {
		t.Errorf("status: %s, %v", out, err)
	}
	out, err = exec.Command(tooldex(t), "call", "text/sort_lines", "text=b\na", "--config", s.config).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `a\nb`) {
		t.Errorf("call: %s, %v", out, err)
	}
	if n := servers(t, s); n != 1 {
		t.Errorf("%d servers after a call of the command line", n)
	}
}
