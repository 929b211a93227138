//go:build unix

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestManyClients has two clients over HTTP and two over stdio, in both eras,
// share one state folder and its servers, while one of the servers is killed
// in the middle of calls.
func TestManyClients(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a dozen processes")
	}
	root := t.TempDir() // also marks our sample servers among all processes
	sample := func(groups ...string) object {
		args := []string{"sample-server", "--root", root}
		for _, g := range groups {
			args = append(args, "--group", g)
		}
		return object{"command": tooldex(t), "args": args}
	}
	faulty := sample("time")
	faulty["args"] = append(faulty["args"].([]string), "--faults")
	s := configure(t, object{"text": sample("text"), "numbers": sample("numbers"), "faulty": faulty})

	endpoint := serveHTTP(t, s)
	running := make(chan string, 100)
	progress := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		running <- fmt.Sprint(r.Params.ProgressToken)
	}}
	var sessions []*mcp.ClientSession
	for _, era := range eras {
		cmd := exec.Command(tooldex(t), "serve", "--stdio", "--config", s.config)
		cmd.Stderr = &logBuffer{}
		sessions = append(sessions,
			connectWith(t, &mcp.StreamableClientTransport{Endpoint: endpoint}, era, progress),
			connectWith(t, &mcp.CommandTransport{Command: cmd}, era, progress))
	}
	for _, c := range sessions {
		find(t, c, "count the words of a text", "text/count_text")
		find(t, c, "what time is it", "faulty/current_time")
	}

	var wg sync.WaitGroup
	for i, c := range sessions {
		wg.Go(func() { testKilledCall(t, c, i) })
		wg.Go(func() {
			for range 50 {
				got, _ := execute(t, c, "text/count_text", object{"text": "one two three"})
				if !strings.Contains(toJSON(t, got), "3") {
					t.Errorf("count_text gave %v", got)
				}
			}
		})
	}
	for seen := map[string]bool{}; len(seen) < len(sessions); {
		seen[<-running] = true
	}
	if n := killMatching(t, "--root "+root+" --group time"); n != 1 {
		t.Errorf("killed %d servers, want 1: all clients share one", n)
	}
	wg.Wait()
	for _, c := range sessions { // the server is started again
		execute(t, c, "faulty/current_time", object{})
	}
}

// testKilledCall calls a slow tool whose server is killed meanwhile.
func testKilledCall(t *testing.T, c *mcp.ClientSession, i int) {
	params := &mcp.CallToolParams{Name: "execute_tool", Arguments: object{"tool_name": "faulty/fault_slow", "arguments": object{"seconds": 20}}}
	params.SetProgressToken(i)
	res, err := c.CallTool(t.Context(), params)
	if err != nil {
		t.Errorf("a call on a killed server: %v", err)
		return
	}
	text := toJSON(t, res.Content)
	if !res.IsError || !strings.Contains(text, "faulty/fault_slow: server faulty") {
		t.Errorf("a call on a killed server gave %s", text)
	}
}

// killMatching sends SIGKILL to the processes whose command line holds what,
// and counts them.
func killMatching(t *testing.T, what string) int {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid=,args=").Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	killed := 0
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, what) {
			continue
		}
		pid, err := strconv.Atoi(strings.Fields(line)[0])
		if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}
