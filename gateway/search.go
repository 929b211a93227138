package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/tooldex/tooldex/index"
)

// A row is one tool in the answers of search_tools and list_tools.
type row struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	QualifiedName string          `json:"qualified_name"`
	Description   string          `json:"description"`
	Score         *float64        `json:"score,omitempty"`
	Tags          []string        `json:"tags,omitempty"`
	Server        string          `json:"server"`
	Category      string          `json:"category,omitempty"`
	CreatedAt     string          `json:"created_at,omitempty"`
	Metrics       *toolMetrics    `json:"metrics,omitempty"`
	Inexecutable  string          `json:"not_executable,omitempty"`
	InputSchema   json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema  json.RawMessage `json:"output_schema,omitempty"`

	SchemasOmitted string `json:"schemas_omitted,omitempty"` // why they are
}

// maxDescription is the length of a row's description in characters.
const maxDescription = 300

type searchAnswer struct {
	Tools    []row          `json:"tools"`
	Total    int            `json:"total_matches"`
	Metadata searchMetadata `json:"search_metadata"`
	Hint     string         `json:"hint,omitempty"`
}

type searchMetadata struct {
	Model      string `json:"query_embedding_model,omitempty"`
	SearchType string `json:"search_type"`
	Requested  string `json:"requested,omitempty"`
	Degraded   bool   `json:"degraded,omitempty"`
	Reason     string `json:"reason,omitempty"`
	LowerBound bool   `json:"total_is_lower_bound,omitempty"`
	Confidence string `json:"confidence,omitempty"`
	WeakMatch  bool   `json:"weak_match,omitempty"`
}

func (g *Gateway) searchTools(ctx context.Context, raw json.RawMessage, _ caller) (*Answer, error) {
	a := readArgs("search_tools", raw, "query", "filters", "limit", "include_schemas", "search_type")
	text := strings.TrimSpace(a.text("query"))
	f := g.readFilters(a)
	limit := a.integer("limit", span{1, g.opts.MaxLimit, g.opts.DefaultLimit})
	schemas := a.flag("include_schemas", false)
	mode := index.Mode(a.oneOf("search_type", "semantic", "keyword", "hybrid"))
	if text == "" && !f.given {
		a.fail("query is missing and no filter is given",
			"say in query what the tool must do; to browse use list_tools or get_tool_categories")
	}
	if text == "" && f.minScore != nil {
		a.fail("filters.min_score needs a query: without one nothing has a score", "add a query or drop min_score")
	}
	if err := a.failure(); err != nil {
		return nil, err
	}
	res, err := g.ix.Search(ctx, index.Query{Text: text, Mode: mode, Filter: f.Filter, Limit: limit, MinScore: f.minScore})
	if err != nil {
		return nil, searchError(err)
	}
	out := searchAnswer{Total: res.Total, Metadata: metadataOf(res, text)}
	if out.Tools, err = g.rows(res.Hits, rowOptions{scores: text != "", schemas: schemas, metrics: g.opts.MetricsInSearch}); err != nil {
		return nil, err
	}
	out.Hint = g.searchHint(res, f, text)
	return newAnswer(out)
}

func searchError(err error) error {
	e := &callError{
		msg:  "search_tools: " + strings.TrimPrefix(err.Error(), "search: "),
		hint: "try search_type \"hybrid\", which answers by keywords when vectors are missing",
	}
	if errors.Is(err, index.ErrUnknownWords) {
		e.hint = "use other words, in English if you can; search_type \"keyword\" finds tools that are described in these"
	}
	return e
}

func metadataOf(res *index.Results, text string) searchMetadata {
	if text == "" {
		return searchMetadata{SearchType: "filters"}
	}
	m := searchMetadata{
		Model: res.Model, SearchType: string(res.Mode), LowerBound: res.TotalIsLowerBound,
		Degraded: res.Degraded, Reason: cut(res.Reason, maxReason),
	}
	if res.Degraded {
		m.Requested = string(res.Requested)
	}
	if res.Calibrated {
		m.Confidence, m.WeakMatch = res.Confidence, res.WeakMatch
	}
	return m
}

func (g *Gateway) searchHint(res *index.Results, f filters, text string) string {
	switch {
	case res.Allowed == 0:
		return g.emptyHint(f)
	case len(res.Hits) == 0 && f.minScore != nil && res.Best > 0:
		return fmt.Sprintf("no tool reaches min_score %g; the best score is %.4f", *f.minScore, res.Best)
	case len(res.Hits) == 0 && res.UnknownWords:
		return "neither the tools nor the embedding model know a word of the query; use other words, in English if you can, or see get_tool_categories"
	case len(res.Hits) == 0 && res.Requested == index.Hybrid:
		return "no tool shares a word with the query; rephrase it, or see get_tool_categories"
	case len(res.Hits) == 0:
		return "no tool shares a word with the query; rephrase it, or use search_type \"hybrid\""
	case res.WeakMatch && res.Calibrated && text != "":
		return "probably none of these fits; rephrase the query, or see get_tool_categories"
	}
	return ""
}

type rowOptions struct{ scores, schemas, metrics, created bool }

func (g *Gateway) rows(hits []index.Hit, o rowOptions) ([]row, error) {
	rows := make([]row, 0, len(hits))
	schemaBytes := maxSchemaBytes // left for the schemas
	for _, h := range hits {
		r := row{
			ID: h.ID, Name: cut(h.Tool.Name, maxShownName), QualifiedName: shownName(&h.Tool),
			Description: shortened(h.Tool.Description, maxDescription),
			Tags:        cutAll(h.Tool.Tags, maxLabel, 2*maxLabels), Server: cut(h.Tool.Server, maxShownServer),
			Category: cut(h.Category, maxLabel), Inexecutable: cut(h.Tool.Inexecutable, maxReason),
		}
		if o.scores {
			score := math.Round(h.Score*1e4) / 1e4
			r.Score = &score
		}
		if o.metrics {
			r.Metrics = metricsOf(g.ix.Metrics(h.ID))
		}
		if o.created {
			r.CreatedAt = timestamp(h.Tool.FirstSeen)
		}
		if o.schemas {
			obj, err := g.object(h)
			if err != nil {
				return nil, err
			}
			if size := len(obj.input) + len(obj.OutputSchema); size <= schemaBytes {
				r.InputSchema, r.OutputSchema = obj.input, obj.OutputSchema
				schemaBytes -= size
			} else {
				r.SchemasOmitted = fmt.Sprintf("%d KB, too much for this reply; describe_tool shows them", (size+1023)>>10)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}
