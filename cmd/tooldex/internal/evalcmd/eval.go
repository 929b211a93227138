package evalcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/phrased"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

const evalLong = `Measure, compare and tune how well tools are found.

A set is a folder: tools.jsonl {"id","server","name","description",
"input_schema","phrases"?}, queries[.SPLIT].jsonl {"id","text"} and qrels[.SPLIT].tsv
(query, tool, grade; tabs between), or a BEIR folder. A query without a
relevant tool is unanswerable and counts for the weak-match figures only.
DIR:SPLIT names one split.`

// eval is the parent of what measures and tunes ranking.
func (c commands) eval() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "eval", Short: "Measure, compare and tune ranking on labelled queries", Long: evalLong,
		Example: "  tooldex eval run sets/mine\n  tooldex eval lint",
	}, c.evalRun(), c.evalCompare(), c.evalTune(), c.evalAblate(), c.evalCalibrate(), c.evalReport(), c.evalAudit(), c.evalLint())
}

// evalFlags are what every command over labelled sets takes.
type evalFlags struct {
	cli commands
	cmd *cobra.Command // that takes them

	split    string
	catalog  bool
	tools    string
	lenient  bool
	minGrade int
	mode     string
	embedder string
	params   string
	phrases  string
	rotate   int
	k        []int
	limit    int
	depth    int
	seed     uint64
	quiet    bool
}

func (f *evalFlags) addSets(cmd *cobra.Command) {
	f.cmd = cmd
	fs := cmd.Flags()
	fs.StringVar(&f.split, "split", "", "the one split to read of every set")
	fs.BoolVar(&f.catalog, "catalog", false, "search the live catalog (see --state) instead of the sets' own tools")
	fs.StringVar(&f.tools, "tools", "", "search these tools: a tools/list answer as JSON, or a folder of them")
	fs.BoolVar(&f.lenient, "lenient", false, "count labels that name no tool instead of failing")
	fs.IntVar(&f.minGrade, "min-grade", 1, "least grade that is relevant")
	fs.IntVar(&f.rotate, "rotate", 0, "ask one in N of each tool's requests in turn and make the others its phrases, N sets of one; see --phrases all")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
}

func (f *evalFlags) addSearch(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.mode, "mode", "hybrid", "keyword, semantic or hybrid")
	fs.StringVar(&f.embedder, "embedder", "builtin", "where vectors come from: builtin, none, or ollama or openai with the settings of the configuration")
	fs.StringVar(&f.params, "params", "", "file with the ranking's parameters; default the shipped ones")
	fs.StringVar(&f.phrases, "phrases", "", "what people say of the tools: none (default), pack (what comes with tooldex) or all (the tools' own too; with --catalog, where it is the default, what the catalog has)")
	fs.IntSliceVar(&f.k, "k", []int{1, 5, 10}, "cut-offs of recall, hit and all")
	fs.IntVar(&f.limit, "limit", 10, "rows that a client asks for")
	fs.IntVar(&f.depth, "depth", 100, "rows that mrr and map look at, and that --run writes")
	fs.Uint64Var(&f.seed, "seed", 1, "of everything random")
}

// sets reads the sets that the arguments name.
func (f *evalFlags) sets(args []string) ([]*labels.Set, error) {
	tools, err := f.givenTools()
	if err != nil {
		return nil, err
	}
	var out []*labels.Set
	for _, arg := range args {
		dir, split := splitArg(arg)
		if split == "" {
			split = f.split
		}
		sets, err := labels.Load(dir, labels.Options{Split: split, Tools: tools, Lenient: f.lenient, MinGrade: f.minGrade})
		if err != nil {
			return nil, err
		}
		out = append(out, sets...)
	}
	return f.rotated(out)
}

// rotated turns each set into those of --rotate.
func (f *evalFlags) rotated(sets []*labels.Set) (out []*labels.Set, err error) {
	switch {
	case f.rotate == 0:
		return sets, nil
	case f.rotate < 2:
		return nil, cli.Usagef(f.cmd, "--rotate %d: want 2 or more", f.rotate)
	}
	for _, s := range sets {
		turns, err := s.Rotate(f.rotate)
		if err != nil {
			return nil, err
		}
		out = append(out, turns...)
	}
	return out, nil
}

// splitArg reads DIR:SPLIT; a colon that belongs to a path is left alone.
func splitArg(arg string) (dir, split string) {
	i := strings.LastIndexByte(arg, ':')
	if i < 0 || strings.ContainsAny(arg[i+1:], `/\`) {
		return arg, ""
	}
	if _, err := os.Stat(arg); err == nil {
		return arg, ""
	}
	return arg[:i], arg[i+1:]
}

// givenTools reads the tools of --catalog or --tools; nil without either.
func (f *evalFlags) givenTools() ([]index.Tool, error) {
	switch {
	case f.catalog && f.tools != "":
		return nil, errors.New("flags --catalog and --tools: want one of them")
	case f.catalog:
		return f.cli.catalogTools(f.cmd) // with the phrases that count, of all sources
	case f.tools != "":
		return dumpedTools(f.tools)
	}
	return nil, nil
}

// dumpedTools reads a tools.jsonl or what tools/list answered.
func dumpedTools(path string) ([]index.Tool, error) {
	if strings.HasSuffix(path, ".jsonl") {
		tools, _, err := labels.ReadTools(path, false)
		return tools, err
	}
	if st, err := os.Stat(filepath.Join(path, "tools.jsonl")); err == nil && !st.IsDir() {
		return dumpedTools(filepath.Join(path, "tools.jsonl"))
	}
	return labels.ReadDump(path)
}

// options resolves the flags about searching. done ends the progress display
// and releases the embedder.
func (f *evalFlags) options() (o eval.Options, done func(), err error) {
	if err := cli.OneOf(f.cmd, "mode", f.mode); err != nil {
		return o, nil, err
	}
	o.Mode = index.Mode(f.mode)
	if o.Phrases, err = f.whichPhrases(); err != nil {
		return o, nil, err
	}
	for _, k := range f.k {
		if k < 1 {
			return o, nil, cli.Usagef(f.cmd, "--k %d: want cut-offs of 1 or more", k)
		}
	}
	if o.Params, err = app.ReadParams(f.params); err != nil {
		return o, nil, err
	}
	e, closeEmbedder, err := f.cli.evalEmbedder(f.cmd, f.embedder)
	if err != nil {
		return o, nil, err
	}
	o.Embedder, o.K, o.Limit, o.Depth, o.Seed = e, f.k, f.limit, f.depth, f.seed
	bars := term.NewBars(f.cli.Err, f.quiet)
	o.Progress = bars.Tick
	return o, func() { bars.Finish(); closeEmbedder() }, nil
}

// whichPhrases reads --phrases. A set is measured without phrases unless they
// are asked for; a live catalog as it is, with what its configuration says of packs.
func (f *evalFlags) whichPhrases() (phrased.From, error) {
	switch {
	case f.catalog && (f.phrases == "" || f.phrases == string(phrased.All)):
		return phrased.Own, nil
	case f.phrases != "":
		return phrased.From(f.phrases), cli.OneOf(f.cmd, "phrases", f.phrases)
	}
	return phrased.None, nil
}

// overSets reads the sets and the options that the flags name into o, measures
// the sets and prints what came of it.
func overSets[R any](f *evalFlags, args []string, o *eval.Options, measure func([]*labels.Set) (R, error), show func(io.Writer, R)) error {
	sets, err := f.sets(args)
	if err != nil {
		return err
	}
	options, done, err := f.options()
	if err != nil {
		return err
	}
	defer done()
	*o = options
	res, err := measure(sets)
	if err != nil {
		return err
	}
	return f.cli.Result(res, func() { show(f.cli.Out, res) })
}

// writeParams writes the ranking's parameters as JSON where --out says.
func writeParams(cmd *cobra.Command, out string, params index.Params) error {
	return writeTo(cmd, "parameters", out, func(w io.Writer) error { return term.WriteJSON(w, params) })
}

// writeTo creates path and lets f fill it with what it says; "-" is standard
// output, and "" writes nothing.
func writeTo(cmd *cobra.Command, what, path string, f func(io.Writer) error) error {
	switch path {
	case "":
		return nil
	case "-":
		return f(cmd.OutOrStdout())
	}
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join(f(file), file.Close())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
