package phrasecmd

import (
	"context"
	"crypto/sha256"
	_ "embed" // of the prompt
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/internal/app"
)

// prompt is what an assistant is told who fills in an export.
//
//go:embed prompt.md
var prompt string

const exportHelp = `Write the stored phrases, or with --missing the tools that have none, as JSONL (a
tool a line) or TSV (a phrase a line): what "phrases import" reads.

With --missing and --out a file with a prompt is written beside it. Give both to
any assistant, and import what it answers.`

type exportFlags struct {
	servers []string
	source  string
	out     string
	format  string
	missing bool
}

func (c commands) export() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use: "export", Short: "Write phrases, or the tools without any, to a file", Long: exportHelp, Args: cobra.NoArgs,
		Example: "  tooldex phrases export --out phrases.jsonl\n  tooldex phrases export --missing --server github --out todo.jsonl\n  tooldex phrases export --format tsv",
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.servers, "server", nil, "only this `server`; can be repeated")
	fs.StringVar(&f.source, "source", "", "only this `source`: model, import or use")
	fs.StringVar(&f.out, "out", "", "`file` to write; standard output without it")
	fs.StringVar(&f.format, "format", "", "`format`: jsonl or tsv; without it what the name of the file says, else jsonl")
	fs.BoolVar(&f.missing, "missing", false, "the tools that have no phrases at all, with what is needed to write some")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return c.Offline(cmd, func(_ context.Context, e *app.Engine) error { return c.runExport(e, &f) })
	}
	return cmd
}

func (f *exportFlags) check(cmd *cobra.Command) error {
	if f.format == "" {
		if f.format = string(phrase.JSONL); strings.EqualFold(filepath.Ext(f.out), ".tsv") {
			f.format = string(phrase.TSV)
		}
	}
	switch {
	case f.format != string(phrase.JSONL) && f.format != string(phrase.TSV):
		return cli.OneOf(cmd, "format", f.format)
	case f.missing && f.format == string(phrase.TSV):
		return cli.Usagef(cmd, "--missing: a tool without phrases has no line in TSV; use JSONL")
	case f.missing && f.source != "":
		return cli.Usagef(cmd, "--missing and --source: want one of them")
	case f.source != "" && !phrase.Source(f.source).Stored():
		return cli.Usagef(cmd, "--source %q: want model, import or use: no others are stored", f.source)
	}
	return nil
}

func (c commands) runExport(e *app.Engine, f *exportFlags) error {
	var records []phrase.Record
	for _, t := range e.Index.Phrases().List() {
		server, _, _ := strings.Cut(t.Tool, "/")
		if len(f.servers) > 0 && !contains(f.servers, server) {
			continue
		}
		r, ok := f.record(t)
		if ok && f.missing {
			ok = describe(e, t.ID, &r)
		}
		if ok {
			records = append(records, r)
		}
	}
	if f.out == "" {
		return phrase.Write(c.Out, phrase.Format(f.format), records)
	}
	err := atomicfile.Write(f.out, func(w io.Writer) error { return phrase.Write(w, phrase.Format(f.format), records) })
	if err != nil {
		return fmt.Errorf("write %s: %w", f.out, err)
	}
	c.Note("%s: %s", f.out, term.Plural(len(records), "tool"))
	if !f.missing || len(records) == 0 {
		return nil
	}
	beside := strings.TrimSuffix(f.out, filepath.Ext(f.out)) + ".prompt.md"
	err = atomicfile.Write(beside, func(w io.Writer) error { _, err := io.WriteString(w, prompt); return err })
	if err != nil {
		return fmt.Errorf("write %s: %w", beside, err)
	}
	c.Note("%s: give it with the file to an assistant, then \"tooldex phrases import\" what it answers", beside)
	return nil
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if strings.EqualFold(s, one) {
			return true
		}
	}
	return false
}

// record is what is exported of a tool.
func (f *exportFlags) record(t index.ToolPhrases) (r phrase.Record, ok bool) {
	r.Tool = t.Tool
	if f.missing {
		r.Phrases = phrase.List{}
		return r, len(t.Phrases) == 0
	}
	for _, p := range t.Phrases {
		if p.Source.Stored() && (f.source == "" || p.Source == phrase.Source(f.source)) {
			r.Phrases = append(r.Phrases, p)
		}
	}
	return r, len(r.Phrases) > 0
}

// describe adds what has to be known of a tool to write phrases for it. A
// hidden one needs none.
func describe(e *app.Engine, id string, r *phrase.Record) bool {
	hit, ok := e.Index.Get(id)
	if !ok {
		return false
	}
	r.Description = hit.Tool.Description
	if raw, err := e.Index.Raw(id); err == nil {
		r.Parameters = strings.Fields(tool.Inputs(raw))
	}
	r.DescriptionSHA = shaOf(e, hit)
	return true
}

// shaOf is the hash of a tool's description as its server wrote it, "" when
// that cannot be read.
func shaOf(e *app.Engine, hit index.Hit) string {
	raw, err := e.Index.Raw(hit.ID)
	if err != nil {
		return ""
	}
	original, err := index.Decode(hit.Tool.Server, raw)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(original.Description))
	return hex.EncodeToString(sum[:])
}

const importHelp = `Take phrases from a file: JSONL with a tool a line, as "phrases export" writes it
and its prompt asks for, or TSV with a tool, a phrase, and if you like a kind a
line. All of a file is taken or, when a line is wrong, nothing, and every wrong
line is named. "-" reads standard input.`

func (c commands) importFile() *cobra.Command {
	var skip bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Take phrases from a file", Long: importHelp, Args: cobra.ExactArgs(1),
		Example: "  tooldex phrases import phrases.jsonl\n  tooldex phrases import --skip-unknown team.tsv",
	}
	cmd.Flags().BoolVar(&skip, "skip-unknown", false, "pass over tools that are not in the catalog")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		records, problems, err := readFile(cmd, args[0])
		if err != nil {
			return err
		}
		return c.write(cmd, func(ctx context.Context, e *app.Engine) error {
			return c.runImport(ctx, e, intake{file: args[0], records: records, problems: problems, skip: skip})
		})
	}
	return cmd
}

func readFile(cmd *cobra.Command, path string) ([]phrase.Record, []phrase.Problem, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close() // nothing was written
		in = f
	}
	return phrase.Read(in, path)
}

// An intake is a file on its way into the catalog.
type intake struct {
	file     string
	records  []phrase.Record
	problems []phrase.Problem
	skip     bool
	unknown  map[string]bool
}

func (c commands) runImport(ctx context.Context, e *app.Engine, in intake) error {
	more, given, err := in.phrases(e)
	if err != nil {
		return err
	}
	n, err := e.Index.Phrases().Add(ctx, more)
	if err != nil {
		return fmt.Errorf("import %s: nothing was taken: %w", in.file, err)
	}
	done := change{Added: n, Known: given - n, Tools: len(more), Skipped: len(in.unknown)}
	return c.Result(done, func() {
		c.Say("%s: %s, of %s", in.file, done.said(), term.Plural(done.Tools, "tool"))
		if done.Skipped > 0 {
			c.Say("passed over %s that the catalog does not have", term.Plural(done.Skipped, "tool"))
		}
	})
}

// maxProblems is how many wrong lines are named.
const maxProblems = 20

// phrases are those of the file that are new to their tools, by id, and how
// many it has; or an error that names every wrong line.
func (in *intake) phrases(e *app.Engine) (more map[string][]phrase.Phrase, given int, err error) {
	more, in.unknown = map[string][]phrase.Phrase{}, map[string]bool{}
	byName := map[string]index.ToolPhrases{}
	for _, t := range e.Index.Phrases().List() {
		byName[t.Tool] = t
	}
	for _, r := range in.records {
		t, ok := byName[r.Title()]
		if !ok {
			in.unknown[r.Title()] = true
			if !in.skip {
				in.problems = append(in.problems, phrase.Problem{File: in.file, Line: r.Line, What: fmt.Sprintf("tool %q is not in the catalog", r.Title())})
			}
			continue
		}
		if len(r.Phrases) == 0 {
			continue
		}
		given += len(r.Phrases)
		more[t.ID] = append(more[t.ID], fresh(e, t, &r)...)
		if n := len(more[t.ID]); n > phrase.MostStored {
			in.problems = append(in.problems, phrase.Problem{File: in.file, Line: r.Line, What: fmt.Sprintf(
				"tool %q: at most %d phrases of a tool are kept, of which %d count; the file has more", r.Title(), phrase.MostStored, phrase.Most)})
			more[t.ID] = nil
		}
	}
	return more, given, in.wrong()
}

// wrong is an error that names the first wrong lines, nil without any.
func (in *intake) wrong() error {
	n := len(in.problems)
	if n == 0 {
		return nil
	}
	slices.SortStableFunc(in.problems, func(a, b phrase.Problem) int { return a.Line - b.Line })
	text := ""
	for _, p := range in.problems[:min(n, maxProblems)] {
		text += "\n" + p.String()
	}
	if n > maxProblems {
		text += fmt.Sprintf("\nand %d more", n-maxProblems)
	}
	err := fmt.Errorf("import %s: nothing was taken: %s:%s", in.file, term.Plural(n, "wrong line"), text)
	if len(in.unknown) > 0 && !in.skip {
		err = cli.Hint(err, "--skip-unknown passes over tools that are not in the catalog")
	}
	return err
}

// fresh are the record's phrases that the tool does not have. Those that are
// written for another description of it are stale.
func fresh(e *app.Engine, t index.ToolPhrases, r *phrase.Record) (list []phrase.Phrase) {
	have := map[string]bool{}
	for _, p := range t.Phrases {
		if p.Source.Stored() {
			have[phrase.Key(p.Text)] = true
		}
	}
	of := ""
	if hit, ok := e.Index.Get(t.ID); ok && r.DescriptionSHA != "" && !strings.EqualFold(r.DescriptionSHA, shaOf(e, hit)) {
		of = "description " + r.DescriptionSHA
	}
	for _, p := range r.Phrases {
		if p.Of == "" {
			p.Of = of
		}
		if !have[phrase.Key(p.Text)] {
			list = append(list, p)
		}
	}
	return list
}
