package endpointcmd

import (
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway/admin"
)

func (c commands) list() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the virtual servers", Args: cobra.NoArgs, Example: "  tooldex servers list",
		Long: "List the virtual servers: those of the configuration's file, the default one\nfirst, and those made with \"tooldex servers create\" or over the API.",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.connected(cmd, func(ctx context.Context, a *client) error {
			var all admin.Servers
			if _, err := a.do(ctx, request{method: "GET", path: "/servers"}, &all); err != nil {
				return err
			}
			return c.Result(all, func() { c.showAll(all.Servers) })
		})
	}
	return cmd
}

func (c commands) showAll(servers []admin.Server) {
	g := &term.Grid{Head: []string{"name", "surface", "tools", "defined", "state", "address"}, Numbers: []int{2}}
	for _, s := range servers {
		g.Add(s.Name, s.Surface, fmt.Sprint(s.Tools), s.Source, stateOf(s), s.URL)
	}
	c.Show(g)
	for _, s := range servers {
		c.warn(s)
	}
}

func stateOf(s admin.Server) string {
	switch {
	case s.Problem != "":
		return "broken"
	case !s.Enabled:
		return "disabled"
	}
	return "served"
}

// warn notes what is wrong with a virtual server.
func (c commands) warn(s admin.Server) {
	if s.Problem != "" {
		c.Note("virtual server %s is not served: %s", s.Name, term.Flat(s.Problem))
	}
	for _, w := range s.Warnings {
		c.Note("warning: virtual server %s: %s", s.Name, term.Flat(w))
	}
}

func serverPath(name string) string { return "/servers/" + url.PathEscape(name) }

const showHelp = `Show a virtual server: where clients connect, its definition, and with --tools
which tools it shows, with --hidden also which it does not, and the rule that
takes each of them away.`

func (c commands) show() *cobra.Command {
	var tools, hidden bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a virtual server and what it lets through", Long: showHelp, Args: cobra.ExactArgs(1),
		Example:           "  tooldex servers show default\n  tooldex servers show finance-ai-tools --hidden",
		ValidArgsFunction: c.CompleteEndpoints,
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "list the tools that it shows")
	cmd.Flags().BoolVar(&hidden, "hidden", false, "list also the tools that it does not show, with what takes them away")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.connected(cmd, func(ctx context.Context, a *client) error {
			if tools || hidden {
				return c.showTools(ctx, a, request{method: "GET", path: serverPath(args[0]) + "/tools"}, hidden)
			}
			var s admin.Server
			if _, err := a.do(ctx, request{method: "GET", path: serverPath(args[0])}, &s); err != nil {
				return err
			}
			return c.Result(s, func() { c.showOne(s) })
		})
	}
	return cmd
}

func (c commands) showOne(s admin.Server) {
	c.Say("%s  %s", s.Name, stateOf(s))
	for _, row := range [][2]string{
		{"address", s.URL}, {"surface", s.Surface}, {"scope", string(s.Scope)}, {"readonly", yes(s.ReadOnly)},
		{"meta_config", string(s.Meta)}, {"hidden tools", "not listed by tools/list: " + fmt.Sprint(s.Hide)},
		{"tools", fmt.Sprint(s.Tools)}, {"defined", s.Source + ", in " + s.File},
	} {
		if row[1] != "" {
			c.Hang(fmt.Sprintf("  %-13s", row[0]), row[1])
		}
	}
	c.warn(s)
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}

// pageSize is how many tools are asked for at once.
const pageSize = 1000

// showTools shows all pages of what a request lists.
func (c commands) showTools(ctx context.Context, a *client, r request, hidden bool) error {
	var all admin.Shown
	path := r.path
	for page := 1; page == 1 || (page-1)*pageSize < max(all.Total, all.HiddenTotal); page++ {
		var part admin.Shown
		r.path = fmt.Sprintf("%s?page=%d&page_size=%d&hidden=%t", path, page, pageSize, hidden)
		if _, err := a.do(ctx, r, &part); err != nil {
			return err
		}
		part.Tools, part.Hidden = append(all.Tools, part.Tools...), append(all.Hidden, part.Hidden...)
		all = part
	}
	all.Page, all.PageSize = 1, max(len(all.Tools), len(all.Hidden))
	return c.Result(all, func() { c.sayTools(all, hidden) })
}

func (c commands) sayTools(s admin.Shown, hidden bool) {
	g := &term.Grid{Head: []string{"tool", "category", "description"}}
	for _, t := range s.Tools {
		g.Add(t.Name, t.Category, t.Description)
	}
	c.ShowRows(g, "No tool is let through.")
	if hidden && len(s.Hidden) > 0 {
		c.Say("")
		g := &term.Grid{Head: []string{"hidden tool", "taken away by"}}
		for _, t := range s.Hidden {
			g.Add(t.Name, t.By)
		}
		c.Show(g)
	}
	c.Say("\n%s shown, %d hidden", term.Plural(s.Total, "tool"), s.HiddenTotal)
	for _, w := range s.Warnings {
		c.Note("warning: %s", term.Flat(w))
	}
}
