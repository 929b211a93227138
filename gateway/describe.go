package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

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
	Tags         []string        `json:"tags"`
	Category     string          `json:"category"`
	Server       serverAbout     `json:"server"`
	CreatedAt    string          `json:"created_at,omitempty"`
	Inexecutable string          `json:"not_executable,omitempty"` // the reason
	Warnings     []string        `json:"warnings,omitempty"`
	Examples     []index.Example `json:"examples,omitempty"`
	Metrics      *toolMetrics    `json:"metrics,omitempty"`
	Similar      []string        `json:"similar_tools,omitempty"`
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

func (g *Gateway) describeTool(ctx context.Context, raw json.RawMessage, _ caller) (*Answer, error) {
	a := readArgs("describe_tool", raw, "tool_name", "include_examples", "include_metrics", "include_similar")
	name := a.required("tool_name", `give a tool as search_tools names it, "server/tool" or its id`)
	examples := a.flag("include_examples", true)
	withMetrics := a.flag("include_metrics", false)
	similar := a.flag("include_similar", false)
	if err := a.failure(); err != nil {
		return nil, err
	}
	hit, err := g.resolve("describe_tool", name)
	if err != nil {
		return nil, err
	}
	out, err := g.describe(hit)
	if err != nil {
		return nil, err
	}
	if examples {
		out.Examples = hit.Tool.Examples
	}
	if withMetrics {
		out.Metrics = metricsOf(g.ix.Metrics(hit.ID))
	}
	if similar {
		near, err := g.ix.Similar(ctx, hit.ID, index.Filter{Scope: g.opts.Scope}, similarInDescription)
		if err != nil {
			return nil, fmt.Errorf("describe_tool %s: similar tools: %w", out.Qualified, err)
		}
		for _, n := range near {
			out.Similar = append(out.Similar, shownName(&n.Tool))
		}
	}
	out.fit()
	return newAnswer(out)
}

func (g *Gateway) describe(hit index.Hit) (*description, error) {
	obj, err := g.object(hit)
	if err != nil {
		return nil, err
	}
	t := hit.Tool
	tags := t.Tags
	if tags == nil {
		tags = []string{}
	}
	return &description{
		ID: hit.ID, Name: t.Name, Qualified: t.QualifiedName(), Title: t.Title, Description: t.Description,
		InputSchema: obj.input, OutputSchema: obj.OutputSchema, Annotations: obj.Annotations,
		Tags: tags, Category: hit.Category,
		Server:    serverAbout{Name: t.Server, Description: g.serverDescription(t.Server)},
		CreatedAt: timestamp(t.FirstSeen), Inexecutable: t.Inexecutable, Warnings: t.Warnings,
	}, nil
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

// aboutServers keeps the first sentences of what servers say about
// themselves.
type aboutServers struct {
	mu   sync.Mutex // guards said
	said map[string]string
}

func (a *aboutServers) set(server, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said == nil {
		a.said = map[string]string{}
	}
	a.said[server] = shortened(text, maxDescription)
}

// serverDescription is the operator's description of a server, else the
// start of its own instructions.
func (g *Gateway) serverDescription(server string) string {
	if s := g.opts.Servers[server].Description; s != "" {
		return s
	}
	g.about.mu.Lock()
	defer g.about.mu.Unlock()
	return g.about.said[server]
}
