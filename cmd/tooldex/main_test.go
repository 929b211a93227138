package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tooldex": main, "hostile": hostile})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			for name, dir := range map[string]string{
				"HOME": "", "USERPROFILE": "", "XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": "state", "APPDATA": "AppData", "LOCALAPPDATA": "Local",
			} {
				e.Setenv(name, filepath.Join(home, dir))
			}
			project, err := filepath.Abs(filepath.Join("..", ".."))
			e.Setenv("PROJECT", project)
			return errors.Join(err, os.MkdirAll(home, 0o755))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"taken": taken, "free": free, "answers": answers, "reachable": reachable, "harmless": harmless},
	})
}

// taken VAR sets VAR to an address that another program listens on.
func taken(ts *testscript.TestScript, _ bool, args []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { ln.Close() })
	ts.Setenv(args[0], ln.Addr().String())
}

// free VAR sets VAR to an address that nothing listens on.
func free(ts *testscript.TestScript, _ bool, args []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], ln.Addr().String())
	ts.Check(ln.Close())
}

// answers URL returns once the address answers with 200.
func answers(ts *testscript.TestScript, _ bool, args []string) {
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(args[0])
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
	}
	ts.Fatalf("%s does not answer", args[0])
}

// reachable ADDR returns once something listens there.
func reachable(ts *testscript.TestScript, _ bool, args []string) {
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", args[0]); err == nil {
			conn.Close()
			return
		}
	}
	ts.Fatalf("nothing listens on %s", args[0])
}

// execute runs one command line in process.
func execute(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TOOLDEX_STATE", dir)
	t.Setenv("TOOLDEX_CONFIG", writeConfig(t, dir, "{}"))
	for _, k := range []struct{ args, want string }{
		{"serch", `command "serch": unknown; did you mean search or serve?` + "|see tooldex --help"},
		{"tools lst", `command "tools lst": unknown; did you mean list?` + "|see tooldex tools --help"},
		{"index dmp", `command "index dmp": unknown; did you mean dump?` + "|see tooldex index --help"},
		{"search --limt 3 x", `unknown flag: --limt; did you mean --limit?|see tooldex search --help`},
		{"search --limit x", `invalid argument "x" for "--limit" flag: strconv.ParseInt: parsing "x": invalid syntax|see tooldex search --help`},
		{"similar", `accepts 1 arg(s), received 0|see tooldex similar --help`},
		{"call", `requires at least 1 arg(s), only received 0|see tooldex call --help`},
		{"call a b=c --args {}", `--args and key=value: want one of them|see tooldex call --help`},
		{"version x", `unknown command "x" for "tooldex version"|see tooldex version --help`},
		{"serve --stdio --listen 127.0.0.1:1", `--stdio and --listen: want one of them|see tooldex serve --help`},
		{"sample-server --group food", `--group "food": want one of files, text, time, numbers|see tooldex sample-server --help`},
		{"sample-server --discover maybe", `--discover "maybe": want one of answer, exit, ignore|see tooldex sample-server --help`},
		{"import --client emacs", `--client "emacs": want one of claude-code, claude-desktop, codex, cursor, gemini, vscode, windsurf, zed|see tooldex import --help`},
		{"reindex --server none", `--server "none": the configuration has no such server; it has |see tooldex reindex --help`},
	} {
		code, stdout, stderr := execute(strings.Fields(k.args)...)
		message, hint, _ := strings.Cut(k.want, "|")
		want := fmt.Sprintf("tooldex: error: %s\ntooldex: hint: %s\n", message, hint)
		if code != 2 || stderr != want || stdout != "" {
			t.Errorf("%s: exit %d\n%s%swant 2\n%s", k.args, code, stdout, stderr, want)
		}
	}
}

func writeConfig(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "tooldex.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every command says what it is for, with an example that runs it.
func TestEveryCommandHasHelp(t *testing.T) {
	root := newRoot(&cli.CLI{Terminal: &term.Terminal{}})
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		if cmd.Short == "" || !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: no short text, or no example that runs it", cmd.CommandPath())
		}
		code, stdout, stderr := execute(append(strings.Fields(cli.Path(cmd)), "--help")...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "Examples:\n") {
			t.Errorf("%s --help: exit %d\n%s%s", cmd.CommandPath(), code, stdout, stderr)
		}
		for line := range strings.Lines(stdout) {
			if len([]rune(strings.TrimRight(line, "\n"))) > 90 {
				t.Errorf("%s --help: this line is wider than 90 columns: %s", cmd.CommandPath(), line)
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

func TestVersion(t *testing.T) {
	code, stdout, _ := execute("version")
	if code != 0 || !strings.HasPrefix(stdout, "tooldex ") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	if code, short, _ := execute("--version"); code != 0 || short != stdout {
		t.Errorf("--version: exit %d: %s", code, short)
	}
	code, stdout, _ = execute("version", "--json")
	if code != 0 || !strings.Contains(stdout, `"go": "go1.`) {
		t.Errorf("exit %d: %s", code, stdout)
	}
}
