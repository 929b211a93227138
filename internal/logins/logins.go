// Package logins says of the servers of a configuration who logs in where: what
// logs in at one, how it stands with all, and when that changes.
package logins

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/secret"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/keep"
)

// folder is where the state folder has logins to servers.
const folder = "logins"

// Keeper keeps the logins to servers, in the state folder of a configuration or
// in another one; nil without any.
func Keeper(cfg *config.Config, state string) *keep.Keeper {
	if state == "" {
		state = cfg.State
	}
	if state == "" {
		return nil
	}
	return keep.New(filepath.Join(state, folder), cfg.Keyring)
}

// At is what logs in at a server of a configuration.
func At(cfg *config.Config, kept *keep.Keeper, server string) (*login.Source, error) {
	i := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Spec.Name == server })
	if i < 0 {
		if why := cfg.DisabledReason(server); why != "" {
			return nil, fmt.Errorf("server %s is disabled: %s", server, why)
		}
		return nil, fmt.Errorf("no server is called %q; \"tooldex auth status\" shows those that take a login", server)
	}
	o, ok := optionsOf(cfg.Servers[i])
	if !ok {
		return nil, fmt.Errorf("nobody logs in at server %s: it is a program, or its token stands in the configuration", server)
	}
	if kept != nil {
		o.Store = kept
	}
	o.Mask, o.Secrets = mask.New(nil, nil, o.URL), &secret.Resolver{}
	return login.New(o), nil
}

// optionsOf are those of a server at which somebody can log in.
func optionsOf(s config.Server) (o login.Options, ok bool) {
	o = login.Options{Server: s.Spec.Name, URL: s.Spec.URL, Config: s.Spec.Auth}
	if s.REST != nil {
		o.URL, o.API, o.Config = s.REST.Where(), true, s.REST.Login
		return o, o.Config.Type != "" && o.Config.Type != login.None
	}
	return o, s.Spec.LogsIn()
}

// A State says how it stands with the login to one server.
type State struct {
	Server  string    `json:"server"`
	Auth    string    `json:"auth"`  // oauth, client_credentials, jwt_bearer or token_exchange
	State   string    `json:"state"` // "logged in", "not logged in", "needs a login", "by itself", "by its callers" or "unreadable"
	Issuer  string    `json:"issuer,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"`
	Wanted  []string  `json:"wanted,omitempty"` // scopes that the server has asked for since
	Since   time.Time `json:"since,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // of the access token
	Renews  bool      `json:"renews"`           // it is refreshed without anybody
	Why     string    `json:"why,omitempty"`
}

// States says it of all servers that take a login, by name.
func States(cfg *config.Config, kept *keep.Keeper) []State {
	all := []State{}
	for _, s := range cfg.Servers {
		o, ok := optionsOf(s)
		if !ok {
			continue
		}
		if kept != nil {
			o.Store = kept
		}
		o.Mask, o.Secrets = mask.New(nil, nil, o.URL), &secret.Resolver{}
		all = append(all, stateOf(o))
	}
	return all
}

func stateOf(o login.Options) State {
	st := State{Server: o.Server, Auth: cmp.Or(o.Config.Type, login.OAuth), State: "not logged in"}
	switch st.Auth {
	case login.OAuth:
	case login.TokenExchange:
		st.State, st.Issuer = "by its callers", cmp.Or(o.Config.Issuer, o.Config.TokenURL)
		return st
	default:
		st.State, st.Issuer = "by itself", o.Config.Issuer
		return st
	}
	l, err := login.New(o).Kept()
	switch {
	case err != nil:
		st.State, st.Why = "unreadable", err.Error()
		return st
	case l == nil:
		return st
	}
	st.Issuer, st.Scopes, st.Wanted, st.Expires, st.Renews, st.Why = l.Issuer, l.Scopes, l.Wanted, l.Expires, l.Refresh != "", l.Refused
	st.Since = l.Since
	over := !l.Expires.IsZero() && time.Now().After(l.Expires) && l.Refresh == ""
	switch {
	case l.Access == "" && l.Since.IsZero(): // a client was registered, and no more
	case l.Access == "", over, l.Refused != "":
		st.State = "needs a login"
		st.Why = cmp.Or(st.Why, "its token has run out")
	default:
		st.State = "logged in"
	}
	return st
}

// settle is how long changes are collected before anybody is told of them.
const settle = 200 * time.Millisecond

// Follow has relist list the servers that need a login whenever what is kept
// changes, until ctx ends.
func Follow(ctx context.Context, kept *keep.Keeper, servers func() []upstream.Status, relist func(server string), log *slog.Logger) {
	if kept == nil {
		return
	}
	err := watch(ctx, kept.Dir(), func() {
		for _, st := range servers() {
			if st.State == upstream.NeedsLogin {
				relist(st.Name)
			}
		}
	})
	if err != nil {
		log.Warn("logins are not watched: a call finds them", "folder", kept.Dir(), "error", err)
	}
}

// watch calls changed when something in a folder changes, until ctx ends.
func watch(ctx context.Context, dir string, changed func()) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := watcher.Add(dir); err != nil {
		return err
	}
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			again = nil
			changed()
			continue
		case <-watcher.Events:
		case <-watcher.Errors: // events are lost: something changed
		}
		if again == nil {
			again = time.After(settle)
		}
	}
}
