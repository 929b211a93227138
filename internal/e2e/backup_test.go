package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// command runs the binary with the setup's configuration.
func command(t *testing.T, s setup, args ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(tooldex(t), append(args, "--config", s.config)...).CombinedOutput()
	return string(out), err
}

// A backup that is made while the folder is written to and served makes a
// folder that serves the same: its tools, tokens, phrases, counts and virtual
// servers. A folder in use is left alone.
func TestBackup(t *testing.T) {
	us7, err := os.ReadFile(filepath.Join("..", "manage", "testdata", "us7.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := books(t)
	a, stop := process(t, s)
	url := "http://" + a.addr + "/mcp"
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: url}, "")
	find(t, session, "finance files", "files/finance_files")
	execute(t, session, "files/finance_files", object{})
	a.ask("POST", "/servers", string(us7), http.StatusCreated)
	for _, args := range [][]string{
		{"auth", "token", "new", "ci-bot", "--team", "finance-team"}, {"phrases", "add", "files/finance_files", "the shoebox of receipts"},
	} {
		if out, err := command(t, s, args...); err != nil {
			t.Fatal(out, err)
		}
	}
	isCounted(t, s, "files/finance_files") // is written within seconds
	file := filepath.Join(t.TempDir(), "tooldex.backup")
	whileWritten(t, s, file)

	if out, err := command(t, s, "restore", file, "--replace"); err == nil || !strings.Contains(out, "a tooldex uses it") {
		t.Errorf("a folder in use: %s, %v", out, err)
	}
	stop()
	if out, err := command(t, s, "restore", file); err == nil || !strings.Contains(out, "not empty") {
		t.Errorf("a folder with something in it: %s, %v", out, err)
	}
	other := setup{config: s.config, state: filepath.Join(t.TempDir(), "other")}
	if out, err := command(t, s, "restore", file, "--state", other.state); err != nil {
		t.Fatal(out, err)
	}
	if _, err := os.Stat(filepath.Join(other.state, "admin.key")); err == nil {
		t.Error("the key of the API is in the backup")
	}
	if out, err := command(t, s, "restore", file, "--replace"); err != nil || !strings.Contains(out, s.state+".before-1") {
		t.Fatal(out, err)
	}
	restored(t, s)
}

// isCounted waits until an execution is on disk.
func isCounted(t *testing.T, s setup, tool string) {
	t.Helper()
	for range 500 {
		if out, err := command(t, s, "tools", "show", tool, "--json"); err == nil && strings.Contains(out, `"total_executions":1`) {
			return
		}
	}
	t.Fatal("the execution is never counted")
}

// whileWritten makes backups while tokens are made, and leaves the last.
func whileWritten(t *testing.T, s setup, file string) {
	t.Helper()
	var wrote sync.WaitGroup
	wrote.Go(func() {
		for i := range 5 {
			if out, err := command(t, s, "phrases", "add", "files/finance_files", fmt.Sprint("phrase number ", i)); err != nil {
				t.Error(out, err)
			}
		}
	})
	for range 3 {
		if out, err := command(t, s, "backup", file); err != nil {
			t.Error(out, err)
		}
	}
	wrote.Wait()
	if out, err := command(t, s, "backup", file); err != nil || !strings.Contains(out, "written to "+file) {
		t.Fatal(out, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the backup is open to others: %v, %v", info.Mode(), err)
	}
}

// restored asserts that a folder serves what the backup had.
func restored(t *testing.T, s setup) {
	t.Helper()
	for _, tt := range []struct{ args, want string }{
		{"auth token list", "token:ci-bot"}, {"phrases list files/finance_files", "the shoebox of receipts"}, {"phrases list files/finance_files", "phrase number 4"},
		{"servers list", "finance-ai-tools"}, {"tools show files/finance_files --json", `"total_executions":1`}, {"index check", "no problem found"},
	} {
		if out, err := command(t, s, strings.Fields(tt.args)...); err != nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %s, %v; want %s", tt.args, out, err, tt.want)
		}
	}
	a, _ := process(t, s)
	scoped(t, "http://"+a.addr+"/servers/finance-ai-tools/mcp")
}
