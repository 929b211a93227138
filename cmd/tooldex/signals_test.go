package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A child is a tooldex process whose stderr the test reads.
type child struct {
	*exec.Cmd
	logs  *safeBuffer
	stdin io.Writer
}

func startChild(t *testing.T, env []string, args ...string) child {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no such signals there")
	}
	c := child{Cmd: exec.Command("tooldex", args...), logs: &safeBuffer{}}
	c.Env = append(os.Environ(), env...)
	c.Stderr, c.Stdout = c.logs, c.logs
	var err error
	if c.stdin, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	// Whoever runs the tests may ignore the signal, as nohup does, and children
	// inherit that; what is caught here they get with its default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	return c
}

// await waits until the child has written want.
func (c child) await(t *testing.T, want string) {
	t.Helper()
	for began := time.Now(); !strings.Contains(c.logs.String(), want); runtime.Gosched() {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("no %q in\n%s", want, c.logs)
		}
	}
}

func (c child) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := c.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestServeGoesOnAtHangup(t *testing.T) {
	dir := t.TempDir()
	config := writeConfig(t, dir, strings.ReplaceAll(textServer, "STATE", strconv.Quote(dir+"/state")))
	for _, how := range [][]string{{"--listen", "127.0.0.1:0"}, {"--stdio"}} {
		c := startChild(t, nil, append([]string{"serve", "--config", config, "--log.level", "info"}, how...)...)
		c.await(t, "catalog changed")
		c.signal(t, syscall.SIGHUP)
		c.await(t, "configuration read again")
		c.signal(t, syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %v\n%s", how, err, c.logs)
		}
	}
}

// A second signal ends the process while a call is still waited for.
func TestSecondSignalEnds(t *testing.T) {
	dir := t.TempDir()
	config := writeConfig(t, dir, strings.ReplaceAll(textServer, "STATE", strconv.Quote(dir+"/state")))
	c := startChild(t, nil, "serve", "--config", config, "--stdio", "--log.level", "debug")
	c.await(t, "catalog changed")
	io.WriteString(c.stdin, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"fault_slow","arguments":{"seconds":20}},`+
		`"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n")
	c.await(t, "step 1 of 10") // after 2 s of 20
	c.signal(t, syscall.SIGTERM)
	c.signal(t, os.Interrupt)
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 && exit.ExitCode() != 143 {
		t.Errorf("%v\n%s", err, c.logs)
	}
}

func TestDemoCleansUp(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM, os.Interrupt} {
		tmp := t.TempDir()
		c := startChild(t, []string{"TMPDIR=" + tmp}, "demo", "--listen", "127.0.0.1:0")
		c.await(t, "Serving MCP clients")
		c.signal(t, s)
		if err := c.Wait(); err != nil {
			t.Errorf("%v: %v\n%s", s, err, c.logs)
		}
		if !strings.Contains(c.logs.String(), "goodbye") {
			t.Errorf("%v: no goodbye:\n%s", s, c.logs)
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("%v: left behind: %v, %v", s, left, err)
		}
	}
}

// Another terminal uses the demo's servers by its file, and the demo notes it.
func TestDemoFromAnotherTerminal(t *testing.T) {
	tmp, err := os.MkdirTemp("", "a ${B}") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	demo := startChild(t, []string{"TMPDIR=" + tmp}, "demo", "--listen", "127.0.0.1:0")
	demo.await(t, "your servers:")
	found, err := filepath.Glob(filepath.Join(tmp, "*", "tooldex.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	call := startChild(t, nil, "--config", found[0], "call", "text/count_text", "text=one two")
	if err := call.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, call.logs)
	}
	demo.await(t, "text/count_text ok") // it ran there
	demo.signal(t, os.Interrupt)
	if err := demo.Wait(); err != nil {
		t.Errorf("%v\n%s", err, demo.logs)
	}
}
