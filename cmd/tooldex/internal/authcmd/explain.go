package authcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/internal/app"
)

const explainHelp = `Say what a principal sees and may run, at which endpoint, and by which grant;
with TOOL about that one, and why not. A principal is token:NAME,
oidc:ISSUER#SUB, cert:NAME or local:USER. The teams of a static token are
known; those of others are given by --team, as their tokens would name them.`

// An endpointRow is what a principal has of one endpoint.
type endpointRow struct {
	Endpoint string   `json:"endpoint"`
	Shows    int      `json:"shows"` // tools, to whoever may see them
	Sees     int      `json:"sees"`
	Runs     int      `json:"runs"`
	Grants   []string `json:"grants"`
}

// A toolRow is what one tool is for a principal at one endpoint.
type toolRow struct {
	Endpoint string   `json:"endpoint"`
	Tool     string   `json:"tool"`
	Role     string   `json:"role"` // none, discover or use
	Grants   []string `json:"grants"`
	Why      string   `json:"why,omitempty"`
}

// explained is what is said of a principal.
type explained struct {
	Principal string        `json:"principal"`
	Teams     []string      `json:"teams"`
	Admin     bool          `json:"admin"`
	Endpoints []endpointRow `json:"endpoints,omitempty"`
	Tools     []toolRow     `json:"tools,omitempty"`
}

func (c commands) explain() *cobra.Command {
	var teams []string
	cmd := &cobra.Command{
		Use: "explain PRINCIPAL [TOOL]", Short: "Say what a principal sees and runs, and why", Args: cobra.RangeArgs(1, 2), Long: explainHelp,
		Example: "  tooldex auth explain token:ci-bot\n  tooldex auth explain oidc:https://id.example.com#ada github/create_issue --team finance",
	}
	cmd.Flags().StringSliceVar(&teams, "team", nil, "a `team` that the principal's token names; repeat it for more")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.Offline(cmd, func(_ context.Context, e *app.Engine) error {
			if !e.Config.Auth.Enabled {
				return cli.Hint(errOff, "docs/auth.md shows how to ask who calls")
			}
			who, err := e.Access.Principal(args[0], teams)
			if err != nil {
				return err
			}
			out := explained{Principal: who.Name, Teams: append([]string{}, who.Teams...), Admin: e.Access.Policy().Admin(who)}
			if len(args) == 1 {
				out.Endpoints = endpointsOf(e, who)
				return c.Result(out, func() { c.showEndpoints(out) })
			}
			hit, err := e.Gateway.Resolve(view.View{}, args[1])
			if err != nil {
				return cli.Told(err)
			}
			for _, x := range (app.Managed{Engine: e}).Shown() {
				d := e.Access.Policy().Explain(who, x.Name, x.View, &hit.Tool)
				out.Tools = append(out.Tools, toolRow{x.Name, hit.Tool.QualifiedName(), d.Role.String(), append([]string{}, d.Grants...), d.Why})
			}
			return c.Result(out, func() { c.showTool(out) })
		})
	}
	return cmd
}

func endpointsOf(e *app.Engine, who *auth.Principal) (out []endpointRow) {
	managed := app.Managed{Engine: e}
	for _, x := range managed.Shown() {
		own := e.Access.Policy().View(who, x.Name, x.View)
		out = append(out, endpointRow{
			Endpoint: x.Name, Shows: managed.Count(x.View), Sees: managed.Count(own),
			Runs: managed.Count(view.View{Scope: own.Scope}.And(view.View{Scope: own.Runnable})), Grants: e.Access.Policy().Grants(who, x.Name),
		})
	}
	return out
}

func (c commands) about(x explained) {
	teams := "no team"
	if len(x.Teams) > 0 {
		teams = "teams " + strings.Join(x.Teams, ", ")
	}
	admin := ""
	if x.Admin {
		admin = ", an admin"
	}
	c.Say("%s, of %s%s\n", x.Principal, teams, admin)
}

func (c commands) showEndpoints(x explained) {
	c.about(x)
	g := term.NewGrid("virtual server", "shows", "sees", "runs", "by")
	for _, r := range x.Endpoints {
		by := strings.Join(r.Grants, ", ")
		if by == "" {
			by = "no grant"
		}
		g.Add(r.Endpoint, fmt.Sprint(r.Shows), fmt.Sprint(r.Sees), fmt.Sprint(r.Runs), by)
	}
	c.ShowRows(g, "no virtual servers")
}

func (c commands) showTool(x explained) {
	c.about(x)
	words := map[string]string{"none": "does not see it", "discover": "sees it, may not run it", "use": "sees it and may run it"}
	g := term.NewGrid("virtual server", x.Tools[0].Tool, "by", "as")
	for _, r := range x.Tools {
		g.Add(r.Endpoint, words[r.Role], strings.Join(r.Grants, ", "), r.Why)
	}
	c.ShowRows(g, "no virtual servers")
}
