package discover

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

const (
	maxDescribed = 80  // characters of a description beside others
	maxListed    = 200 // domains, or groups of one, in a reply
	maxTools     = 500 // of one domain in a reply
)

type domainsAnswer struct {
	Domains []domainRow `json:"domains"`
	Total   int         `json:"total_tools"`
	More    int         `json:"more_domains,omitempty"` // that are not listed
}

type domainRow struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Count       int      `json:"tool_count"`
	Groups      []string `json:"groups"`
}

type domainAnswer struct {
	Domain string    `json:"domain"`
	Group  string    `json:"group,omitempty"`
	Tools  []toolRow `json:"tools"`
	More   int       `json:"more_tools,omitempty"` // that are not listed
}

// A toolRow leaves out what the reply says for all of its rows.
type toolRow struct {
	Name        string `json:"name"`
	Domain      string `json:"domain,omitempty"`
	Group       string `json:"group,omitempty"`
	Description string `json:"description"`
}

type queryAnswer struct {
	Query   string    `json:"query"`
	Results []toolRow `json:"results"`
	Hint    string    `json:"hint,omitempty"`
}

func (s *Surface) discoverTools(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "domain", "group", "query", "search_mode")
	domain, group, query := a.Short("domain"), a.Short("group"), strings.TrimSpace(a.Text("query"))
	mode := index.Mode(a.OneOf("search_mode", "keyword", "semantic", "hybrid"))
	if mode != "" && query == "" {
		a.Fail("search_mode needs a query", "add a query, or leave search_mode out")
	}
	if err := a.Failure(); err != nil {
		return nil, err
	}
	if domain == "" && group != "" {
		return nil, s.needsDomain(ctx, c.View, group)
	}
	var d *gateway.Domain
	if domain != "" {
		found, err := s.domain(ctx, c.View, domain, group)
		if err != nil {
			return nil, err
		}
		d = &found
	}
	switch {
	case query != "":
		return s.search(ctx, c.View, d, gateway.SearchRequest{Text: query, Mode: mode, Limit: s.opts.DefaultLimit, Unfolded: true, WordsOnly: s.opts.WordsOnly}, group != "")
	case d != nil:
		return s.listed(c.View, d, group != "")
	}
	return s.domains(ctx, c.View)
}

// domain is the one called name; with a group its only group is that one.
func (s *Surface) domain(ctx context.Context, v view.View, name, group string) (gateway.Domain, error) {
	d, err := s.g.Domain(ctx, v, name)
	if errors.Is(err, gateway.ErrUnknownDomain) {
		names, err := s.domainNames(ctx, v)
		if err != nil {
			return d, err
		}
		return d, saying(fmt.Sprintf("Unknown domain '%s'. Available domains: %s", words.Excerpt(name), names))
	}
	if err != nil || group == "" {
		return d, err
	}
	for _, g := range d.Groups {
		if g == group || strings.EqualFold(g, group) {
			return only(d, g), nil
		}
	}
	return d, saying(fmt.Sprintf("Unknown group '%s' in domain '%s'. Available groups: %s", words.Excerpt(group), d.Name, listing(d.Groups)))
}

// only is d without its other groups.
func only(d gateway.Domain, group string) gateway.Domain {
	out := d
	out.Groups, out.Tools = []string{group}, nil
	for _, t := range d.Tools {
		if t.Group == group {
			out.Tools = append(out.Tools, t)
		}
	}
	return out
}

func (s *Surface) needsDomain(ctx context.Context, v view.View, group string) error {
	names, err := s.domainNames(ctx, v)
	if err != nil {
		return err
	}
	return saying(fmt.Sprintf("Group '%s' needs a domain: groups belong to one. Available domains: %s", words.Excerpt(group), names))
}

func (s *Surface) domainNames(ctx context.Context, v view.View) (string, error) {
	all, err := s.g.Domains(ctx, v)
	if err != nil {
		return "", err
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name
	}
	return listing(names), nil
}

// listing joins names, as many as a reply has room for.
func listing(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if more := len(names) - maxListed; more > 0 {
		names = append(names[:maxListed:maxListed], fmt.Sprintf("and %d more", more))
	}
	return words.Join(names)
}

func (s *Surface) domains(ctx context.Context, v view.View) (*surface.Answer, error) {
	all, err := s.g.Domains(ctx, v)
	if err != nil {
		return nil, err
	}
	out := domainsAnswer{Domains: []domainRow{}, More: max(len(all)-maxListed, 0)}
	for i, d := range all {
		out.Total += len(d.Tools)
		if i < maxListed {
			out.Domains = append(out.Domains, domainRow{
				Name: d.Name, Description: oneLine(d.Description), Count: len(d.Tools),
				Groups: words.CutAll(d.Groups, words.MaxLabel, maxListed),
			})
		}
	}
	return surface.NewAnswer(out)
}

func (s *Surface) listed(v view.View, d *gateway.Domain, grouped bool) (*surface.Answer, error) {
	out := domainAnswer{Domain: d.Name, Tools: []toolRow{}, More: max(len(d.Tools)-maxTools, 0)}
	if grouped {
		out.Group = d.Groups[0]
	}
	for _, t := range d.Tools[:len(d.Tools)-out.More] {
		r := s.row(v, t)
		if r.Domain = ""; grouped {
			r.Group = ""
		}
		out.Tools = append(out.Tools, r)
	}
	return surface.NewAnswer(out)
}

func (s *Surface) row(v view.View, t gateway.Member) toolRow {
	return toolRow{
		Name: s.g.ShortName(v, t.Hit), Domain: t.Tool.Server, Group: t.Group,
		Description: oneLine(t.Tool.Description),
	}
}

// oneLine is a description as it stands beside others.
func oneLine(s string) string {
	return words.Shorten(strings.Join(strings.Fields(s[:min(len(s), 64*maxDescribed)]), " "), maxDescribed)
}

// search answers a query, within d where it is given.
func (s *Surface) search(ctx context.Context, v view.View, d *gateway.Domain, r gateway.SearchRequest, grouped bool) (*surface.Answer, error) {
	limit := r.Limit
	if d != nil {
		r.Filter.Servers = []string{d.Name}
	}
	if grouped { // rows of other groups go after ranking
		all, err := s.g.Domain(ctx, v, d.Name)
		if err != nil {
			return nil, err
		}
		r.Limit = len(all.Tools)
	}
	res, err := s.g.Search(ctx, v, r)
	if err != nil {
		return nil, err
	}
	out := queryAnswer{Query: r.Text, Results: []toolRow{}, Hint: res.Next.In(vocabulary)}
	groups := s.groups(ctx, v, d)
	for _, t := range res.Tools {
		group, err := groups(t.Hit)
		if err != nil {
			return nil, err
		}
		if (group != "" || !grouped) && len(out.Results) < limit {
			out.Results = append(out.Results, s.row(v, gateway.Member{Hit: t.Hit, Group: group}))
		}
	}
	if len(out.Results) == 0 && out.Hint == "" {
		out.Hint = "no tool of this group fits; leave group out, or use other words"
	}
	return surface.NewAnswer(out)
}

// groups looks up the group of a tool: of one in d where it is given.
func (s *Surface) groups(ctx context.Context, v view.View, d *gateway.Domain) func(index.Hit) (string, error) {
	known := map[string]map[string]string{} // by server and id
	learn := func(d gateway.Domain) {
		byID := map[string]string{}
		for _, t := range d.Tools {
			byID[t.ID] = t.Group
		}
		known[d.Name] = byID
	}
	if d != nil {
		learn(*d)
	}
	return func(h index.Hit) (string, error) {
		server := h.Tool.Server
		if known[server] == nil {
			found, err := s.g.Domain(ctx, v, server)
			if err != nil {
				return "", err
			}
			learn(found)
		}
		return known[server][h.ID], nil
	}
}
