package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const clientRounds = 30

// initialize is what a client says first.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"benchmarks","version":"1"}}}` + "\n"

// clients measures what a client waits for that starts the real program over
// stdio, until initialize is answered: beside a process that serves already,
// and alone. The servers were listed before.
func clients(ctx context.Context, b *bench, rounds int) error {
	p, err := install(ctx, b)
	if err != nil {
		return err
	}
	b.step("a client over stdio, alone")
	alone, err := p.clients(ctx, "initialize/alone", rounds)
	if err != nil {
		return err
	}
	b.add(alone)
	serve := p.command(ctx, "serve", "--listen", "127.0.0.1:0")
	said, err := serve.StderrPipe()
	if err != nil {
		return err
	}
	if err := serve.Start(); err != nil {
		return err
	}
	defer func() { _, _ = serve.Process.Kill(), serve.Wait() }()
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || !strings.Contains(line, "serving") {
		return fmt.Errorf("serve says %q: %w", line, errors.Join(err, ctx.Err()))
	}
	go io.Copy(io.Discard, said) // it must not block
	b.step("a client over stdio, beside a serve")
	attached, err := p.clients(ctx, "initialize/attached", rounds)
	if err != nil {
		return err
	}
	b.add(attached)
	return nil
}

// A program is the real one, with a configuration.
type program struct{ path, config string }

func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, p.path, append(args, "--config", p.config)...)
}

// install builds the program and has it list the servers of a configuration.
func install(ctx context.Context, b *bench) (p program, err error) {
	b.step("build tooldex and list %d servers", startServers)
	dir, err := b.folder("clients")
	if err != nil {
		return p, err
	}
	p = program{filepath.Join(dir, "tooldex.exe"), filepath.Join(dir, "tooldex.json")}
	servers := map[string]any{}
	for i := range startServers {
		servers[fmt.Sprintf("s%02d", i)] = map[string]any{"command": p.path, "args": []string{"sample-server"}}
	}
	text, err := json.Marshal(map[string]any{"state": filepath.Join(dir, "state"), "mcpServers": servers})
	if err != nil {
		return p, err
	}
	if err := os.WriteFile(p.config, text, 0o600); err != nil {
		return p, err
	}
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(ctx, "go", "build", "-o", p.path, "github.com/tooldex/tooldex/cmd/tooldex"),
		p.command(ctx, "reindex"),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return p, nil
}

// clients measures clients that come one after the other.
func (p program) clients(ctx context.Context, name string, rounds int) (row, error) {
	r := row{Name: name, System: "tooldex", Note: "start of the process to the answer; bytes resident"}
	var took timings
	for range rounds {
		d, bytes, err := p.initialized(ctx)
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
		took, r.Bytes = append(took, d), max(r.Bytes, bytes)
	}
	took.fill(&r)
	return r, nil
}

// initialized starts a client's process, and ends it when it has answered.
func (p program) initialized(ctx context.Context) (took time.Duration, resident int64, err error) {
	cmd := p.command(ctx, "serve", "--stdio")
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	var line string
	took, err = timed(func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		_, werr := io.WriteString(in, initialize)
		var rerr error
		line, rerr = bufio.NewReader(out).ReadString('\n')
		return errors.Join(werr, rerr)
	})
	if cmd.Process == nil {
		return 0, 0, err
	}
	if status, serr := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); serr == nil { // elsewhere it stays 0
		resident, serr = residentOf(status)
		err = errors.Join(err, serr)
	}
	err = errors.Join(err, in.Close(), cmd.Wait())
	if err == nil && !strings.Contains(line, `"serverInfo"`) {
		err = fmt.Errorf("initialize: answered %s", line)
	}
	return took, resident, err
}
