package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
)

// width is the number of columns of the terminal that w is, 0 if it is none.
func width(w io.Writer) int {
	f, ok := under(w).(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) && !isatty.IsCygwinTerminal(f.Fd()) {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 40 {
		return 80
	}
	return columns
}

// A grid is a table of a result. On a terminal its last column is cut to what
// is left of the line; elsewhere nothing is cut and columns stay aligned.
type grid struct {
	head    []string
	rows    [][]string
	numbers []int  // columns that are aligned to the right
	indent  string // before every line
}

func newTable(head ...string) *grid { return &grid{head: head} }

// add adds a row. Cells are made visible here, as their widths count.
func (g *grid) add(cells ...string) {
	for i, c := range cells {
		cells[i] = visible(strings.Join(strings.Fields(c), " "))
	}
	g.rows = append(g.rows, cells)
}

// show writes the grid to the result.
func (a *cli) show(g *grid) { g.write(a.out) }

// showRows writes the grid to the result, or what to say when it is empty.
func (a *cli) showRows(g *grid, none string) {
	if len(g.rows) == 0 {
		a.say("%s", none)
		return
	}
	a.show(g)
}

func (g *grid) write(w io.Writer) {
	t := pretty.NewWriter()
	t.SetStyle(pretty.StyleDefault)
	t.Style().Options = pretty.OptionsNoBordersAndSeparators
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", "  "
	t.Style().Format.Header = text.FormatUpper
	columns := width(w)
	t.AppendHeader(cells(g.head))
	for _, r := range g.rows {
		t.AppendRow(cells(g.fitted(r, columns)))
	}
	var configs []pretty.ColumnConfig
	for _, n := range g.numbers {
		configs = append(configs, pretty.ColumnConfig{Number: n + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for i, line := range strings.Split(t.Render(), "\n") {
		line = strings.TrimRight(g.indent+line, " \r")
		if i == 0 {
			bold(w, line)
			continue
		}
		fmt.Fprintln(w, line)
	}
}

func cells(texts []string) pretty.Row {
	row := make(pretty.Row, len(texts))
	for i, s := range texts {
		row[i] = s
	}
	return row
}

// fitted cuts the last cell to what the other columns leave of the line.
func (g *grid) fitted(row []string, columns int) []string {
	last := len(row) - 1
	out := slices.Clone(row)
	if columns == 0 {
		return out
	}
	left := columns - len(g.indent)
	for i := range last {
		left -= g.widest(i) + 2
	}
	if left >= 10 {
		out[last] = cut(out[last], left)
	}
	return out
}

func (g *grid) widest(column int) int {
	w := text.StringWidth(g.head[column])
	for _, r := range g.rows {
		w = max(w, text.StringWidth(r[column]))
	}
	return w
}

// cut shortens s to n columns.
func cut(s string, n int) string {
	if text.StringWidth(s) <= n {
		return s
	}
	return text.Trim(s, n-1) + "…"
}

// hang writes a line of the result behind a prefix; on a terminal what is too
// long goes on below its beginning.
func (a *cli) hang(prefix, line string) {
	prefix, line = flat(prefix), flat(line)
	columns := width(a.out)
	room := columns - text.StringWidth(prefix)
	if columns == 0 || room < 20 || text.StringWidth(line) <= room {
		a.say("%s%s", prefix, line)
		return
	}
	indent := strings.Repeat(" ", text.StringWidth(prefix))
	for part := range strings.Lines(text.WrapSoft(line, room)) {
		a.say("%s%s", prefix, strings.TrimRight(part, " \n"))
		prefix = indent
	}
}

// paragraph writes a text, of any number of lines, behind an indent.
func (a *cli) paragraph(indent, s string) {
	for line := range strings.Lines(s) {
		a.hang(indent, strings.TrimRight(line, " \r\n"))
	}
}

// commands is how the command line calls what there is to do and to give.
var commands = gateway.Vocabulary{
	Search: `"tooldex search"`, List: `"tooldex tools list"`, Describe: `"tooldex tools show"`,
	Categories: `"tooldex tools categories"`, Similar: `"tooldex similar"`, Labels: `"tooldex tools categories"`, Start: `"tooldex call"`, Status: `"tooldex status"`,
	Hybrid: "--mode hybrid", Keyword: "--mode keyword", MinScore: "--min-score", Timeout: "--timeout",
}

// told is what an operation failed with, with its advice as a hint.
func told(err error) error {
	var failure *gateway.Error
	if !errors.As(err, &failure) || failure.Next == nil {
		return err
	}
	return hint(err, "%s", failure.Next.In(commands))
}

// advise notes what to do next, if there is anything.
func (a *cli) advise(next gateway.Advice) {
	if next != nil {
		a.note("hint: %s", next.In(commands))
	}
}

// answer prints an operation's result as the JSON object that v gives, when
// that is wanted, else shows it to a person.
func (a *cli) answer(v any, show func()) error {
	if !a.json {
		show()
		return nil
	}
	raw, err := rawjson.Marshal(v)
	return a.sayRaw(raw, err)
}
