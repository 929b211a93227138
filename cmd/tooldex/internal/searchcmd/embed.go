package searchcmd

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/internal/app"
)

const embedHelp = `Turn texts into vectors with the configured embedder and print the first numbers
of each and how like each other they are (cosine, -1 to 1). --query embeds them
as search texts, which some models treat differently. --json prints the whole
vectors.`

const embedExample = `  tooldex embed "open a pull request" "create a merge request" "bake a cake"
  tooldex embed --query "weather" --json`

// shownDims is how many numbers of a vector are printed.
const shownDims = 6

func (c commands) embed() *cobra.Command {
	var asQuery bool
	cmd := &cobra.Command{
		Use: "embed TEXT…", Short: "Turn texts into vectors and compare them", Long: embedHelp, Example: embedExample,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&asQuery, "query", false, "embed as search texts instead of tool texts")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.runEmbed(cmd, args, asQuery) }
	return cmd
}

// An embedded text is one row of embed.
type embedded struct {
	Text   string    `json:"text"`
	Vector []float32 `json:"vector"`
}

func (c commands) runEmbed(cmd *cobra.Command, args []string, asQuery bool) (err error) {
	cfg, err := c.LoadConfig(cmd, true)
	if err != nil {
		return err
	}
	emb, done, err := app.OpenEmbedder(cfg)
	if err != nil {
		return cli.Advised(err, cfg)
	}
	defer func() { err = errors.Join(err, done()) }()
	if emb == nil {
		return cli.Hint(errors.New("embedding: the provider is none, which has no vectors"), "set embedding.provider, or TOOLDEX_EMBEDDING_PROVIDER=%s", embed.Builtin)
	}
	var vectors [][]float32
	if asQuery {
		for _, text := range args {
			v, err := emb.EmbedQuery(cmd.Context(), text)
			if err != nil {
				return cli.Hint(fmt.Errorf("embed %q: %w", text, err), "see \"tooldex doctor\"")
			}
			vectors = append(vectors, v)
		}
	} else if vectors, err = emb.EmbedDocuments(cmd.Context(), args); err != nil {
		return cli.Hint(fmt.Errorf("embed: %w", err), "see \"tooldex doctor\"")
	}
	rows := make([]embedded, len(args))
	for i, text := range args {
		rows[i] = embedded{text, vectors[i]}
	}
	v := map[string]any{"model": emb.Model(), "texts": rows, "cosines": cosines(rows)}
	return c.Result(v, func() { c.showEmbedded(emb.Model(), rows) })
}

func (c commands) showEmbedded(model string, rows []embedded) {
	c.Say("%s, %d dimensions\n", model, len(rows[0].Vector))
	g := &term.Grid{Head: []string{"", "vector", "text"}, Numbers: []int{0}}
	for i, r := range rows {
		var first []string
		for _, x := range r.Vector[:min(shownDims, len(r.Vector))] {
			first = append(first, fmt.Sprintf("%+.4f", x))
		}
		g.Add(fmt.Sprint(i+1), strings.Join(first, " ")+" …", r.Text)
	}
	c.Show(g)
	if len(rows) < 2 {
		return
	}
	c.Say("")
	like := &term.Grid{Head: []string{"cosine"}}
	for i := range rows {
		like.Head = append(like.Head, fmt.Sprint(i+1))
		like.Numbers = append(like.Numbers, i+1)
	}
	for i, line := range cosines(rows) {
		row := []string{fmt.Sprint(i + 1)}
		for _, v := range line {
			row = append(row, fmt.Sprintf("%.4f", v))
		}
		like.Add(row...)
	}
	c.Show(like)
}

// cosines compares all texts with each other.
func cosines(rows []embedded) [][]float64 {
	out := make([][]float64, len(rows))
	for i := range rows {
		for j := range rows {
			out[i] = append(out[i], cosine(rows[i].Vector, rows[j].Vector))
		}
	}
	return out
}

// cosine of two vectors, 0 where one has no length.
func cosine(a, b []float32) float64 {
	var dot, la, lb float64
	for i := range min(len(a), len(b)) {
		x, y := float64(a[i]), float64(b[i])
		dot, la, lb = dot+x*y, la+x*x, lb+y*y
	}
	if la == 0 || lb == 0 {
		return 0
	}
	return dot / math.Sqrt(la*lb)
}
