package term

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// Width is the number of columns of the terminal that w is, 0 if it is none.
func Width(w io.Writer) int {
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
type Grid struct {
	Head    []string
	Rows    [][]string
	Numbers []int  // columns that are aligned to the right
	Indent  string // before every line
}

func NewGrid(head ...string) *Grid { return &Grid{Head: head} }

// Add adds a row. Cells are made visible here, as their widths count.
func (g *Grid) Add(cells ...string) {
	for i, c := range cells {
		cells[i] = Visible(strings.Join(strings.Fields(c), " "))
	}
	g.Rows = append(g.Rows, cells)
}

// Show writes the grid to the result.
func (t *Terminal) Show(g *Grid) { g.Write(t.Out) }

// ShowRows writes the grid to the result, or what to say when it is empty.
func (t *Terminal) ShowRows(g *Grid, none string) {
	if len(g.Rows) == 0 {
		t.Say("%s", none)
		return
	}
	t.Show(g)
}

func (g *Grid) Write(w io.Writer) {
	t := pretty.NewWriter()
	t.SetStyle(pretty.StyleDefault)
	t.Style().Options = pretty.OptionsNoBordersAndSeparators
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", "  "
	t.Style().Format.Header = text.FormatUpper
	columns := Width(w)
	t.AppendHeader(cells(g.Head))
	for _, r := range g.Rows {
		t.AppendRow(cells(g.fitted(r, columns)))
	}
	var configs []pretty.ColumnConfig
	for _, n := range g.Numbers {
		configs = append(configs, pretty.ColumnConfig{Number: n + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	for i, line := range strings.Split(t.Render(), "\n") {
		line = strings.TrimRight(g.Indent+line, " \r")
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
func (g *Grid) fitted(row []string, columns int) []string {
	last := len(row) - 1
	out := slices.Clone(row)
	if columns == 0 {
		return out
	}
	left := columns - len(g.Indent)
	for i := range last {
		left -= g.widest(i) + 2
	}
	if left >= 10 {
		out[last] = Cut(out[last], left)
	}
	return out
}

func (g *Grid) widest(column int) int {
	w := text.StringWidth(g.Head[column])
	for _, r := range g.Rows {
		w = max(w, text.StringWidth(r[column]))
	}
	return w
}

// Cut shortens s to n columns.
func Cut(s string, n int) string {
	if text.StringWidth(s) <= n {
		return s
	}
	return text.Trim(s, n-1) + "…"
}

// Hang writes a line of the result behind a prefix; on a terminal what is too
// long goes on below its beginning.
func (t *Terminal) Hang(prefix, line string) {
	prefix, line = Flat(prefix), Flat(line)
	columns := Width(t.Out)
	room := columns - text.StringWidth(prefix)
	if columns == 0 || room < 20 || text.StringWidth(line) <= room {
		t.Say("%s%s", prefix, line)
		return
	}
	indent := strings.Repeat(" ", text.StringWidth(prefix))
	for part := range strings.Lines(text.WrapSoft(line, room)) {
		t.Say("%s%s", prefix, strings.TrimRight(part, " \n"))
		prefix = indent
	}
}

// Paragraph writes a text, of any number of lines, behind an indent.
func (t *Terminal) Paragraph(indent, s string) {
	for line := range strings.Lines(s) {
		t.Hang(indent, strings.TrimRight(line, " \r\n"))
	}
}
