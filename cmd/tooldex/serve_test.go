package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A safeBuffer collects what several goroutines write.
type safeBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// stdioClient runs "serve --stdio" in this process and connects to it. done
// gives the exit code after the client has closed its end.
func stdioClient(t *testing.T, config, version string) (session *mcp.ClientSession, hangUp func() int, logs *safeBuffer) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan int, 1)
	logs = &safeBuffer{}
	go func() {
		done <- run([]string{"serve", "--stdio", "--config", config}, fromClient, toClient, logs)
		toClient.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("%v\n%s", err, logs)
	}
	hangUp = sync.OnceValue(func() int {
		toServer.Close()
		session.Close()
		return <-done
	})
	t.Cleanup(func() { hangUp() })
	return session, hangUp, logs
}

// ask calls a meta-tool and returns its text.
func ask(t *testing.T, s *mcp.ClientSession, tool, args string) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// eventually asks until the answer contains want: servers are listed while
// the first questions are answered already.
func eventually(t *testing.T, s *mcp.ClientSession, tool, args, want string) {
	t.Helper()
	got := ""
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		if got = ask(t, s, tool, args); strings.Contains(got, want) {
			return
		}
	}
	t.Fatalf("%s %s: got %s, want %s", tool, args, got, want)
}

const textServer = `{"state": STATE, "mcpServers": {"text": {"command": "tooldex", "args": ["sample-server", "--group", "text", "--faults"], "start": "eager"}}}`

// Two clients of different protocol eras, each with a tooldex of its own on
// one state folder, find and call; the answer to a call that is under way
// when the client hangs up does not keep the process.
func TestTwoStdioClientsOnOneFolder(t *testing.T) {
	dir := t.TempDir()
	config := writeConfig(t, dir, strings.ReplaceAll(textServer, "STATE", strconv.Quote(dir+"/state")))
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		s, hangUp, logs := stdioClient(t, config, version)
		eventually(t, s, "search_tools", `{"query":"sort the lines of a text","limit":1}`, `"text/sort_lines"`)
		if got := ask(t, s, "execute_tool", `{"tool_name":"sort_lines","arguments":{"text":"b\na"}}`); !strings.Contains(got, `"text":"a\nb"`) {
			t.Errorf("%s: got %s", version, got)
		}
		list, err := s.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 6 {
			t.Errorf("%s: listed %v, %v", version, list, err)
		}
		if code := hangUp(); code != 0 {
			t.Errorf("%s: exit %d\n%s", version, code, logs)
		}
	}
}

// A server that dies in a call is started again, and the error says which it
// was.
func TestServerThatDiesIsStartedAgain(t *testing.T) {
	dir := t.TempDir()
	config := writeConfig(t, dir, strings.ReplaceAll(textServer, "STATE", strconv.Quote(dir+"/state")))
	s, _, _ := stdioClient(t, config, "")
	eventually(t, s, "search_tools", `{"query":"sort the lines of a text","limit":1}`, `"text/sort_lines"`)
	if got := ask(t, s, "execute_tool", `{"tool_name":"fault_exit","arguments":{}}`); !strings.Contains(got, `"error"`) || !strings.Contains(got, "text") {
		t.Errorf("got %s", got)
	}
	eventually(t, s, "execute_tool", `{"tool_name":"sort_lines","arguments":{"text":"b\na"}}`, `"text":"a\nb"`)
	// A tool that comes into the list is found without a restart.
	ask(t, s, "execute_tool", `{"tool_name":"fault_change_tools","arguments":{}}`)
	eventually(t, s, "search_tools", `{"query":"fault_extra"}`, `"text/fault_extra"`)
	// A call can be given up.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "execute_tool", Arguments: json.RawMessage(`{"tool_name":"fault_slow","arguments":{"seconds":60}}`)}); err == nil {
		t.Error("a call that was given up succeeded")
	}
	if got := ask(t, s, "execute_tool", `{"tool_name":"sort_lines","arguments":{"text":"b\na"}}`); !strings.Contains(got, `"text":"a\nb"`) {
		t.Errorf("got %s", got)
	}
}

// A call that is under way when the process is told to end gets its answer.
func TestTerminationWaitsForCalls(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be asked to end there")
	}
	dir := t.TempDir()
	config := writeConfig(t, dir, strings.ReplaceAll(textServer, "STATE", strconv.Quote(dir+"/state")))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	cmd := exec.Command("tooldex", "serve", "--config", config, "--listen", addr)
	logs := &safeBuffer{}
	cmd.Stderr = logs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()

	var session *mcp.ClientSession
	progress := make(chan float64, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { progress <- req.Params.Progress },
	})
	for began := time.Now(); session == nil && time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		session, err = client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + addr + "/mcp"}, nil)
	}
	if session == nil {
		t.Fatalf("%v\n%s", err, logs)
	}
	defer session.Close()
	eventually(t, session, "search_tools", `{"query":"fault_slow","limit":1}`, `"text/fault_slow"`)

	p := &mcp.CallToolParams{Name: "execute_tool", Arguments: json.RawMessage(`{"tool_name":"fault_slow","arguments":{"seconds":1}}`)}
	p.SetProgressToken("p")
	answered := make(chan string, 1)
	go func() {
		res, err := session.CallTool(t.Context(), p)
		if err != nil {
			answered <- err.Error()
			return
		}
		answered <- res.Content[0].(*mcp.TextContent).Text
	}()
	<-progress // the call is under way
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; !strings.Contains(got, "took 1 s") {
		t.Errorf("got %s\n%s", got, logs)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, logs)
	}
}
