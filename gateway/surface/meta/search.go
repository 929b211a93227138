package meta

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/words"
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
	Also          []string        `json:"same_as,omitempty"` // near-duplicates elsewhere
	CreatedAt     string          `json:"created_at,omitempty"`
	Metrics       *toolMetrics    `json:"metrics,omitempty"`
	Signature     string          `json:"signature,omitempty"`
	Effect        string          `json:"effect,omitempty"`    // where tools are run by it
	Available     *bool           `json:"available,omitempty"` // false, with the reason
	Reason        string          `json:"reason,omitempty"`
	Inexecutable  string          `json:"not_executable,omitempty"`
	InputSchema   json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema  json.RawMessage `json:"output_schema,omitempty"`

	SchemasOmitted string `json:"schemas_omitted,omitempty"` // why they are
}

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

// SearchRequest reads the arguments of search_tools, or of what else searches
// as the meta-tool called name does. Its error is an [args.Error].
func SearchRequest(name string, arguments json.RawMessage, o surface.Options) (gateway.SearchRequest, error) {
	a := args.Read(name, arguments, "query", "filters", "limit", "include_schemas", "search_type")
	r := gateway.SearchRequest{Text: strings.TrimSpace(a.Text("query")), Metrics: o.Metrics, Signatures: !o.NoSignatures, Effects: o.SplitExecute, WordsOnly: o.WordsOnly}
	r.Filter, r.MinScore = readFilters(a)
	r.Limit = a.Integer("limit", 1, o.MaxLimit, o.DefaultLimit)
	r.Schemas = a.Flag("include_schemas", false)
	r.Mode = index.Mode(a.OneOf("search_type", "semantic", "keyword", "hybrid"))
	return r, a.Failure()
}

func (s *Surface) searchTools(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	r, err := SearchRequest(c.Tool, c.Arguments, s.opts)
	if err != nil {
		return nil, err
	}
	res, err := s.g.Search(ctx, c.View, r)
	if err != nil {
		return nil, err
	}
	return surface.NewAnswer(Found(res, r))
}

// Found is the object that search_tools answers r with.
func Found(res gateway.SearchResult, r gateway.SearchRequest) any {
	return searchAnswer{
		Tools: rows(res.Tools, rowOptions{scores: r.Text != "", schemas: r.Schemas, metrics: r.Metrics, signatures: r.Signatures && !r.Schemas, effects: r.Effects}),
		Total: res.Total, Metadata: metadataOf(res, r.Text), Hint: res.Next.In(vocabulary),
	}
}

func metadataOf(res gateway.SearchResult, text string) searchMetadata {
	if text == "" {
		return searchMetadata{SearchType: "filters"}
	}
	m := searchMetadata{
		Model: res.Model, SearchType: string(res.Mode), LowerBound: res.TotalIsLowerBound,
		Degraded: res.Degraded, Reason: words.Cut(res.Reason, words.MaxReason),
	}
	if res.Degraded {
		m.Requested = string(res.Requested)
	}
	if res.Calibrated {
		m.Confidence, m.WeakMatch = res.Confidence, res.WeakMatch
	}
	return m
}

type rowOptions struct{ scores, schemas, metrics, created, signatures, effects bool }

func rows(tools []gateway.Tool, o rowOptions) []row {
	rows := make([]row, len(tools))
	schemaBytes := maxSchemaBytes // left for the schemas
	for i, t := range tools {
		r := row{
			ID: t.ID, Name: words.Cut(t.Tool.Name, words.MaxName), QualifiedName: words.ToolName(t.Tool.Server, t.Tool.Name),
			Description: words.Shorten(t.Tool.Description, words.MaxDescription),
			Tags:        words.CutAll(t.Tool.Tags, words.MaxLabel, 2*words.MaxLabels), Server: words.Cut(t.Tool.Server, words.MaxServer),
			Category: words.Cut(t.Category, words.MaxLabel), Inexecutable: words.Cut(t.Tool.Inexecutable, words.MaxReason),
			Also: words.CutAll(t.Homes, words.MaxServer+1+words.MaxName, maxHomes),
		}
		if o.scores {
			score := math.Round(t.Score*1e4) / 1e4
			r.Score = &score
		}
		if t.Unavailable != "" {
			r.Available, r.Reason = new(bool), words.Cut(t.Unavailable, words.MaxReason)
		}
		if o.effects {
			r.Effect = t.Effect
		}
		if o.signatures {
			r.Signature = r.QualifiedName + t.Signature
		}
		if o.metrics {
			r.Metrics = metricsOf(t.Metrics)
		}
		if o.created {
			r.CreatedAt = timestamp(t.Tool.FirstSeen)
		}
		if size := len(t.Input) + len(t.Output); o.schemas && size > schemaBytes {
			r.SchemasOmitted = fmt.Sprintf("%d KB, too much for this reply; describe_tool shows them", (size+1023)>>10)
		} else if o.schemas {
			r.InputSchema, r.OutputSchema = t.Input, t.Output
			schemaBytes -= size
		}
		rows[i] = r
	}
	return rows
}
