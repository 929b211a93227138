package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/auth"
)

// Policy is what the configuration in force grants; nil when nobody is asked
// who calls.
func (a *Access) Policy() *auth.Policy { return a.policy.Load() }

// Principal is the one of a name, such as token:ci-bot, of its own teams and of
// these.
func (a *Access) Principal(name string, teams []string) (*auth.Principal, error) {
	who := &auth.Principal{Name: name, Most: auth.Admin}
	if strings.HasPrefix(name, "token:") {
		known, err := a.tokens.Named(name)
		if err != nil {
			return nil, err
		}
		if known == nil {
			return nil, fmt.Errorf("there is no token of principal %s; \"tooldex auth token list\" shows those there are", name)
		}
		who = known
	}
	return &auth.Principal{Name: who.Name, Teams: append(who.Teams[:len(who.Teams):len(who.Teams)], teams...), Most: who.Most}, nil
}

// Warnings are what of the configuration's grants is probably not meant.
func (a *Access) Warnings() []string {
	a.mu.Lock()
	cfg := a.cfg
	a.mu.Unlock()
	out := slices.Clone(cfg.Auth.Warnings)
	teams, err := a.tokens.Teams()
	if err != nil {
		return append(out, err.Error())
	}
	for _, g := range cfg.Auth.Grants {
		for _, team := range g.Teams {
			if cfg.Auth.OAuth == nil && !slices.Contains(teams, team) {
				out = append(out, fmt.Sprintf("%s.teams: no token is of team %q; \"tooldex auth token new NAME --team %s\" makes one", g.Place, team, team))
			}
		}
	}
	return out
}
