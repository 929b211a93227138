// Command tooldex stands between an LLM client and any number of MCP servers
// and finds the right tool by meaning. This package is wiring only: one file a
// subcommand. "tooldex help" lists them; stdout is the result and nothing
// else; the exit code is 0, 1 for an error, 2 for wrong usage, or 128 and the
// signal's number when a second signal ends the process at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run executes one command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	signals := &interrupts{exit: os.Exit}
	ctx, stop := signals.watch(context.Background())
	defer stop()
	a := &cli{in: stdin, raw: stdout, out: newScreen(stdout), err: newScreen(stderr), signals: signals}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if ferr := a.flushed(); err == nil {
		err = ferr
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	report(a.err, root, err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// report prints err and the command that helps.
func report(w io.Writer, root *cobra.Command, err error) {
	if errors.Is(err, errReported) {
		return
	}
	fmt.Fprintf(w, "tooldex: error: %v\n", err)
	hint := ""
	if h := new(hinted); errors.As(err, h) {
		hint = h.hint
	} else if u := new(usageError); errors.As(err, u) {
		hint = "see " + strings.TrimSpace(root.Name()+" "+u.command) + " --help"
	}
	if hint != "" {
		fmt.Fprintf(w, "tooldex: hint: %s\n", hint)
	}
}

// errReported ends a command whose result says already what is wrong.
var errReported = errors.New("reported")

// usageError is a command line that cannot be understood.
type usageError struct {
	error
	command string // path below the root, "" for the root itself
}

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError of cmd.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...), path(cmd)}
}

// path is the command's name without the program's.
func path(cmd *cobra.Command) string {
	_, rest, _ := strings.Cut(cmd.CommandPath(), " ")
	return rest
}

// hinted is an error with a hint that names a command to run.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// hint adds a hint to err; nil stays nil.
func hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hinted{err, fmt.Sprintf(format, args...)}
}
