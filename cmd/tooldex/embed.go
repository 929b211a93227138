package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

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

func (a *cli) embed() *cobra.Command {
	var asQuery bool
	cmd := &cobra.Command{
		Use: "embed TEXT…", Short: "Turn texts into vectors and compare them", Long: embedHelp, Example: embedExample,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&asQuery, "query", false, "embed as search texts instead of tool texts")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.runEmbed(cmd, args, asQuery) }
	return cmd
}

// An embedded text is one row of embed.
type embedded struct {
	Text   string    `json:"text"`
	Vector []float32 `json:"vector"`
}

func (a *cli) runEmbed(cmd *cobra.Command, args []string, asQuery bool) (err error) {
	cfg, err := a.loadConfig(cmd, true)
	if err != nil {
		return err
	}
	emb, done, err := app.OpenEmbedder(cfg)
	if err != nil {
		return advised(err, cfg)
	}
	defer func() { err = errors.Join(err, done()) }()
	if emb == nil {
		return hint(errors.New("embedding: the provider is none, which has no vectors"), "set embedding.provider, or TOOLDEX_EMBEDDING_PROVIDER=%s", embed.Builtin)
	}
	var vectors [][]float32
	if asQuery {
		for _, text := range args {
			v, err := emb.EmbedQuery(cmd.Context(), text)
			if err != nil {
				return hint(fmt.Errorf("embed %q: %w", text, err), "see \"tooldex doctor\"")
			}
			vectors = append(vectors, v)
		}
	} else if vectors, err = emb.EmbedDocuments(cmd.Context(), args); err != nil {
		return hint(fmt.Errorf("embed: %w", err), "see \"tooldex doctor\"")
	}
	rows := make([]embedded, len(args))
	for i, text := range args {
		rows[i] = embedded{text, vectors[i]}
	}
	v := map[string]any{"model": emb.Model(), "texts": rows, "cosines": cosines(rows)}
	return a.result(v, func() { a.showEmbedded(emb.Model(), rows) })
}

func (a *cli) showEmbedded(model string, rows []embedded) {
	a.say("%s, %d dimensions\n", model, len(rows[0].Vector))
	g := &grid{head: []string{"", "vector", "text"}, numbers: []int{0}}
	for i, r := range rows {
		var first []string
		for _, x := range r.Vector[:min(shownDims, len(r.Vector))] {
			first = append(first, fmt.Sprintf("%+.4f", x))
		}
		g.add(fmt.Sprint(i+1), strings.Join(first, " ")+" …", r.Text)
	}
	a.show(g)
	if len(rows) < 2 {
		return
	}
	a.say("")
	c := &grid{head: []string{"cosine"}}
	for i := range rows {
		c.head = append(c.head, fmt.Sprint(i+1))
		c.numbers = append(c.numbers, i+1)
	}
	for i, line := range cosines(rows) {
		row := []string{fmt.Sprint(i + 1)}
		for _, v := range line {
			row = append(row, fmt.Sprintf("%.4f", v))
		}
		c.add(row...)
	}
	a.show(c)
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
