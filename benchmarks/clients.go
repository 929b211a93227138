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
	program, config, err := installed(ctx, b)
	if err != nil {
		return err
	}
	b.step("a client over stdio, alone")
	if err := measureClient(ctx, b, "initialize/alone", program, config, rounds); err != nil {
		return err
	}
	serve := exec.CommandContext(ctx, program, "serve", "--listen", "127.0.0.1:0", "--config", config)
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
	return measureClient(ctx, b, "initialize/attached", program, config, rounds)
}

// installed builds the program and lists the servers of a configuration.
func installed(ctx context.Context, b *bench) (program, config string, err error) {
	b.step("build tooldex and list %d servers", startServers)
	dir, err := b.folder("clients")
	if err != nil {
		return "", "", err
	}
	program, config = filepath.Join(dir, "tooldex.exe"), filepath.Join(dir, "tooldex.json")
	servers := map[string]any{}
	for i := range startServers {
		servers[fmt.Sprintf("s%02d", i)] = map[string]any{"command": program, "args": []string{"sample-server"}}
	}
	text, err := json.Marshal(map[string]any{"state": filepath.Join(dir, "state"), "mcpServers": servers})
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return "", "", err
	}
	for _, args := range [][]string{
		{"go", "build", "-o", program, "github.com/tooldex/tooldex/cmd/tooldex"},
		{program, "reindex", "--config", config},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return program, config, nil
}

// measureClient measures clients that come one after the other.
func measureClient(ctx context.Context, b *bench, name, program, config string, rounds int) error {
	var took timings
	var resident int64
	for range rounds {
		d, bytes, err := initialized(ctx, program, config)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		took, resident = append(took, d), max(resident, bytes)
	}
	r := row{Name: name, System: "tooldex", Bytes: resident, Note: "start of the process to the answer; bytes resident"}
	took.fill(&r)
	b.add(r)
	return nil
}

// initialized starts a client's process, and ends it when it has answered.
func initialized(ctx context.Context, program, config string) (took time.Duration, resident int64, err error) {
	cmd := exec.CommandContext(ctx, program, "serve", "--stdio", "--config", config)
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
