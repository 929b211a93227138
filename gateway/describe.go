package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// A DescribeRequest asks for all about one tool.
type DescribeRequest struct {
	Name    string // qualified, an id, or bare where only one tool has it
	Similar int    // most similar tools to name; 0 names none
}

// A Description is all about one tool. The JSON is as its server sent it.
type Description struct {
	index.Hit
	Input       json.RawMessage // schema; one that allows every object where the server's is none
	Output      json.RawMessage // schema, nil for none
	Annotations json.RawMessage // claims of the server, nil for none
	Icons       json.RawMessage // nil for none, as are the next two
	Execution   json.RawMessage
	Meta        json.RawMessage // _meta without the protocol's own keys
	About       string          // of the server
	Effect      string          // of running it, as far as the operator vouches for it
	Metrics     index.Metrics
	Similar     []index.Neighbor
	Omitted     string // why the caller asked for none that are similar
}

// Describe tells all about one tool.
func (g *Gateway) Describe(ctx context.Context, v view.View, r DescribeRequest) (Description, error) {
	hit, err := g.Resolve(v, r.Name)
	if err != nil {
		return Description{}, err
	}
	obj, err := g.object(hit)
	if err != nil {
		return Description{}, err
	}
	d := Description{
		Hit: hit, Input: obj.input.JSON(), Output: obj.OutputSchema, Annotations: obj.Annotations,
		About: g.serverDescription(hit.Tool.Server), Effect: g.operator(hit.Tool.Server).effect(&hit.Tool), Metrics: g.ix.Metrics(hit.ID),
	}
	d.Icons, d.Execution, d.Meta = obj.extras()
	if r.Similar > 0 {
		d.Similar, err = g.similar(ctx, v, hit, r.Similar)
	}
	return d, err
}

// A SimilarRequest asks for alternatives to one tool.
type SimilarRequest struct {
	Name  string // as in a DescribeRequest
	Limit int    // most tools; 0 means DefaultSimilar
}

// DefaultSimilar is how many similar tools are found for a request that does
// not say.
const DefaultSimilar = 5

// A SimilarResult is the tools most like one, best first.
type SimilarResult struct {
	Reference index.Hit
	Tools     []index.Neighbor
}

// Similar finds alternatives and neighbours of a tool.
func (g *Gateway) Similar(ctx context.Context, v view.View, r SimilarRequest) (SimilarResult, error) {
	hit, err := g.Resolve(v, r.Name)
	if err != nil {
		return SimilarResult{}, err
	}
	if err := g.opts.Limits.Search(used(ctx, "")); err != nil {
		return SimilarResult{}, beyond("", err)
	}
	if r.Limit <= 0 {
		r.Limit = DefaultSimilar
	}
	near, err := g.similar(ctx, v, hit, r.Limit)
	return SimilarResult{Reference: hit, Tools: near}, err
}

func (g *Gateway) similar(ctx context.Context, v view.View, hit index.Hit, limit int) ([]index.Neighbor, error) {
	near, err := g.ix.Similar(ctx, hit.ID, v.Over(index.Filter{}), limit)
	if err != nil {
		return nil, fmt.Errorf("%s: similar tools: %w", hit.Tool.QualifiedName(), err)
	}
	return near, nil
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
	a.said[server] = words.Shorten(text, words.MaxDescription)
}

// serverDescription is the operator's description of a server, else the
// start of its own instructions.
func (g *Gateway) serverDescription(server string) string {
	if s := g.operator(server).Description; s != "" {
		return s
	}
	g.about.mu.Lock()
	defer g.about.mu.Unlock()
	return g.about.said[server]
}
