package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A reader types what a page says, in a home folder of their own.
type reader struct {
	*testing.T
	home, dir string   // dir is where they type
	env       []string // beside the home's
	replace   *strings.Replacer
}

func newReader(t *testing.T) *reader {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the lines are of a POSIX shell")
	}
	home, err := os.MkdirTemp("", "docs") // a socket's path is short
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return &reader{T: t, home: home, dir: home, replace: strings.NewReplacer()}
}

// put writes a file of the home folder, which may be run.
func (r *reader) put(path, text string) {
	r.Helper()
	path = filepath.Join(r.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		r.Fatal(err)
	}
}

func (r *reader) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(r.Context(), name, args...)
	c.Dir = r.dir
	c.Env = append(os.Environ(), "HOME="+r.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "TOOLDEX_CONFIG=", "TOOLDEX_STATE=", "COLUMNS=400",
		"PATH="+filepath.Join(r.home, "bin")+":"+os.Getenv("PATH"))
	c.Env = append(c.Env, r.env...)
	return c
}

// enter types a line and returns what the shell shows then.
func (r *reader) enter(line string) (string, error) {
	out, err := r.command("sh", "-c", r.replace.Replace(line)).CombinedOutput()
	return string(out), err
}

// background runs tooldex until the test ends, and returns once the address
// answers with 200.
func (r *reader) background(url string, args ...string) {
	r.Helper()
	c := r.command("tooldex", args...)
	var log strings.Builder
	c.Stdout, c.Stderr = &log, &log
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // before the test's cleanups
	c.WaitDelay = 15 * time.Second
	if err := c.Start(); err != nil {
		r.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { c.Wait(); close(ended) }()
	r.Cleanup(func() { <-ended })
	for {
		if res, err := http.Get(url); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ended:
			r.Fatalf("tooldex %s ended: %s", strings.Join(args, " "), log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// unused is an address that nothing listens on.
func unused(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// A typed line is a command of a page; shown is what the page has it print.
type typed struct{ line, shown string }

// lines are the commands of a page in their order, those in its sentences too.
func lines(text string) (out []typed) {
	for _, m := range anyCode.FindAllStringSubmatch(text, -1) {
		if m[2] != "" {
			out = append(out, typed{line: m[2]})
		}
		for _, step := range command.FindAllStringSubmatchIndex(m[1], -1) {
			line, shown := m[1][step[2]:step[3]], ""
			if strings.HasPrefix(m[1][step[0]:], "$ ") {
				shown, _, _ = strings.Cut(strings.TrimPrefix(m[1][step[1]:], "\n"), "$ ")
			}
			line, _, _ = strings.Cut(line, " #")
			line, _, _ = strings.Cut(line, "   ")
			out = append(out, typed{line: strings.TrimSpace(line), shown: shown})
		}
	}
	return out
}

var anyCode = regexp.MustCompile(fence.String() + "|" + inline.String())

// varying is what differs from run to run.
var varying = regexp.MustCompile(`tooldex_\S+|[0-9.]+ (ms|KiB)\b`)

func squeezed(line string) string {
	return strings.Join(strings.Fields(varying.ReplaceAllString(line, "…")), " ")
}

// missing is the first line that a page shows and that was not printed after
// the one before it.
func missing(got, shown string) string {
	left := strings.Split(got, "\n")
	for line := range strings.Lines(shown) {
		want := squeezed(line)
		for len(left) > 0 && squeezed(left[0]) != want {
			left = left[1:]
		}
		if len(left) == 0 {
			return want
		}
		left = left[1:]
	}
	return ""
}
