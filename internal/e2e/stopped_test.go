//go:build unix

package e2e

import (
	"encoding/json"
	"os/exec"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/internal/app"
)

// Beside a serve that is stopped a new client works alone and status names the
// process; when it goes on its clients do, and new ones attach again.
func TestStoppedServe(t *testing.T) {
	s := sampled(t)
	addr := freeAddress(t)
	serve := exec.Command(tooldex(t), "serve", "--config", s.config, "--listen", addr)
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { serve.Process.Kill(); serve.Wait() })
	waitHTTP(t, "http://"+addr+"/readyz", is200)
	client := func() *mcp.ClientSession {
		return connect(t, &mcp.CommandTransport{Command: exec.Command(tooldex(t), "serve", "--stdio", "--config", s.config)}, "2025-06-18")
	}
	status := func() (st app.Status) {
		t.Helper()
		if err := json.Unmarshal([]byte(output(t, tooldex(t), "status", "--json", "--config", s.config)), &st); err != nil {
			t.Fatal(err)
		}
		return st
	}
	before := client()
	find(t, before, "sort the lines of a text", "text/sort_lines")
	sorted(t, before)
	if n := servers(t, s); n != 1 {
		t.Fatalf("%d servers", n)
	}

	if err := serve.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	alone := client()
	find(t, alone, "sort the lines of a text", "text/sort_lines") // it may have been stopped before it stored them
	sorted(t, alone)
	if n := servers(t, s); n != 2 {
		t.Errorf("%d servers beside one that is stopped", n)
	}
	if st := status(); st.Process != nil || len(st.Silent) != 1 || st.Silent[0].PID != serve.Process.Pid || !st.Silent[0].Here {
		t.Errorf("status: %+v", st.Silent)
	}

	if err := serve.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	sorted(t, before)
	if st := status(); st.Process == nil || st.Process.PID != serve.Process.Pid || len(st.Silent) != 0 {
		t.Errorf("status: %+v, %+v", st.Process, st.Silent)
	}
	sorted(t, client())
	if n := servers(t, s); n != 2 {
		t.Errorf("%d servers: a new client does not attach", n)
	}
}
