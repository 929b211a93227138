package meta

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

type description struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Qualified    string          `json:"qualified_name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Icons        json.RawMessage `json:"icons,omitempty"`
	Execution    json.RawMessage `json:"execution,omitempty"`
	Meta         json.RawMessage `json:"_meta,omitempty"`
	Effect       string          `json:"effect,omitempty"` // where tools are run by it
	Tags         []string        `json:"tags,omitempty"`
	Category     string          `json:"category"`
	Server       serverAbout     `json:"server"`
	CreatedAt    string          `json:"created_at,omitempty"`
	Inexecutable string          `json:"not_executable,omitempty"` // the reason
	Warnings     []string        `json:"warnings,omitempty"`
	Examples     []index.Example `json:"examples,omitempty"`
	Metrics      *toolMetrics    `json:"metrics,omitempty"`
	Similar      []string        `json:"similar_tools,omitempty"`
	Omitted      string          `json:"similar_tools_omitted,omitempty"` // why they are
}

type serverAbout struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// toolMetrics are a tool's executions; rate and time are absent before the
// first.
type toolMetrics struct {
	Total       int64    `json:"total_executions"`
	SuccessRate *float64 `json:"success_rate,omitempty"`
	Average     *int64   `json:"avg_response_time_ms,omitempty"`
}

// similarInDescription is how many similar tools describe_tool names.
const similarInDescription = 5

func (s *Surface) describeTool(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "tool_name", "include_examples", "include_metrics", "include_similar")
	r := gateway.DescribeRequest{Name: a.ToolName(nameHint)}
	examples := a.Flag("include_examples", true)
	metrics := a.Flag("include_metrics", false)
	setting, off := s.opts.Off[SimilarTool]
	similar := a.Flag("include_similar", false)
	if similar && !off {
		r.Similar = similarInDescription
	}
	if err := a.Failure(); err != nil {
		return nil, err
	}
	d, err := s.g.Describe(ctx, c.View, r)
	if err != nil {
		return nil, err
	}
	if similar && off {
		d.Omitted = TurnedOff(setting)
	}
	if !s.opts.SplitExecute {
		d.Effect = ""
	}
	return surface.NewAnswer(Described(d, examples, metrics, s.opts.Whole(d.ID)))
}

// Described is the object that describe_tool answers with; whole says where all of
// the tool is to be seen.
func Described(d gateway.Description, examples, metrics bool, whole string) any {
	out := describe(d)
	if examples {
		out.Examples = d.Tool.Examples
	}
	if metrics {
		out.Metrics = metricsOf(d.Metrics)
	}
	out.fit(whole)
	return out
}

func describe(d gateway.Description) *description {
	t := d.Tool
	out := &description{
		ID: d.ID, Name: t.Name, Qualified: t.QualifiedName(), Title: t.Title, Description: t.Description,
		InputSchema: d.Input, OutputSchema: d.Output, Annotations: d.Annotations,
		Icons: d.Icons, Execution: d.Execution, Meta: d.Meta,
		Effect: d.Effect, Tags: t.Tags, Category: d.Category,
		Server:    serverAbout{Name: t.Server, Description: d.About},
		CreatedAt: timestamp(t.FirstSeen), Inexecutable: t.Inexecutable, Warnings: t.Warnings,
		Omitted: d.Omitted,
	}
	for _, n := range d.Similar {
		out.Similar = append(out.Similar, words.ToolName(n.Tool.Server, n.Tool.Name))
	}
	return out
}

func metricsOf(m index.Metrics) *toolMetrics {
	out := &toolMetrics{Total: m.Total}
	if m.Total > 0 {
		rate := math.Round(float64(m.Total-m.Failed)/float64(m.Total)*1e4) / 1e4
		average := (m.Time / time.Duration(m.Total)).Milliseconds()
		out.SuccessRate, out.Average = &rate, &average
	}
	return out
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

type similarAnswer struct {
	Reference string       `json:"reference_tool"`
	Similar   []similarRow `json:"similar_tools"`
}

type similarRow struct {
	Name       string   `json:"name"` // qualified
	Similarity float64  `json:"similarity"`
	Reason     string   `json:"reason"`
	Also       []string `json:"same_as,omitempty"` // near-duplicates elsewhere
}

func (s *Surface) similarTools(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "tool_name", "limit")
	r := gateway.SimilarRequest{Name: a.ToolName(nameHint), Limit: a.Integer("limit", 1, 20, gateway.DefaultSimilar)}
	if err := a.Failure(); err != nil {
		return nil, err
	}
	res, err := s.g.Similar(ctx, c.View, r)
	if err != nil {
		return nil, err
	}
	return surface.NewAnswer(Alike(res))
}

// Alike is the object that get_similar_tools answers with.
func Alike(res gateway.SimilarResult) any {
	ref := res.Reference.Tool
	out := similarAnswer{Reference: words.ToolName(ref.Server, ref.Name), Similar: make([]similarRow, len(res.Tools))}
	for i, n := range res.Tools {
		out.Similar[i] = similarRow{
			Name: words.ToolName(n.Tool.Server, n.Tool.Name), Similarity: math.Round(n.Score*1e4) / 1e4, Reason: words.Cut(n.Reason, words.MaxReason),
			Also: words.CutAll(n.Homes, words.MaxServer+1+words.MaxName, maxHomes),
		}
	}
	return out
}
