// Benchmarks measures the search engine beside others: speed, memory, disk,
// and how much of the exact answer is found.
//
// It makes catalogs of tools from a seed, with the lengths and server sizes of
// real ones, and runs every system on the same data, one after the other:
//
//	go run ./benchmarks             1k, 10k and 100k tools; minutes
//	go run ./benchmarks --quick     1k and 10k, under a minute
//	go run ./benchmarks --load      only 32 clients at once
//	go run ./benchmarks --starts    only the first call to one of 24 servers, and the start of a client
//	go run ./benchmarks --scopes    only searches within scopes
//	go run ./benchmarks --json      a list of rows instead of the table
//
// A row's recall is the share of the exact best ten that were found, equal
// scores counting as equal: the exact cosines for "semantic" and "hybrid", an
// independent BM25F for our "keyword", our BM25F for the others', who rank one
// text a tool by their own analysis. Times are of one query at a time; ours
// include embedding the query, the others get its vector. Budgets are in
// docs; what no machine can promise is the noise, so compare within one run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	quick, json bool
	load        bool // only many clients at once
	starts      bool // only starts of servers
	scopes      bool // only searches within scopes
	sizes       sizes
	seed        uint64
	queries     int
	child       string // what a process that run started is for, see child.go
	dir         string
	era         string
}

// sizes is a flag: numbers of tools, separated by commas.
type sizes []int

func (s *sizes) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*s), " ", ","), "[]")
}

func (s *sizes) Set(text string) error {
	*s = nil
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return fmt.Errorf("%q: want numbers of tools such as 1000,10000", text)
		}
		*s = append(*s, n)
	}
	return nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&o.quick, "quick", false, "1k and 10k tools, fewer queries and rivals")
	f.BoolVar(&o.json, "json", false, "print rows as JSON")
	f.BoolVar(&o.load, "load", false, "only many clients at once")
	f.BoolVar(&o.starts, "starts", false, "only the first call to one of many servers, and the start of a client")
	f.BoolVar(&o.scopes, "scopes", false, "only searches within scopes, beside those without")
	f.Var(&o.sizes, "sizes", "numbers of tools, such as 1000,10000")
	f.Uint64Var(&o.seed, "seed", 1, "what the catalogs are made from")
	f.IntVar(&o.queries, "queries", 0, "queries of each kind (default 1000, 200 with --quick)")
	f.StringVar(&o.child, "child", "", "used by the program itself")
	f.StringVar(&o.dir, "dir", "", "used by the program itself")
	f.StringVar(&o.era, "era", "", "used by the program itself")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.sizes == nil {
		o.sizes = sizes{1_000, 10_000}
		if !o.quick {
			o.sizes = append(o.sizes, 100_000)
		}
	}
	if o.queries <= 0 {
		o.queries = 1000
		if o.quick {
			o.queries = 200
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.child != "" {
		return runChild(ctx, o, stdin, stdout)
	}
	b, err := newBench(o, newBar(stderr))
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	err = b.all(ctx)
	b.step("")
	if o.json {
		return errors.Join(err, printJSON(stdout, b.rows))
	}
	printTable(stdout, b.rows)
	return err
}

// all measures everything; rows that were finished before an error stay.
func (b *bench) all(ctx context.Context) error {
	if b.o.load {
		return b.loadAlone(ctx)
	}
	if b.o.starts {
		return errors.Join(clients(ctx, b, clientRounds), starts(ctx, b))
	}
	if b.o.scopes {
		return scopesAlone(ctx, b)
	}
	for _, n := range b.o.sizes {
		if err := b.catalog(ctx, n); err != nil {
			return fmt.Errorf("%d tools: %w", n, err)
		}
	}
	if err := b.hops(ctx); err != nil {
		return fmt.Errorf("execute_tool: %w", err)
	}
	return nil
}

// newBar shows the step under way, if w is a terminal.
func newBar(w io.Writer) *progressbar.ProgressBar {
	f, ok := w.(*os.File)
	return progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionSpinnerType(14),
		progressbar.OptionSetVisibility(ok && isatty.IsTerminal(f.Fd())), progressbar.OptionClearOnFinish())
}
