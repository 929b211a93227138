//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/tooldex/tooldex/embed"
)

// A daemon is a server that a test starts, kills and starts again.
type daemon struct {
	t      *testing.T
	env    []string
	args   []string // the program first
	health string   // answers 200 when it is ready
	cmd    *exec.Cmd
	log    *logBuffer
}

// start returns once the server is ready.
func (d *daemon) start() {
	d.t.Helper()
	d.cmd = exec.Command(d.args[0], d.args[1:]...)
	d.cmd.Env = append(os.Environ(), d.env...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	waitHTTP(d.t, d.health, is200)
}

// kill ends the server and what it started at once, as kill -9 does.
func (d *daemon) kill() {
	d.t.Helper()
	if d.cmd == nil {
		return
	}
	if err := syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		d.t.Errorf("kill %s: %v", d.args[0], err)
	}
	d.cmd.Wait() // the signal is its error
	d.cmd = nil
}

func newDaemon(t *testing.T, health string, env []string, args ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, env: env, args: args, health: health, log: &logBuffer{}}
	t.Cleanup(func() {
		d.kill()
		if t.Failed() {
			t.Logf("%s ended with\n%s", filepath.Base(args[0]), tail(d.log.String(), 3000))
		}
	})
	d.start()
	return d
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// An endpoint is a real embedding server with a tiny model, and the
// configuration that uses it.
type endpoint struct {
	*daemon
	config embed.Config
	// reload gives the server the model of another seed.
	reload func(seed uint64)
}

// endpoints start each kind of server.
var endpoints = map[string]func(t *testing.T) *endpoint{
	embed.Ollama: startOllama,
	embed.OpenAI: startLlama,
}

// needEndpoint is the program of a real embedding server, or skips the test.
func needEndpoint(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("%s is not set; .ci/embedders installs what this test needs and sets it", variable)
	}
	return path
}

func startOllama(t *testing.T) *endpoint {
	program := needEndpoint(t, "TOOLDEX_OLLAMA")
	addr, home := freeAddress(t), t.TempDir()
	base := &url.URL{Scheme: "http", Host: addr}
	e := &endpoint{config: embed.Config{Provider: embed.Ollama, URL: base.String(), Model: "tiny"}}
	e.daemon = newDaemon(t, base.String()+"/api/version",
		[]string{"OLLAMA_HOST=" + addr, "HOME=" + home, "OLLAMA_MODELS=" + filepath.Join(home, "models")}, program, "serve")
	e.reload = func(seed uint64) { createModel(t, base, tinyModel(seed)) }
	e.reload(1)
	return e
}

// ollamaChat is a chat model at Ollama, and the section of a configuration that
// names it; llamaChat at llama-server.
func ollamaChat(t *testing.T) object {
	e := startOllama(t)
	base, err := url.Parse(e.config.URL)
	if err != nil {
		t.Fatal(err)
	}
	createModel(t, base, tinyChatModel(1))
	return e.embedding()
}

func llamaChat(t *testing.T) object {
	program := needEndpoint(t, "TOOLDEX_LLAMA_SERVER")
	addr, model := freeAddress(t), filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(model, tinyChatModel(1), 0o600); err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(addr, ":")
	newDaemon(t, "http://"+addr+"/health", nil,
		program, "--model", model, "--host", host, "--port", port, "--threads", "1", "--alias", "tiny", "--ctx-size", fmt.Sprint(chatContext), "--parallel", "1")
	return object{"provider": embed.OpenAI, "model": "tiny", "url": "http://" + addr + "/v1"}
}

// createModel gives Ollama a model file. One thread is enough for it, and
// several wait for each other where processors are busy.
func createModel(t *testing.T, base *url.URL, file []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := api.NewClient(base, http.DefaultClient)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file))
	if err := client.CreateBlob(ctx, digest, bytes.NewReader(file)); err != nil {
		t.Fatalf("give ollama the model: %v", err)
	}
	request := &api.CreateRequest{Model: "tiny", Files: map[string]string{"tiny.gguf": digest}, Parameters: map[string]any{"num_thread": 1}}
	if err := client.Create(ctx, request, func(api.ProgressResponse) error { return nil }); err != nil {
		t.Fatalf("create ollama's model: %v", err)
	}
}

func startLlama(t *testing.T) *endpoint {
	program := needEndpoint(t, "TOOLDEX_LLAMA_SERVER")
	addr, model := freeAddress(t), filepath.Join(t.TempDir(), "tiny.gguf")
	write := func(seed uint64) {
		if err := os.WriteFile(model, tinyModel(seed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	base, port, _ := strings.Cut(addr, ":")
	e := &endpoint{config: embed.Config{Provider: embed.OpenAI, URL: "http://" + addr + "/v1", Model: "tiny"}}
	e.daemon = newDaemon(t, "http://"+addr+"/health", nil,
		program, "--model", model, "--embeddings", "--host", base, "--port", port, "--threads", "1", "--alias", "tiny")
	e.reload = func(seed uint64) {
		e.kill()
		write(seed)
		e.start()
	}
	return e
}
