// Command tooldex stands between an LLM client and any number of MCP servers
// and finds the right tool by meaning. This package is wiring only; the
// commands are in the packages below. "tooldex help" lists them; stdout is the result and nothing
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

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run executes one command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	signals := &cli.Interrupts{Exit: os.Exit}
	ctx, stop := signals.Watch(context.Background())
	defer stop()
	c := &cli.CLI{Terminal: term.New(stdin, stdout, stderr), Signals: signals, Version: buildVersion()}
	root := newRoot(c)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	err := root.ExecuteContext(ctx)
	if ferr := c.Flush(); err == nil {
		err = ferr
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	report(c.Err, root, err)
	if errors.As(err, new(cli.UsageError)) {
		return 2
	}
	return 1
}

// report prints err and the command that helps.
func report(w io.Writer, root *cobra.Command, err error) {
	if errors.Is(err, cli.ErrReported) {
		return
	}
	fmt.Fprintf(w, "tooldex: error: %v\n", err)
	hint := ""
	if h := new(cli.Hinted); errors.As(err, h) {
		hint = h.Advice
	} else if u := new(cli.UsageError); errors.As(err, u) {
		hint = "see " + strings.TrimSpace(root.Name()+" "+u.Command) + " --help"
	}
	if hint != "" {
		fmt.Fprintf(w, "tooldex: hint: %s\n", hint)
	}
}
