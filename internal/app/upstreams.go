package app

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/telemetry"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/sessions"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/gateway/upstream/supervise"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/keep"
	"github.com/tooldex/tooldex/internal/logins"
)

// Upstreams are all that own tools: MCP servers and REST APIs, under one set
// of names. Its methods are safe for concurrent use.
type Upstreams struct {
	mcp    *mcp.Set
	own    *sessions.Set // of callers, with some of the servers of mcp
	rest   *rest.Set
	logins *keep.Keeper      // nil without a state folder
	tracer *telemetry.Tracer // nil traces nothing
}

// newUpstreams makes the sets of the servers, those with a mistake in their
// entries among them, so that their calls say why.
func (e *Engine) newUpstreams(o Options) (*Upstreams, error) {
	servers, apis := specs(e.Config), restSpecs(e.Config)
	if o.Servers != nil {
		servers = slices.DeleteFunc(servers, func(sp mcp.Spec) bool { return !slices.Contains(o.Servers, sp.Name) })
		apis = slices.DeleteFunc(apis, func(sp rest.Spec) bool { return !slices.Contains(o.Servers, sp.Name) })
	}
	var memory mcp.Memory // none for a catalog in memory, which has no folder
	if e.Config.State != "" {
		memory = &eraFile{path: filepath.Join(e.Config.State, "eras.json"), log: e.log}
	}
	u := Upstreams{logins: logins.Keeper(e.Config, o.Logins)}
	var store login.Store // in the interface nil would be some
	if u.logins != nil {
		store = u.logins
	}
	var err, other error
	shared := mcp.Options{
		Logger: e.log, DefaultTimeout: e.Config.Execution.Timeout, Memory: memory, OnList: e.listed, Stored: e.stored, Logins: store,
	}
	u.mcp, err = mcp.NewSet(servers, shared)
	u.own = sessions.New(sessions.Options{MCP: shared})
	u.own.Apply(servers)
	u.rest, other = rest.NewSet(apis, rest.Options{
		Logger: e.log, DefaultTimeout: e.Config.Execution.Timeout, OnList: e.listed, Stored: e.stored, Logins: store,
	})
	return &u, errors.Join(err, other)
}

// apply puts the servers of a configuration in place of those that there are.
func (u *Upstreams) apply(cfg *config.Config) (supervise.Changes, error) {
	servers := specs(cfg)
	c, err := u.mcp.Apply(servers)
	if err != nil {
		return c, err
	}
	u.own.Apply(servers)
	more, err := u.rest.Apply(restSpecs(cfg))
	return c.And(more), err
}

// Run runs all of them until ctx ends.
func (u *Upstreams) Run(ctx context.Context) error {
	done := make(chan error, 2)
	go func() { done <- u.rest.Run(ctx) }()
	go func() { done <- u.own.Run(ctx) }()
	return errors.Join(u.mcp.Run(ctx), <-done, <-done)
}

// Call implements [gateway.Caller].
func (u *Upstreams) Call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	switch {
	case u.rest.Has(r.Server):
		return u.tracer.Run(ctx, r, true, u.rest.Call)
	case u.own.Has(r.Server):
		return u.tracer.Run(ctx, r, false, u.own.Call)
	}
	return u.tracer.Run(ctx, r, false, u.mcp.Call)
}

// Refresh has a server list its tools now, and returns the list when it is
// stored.
func (u *Upstreams) Refresh(ctx context.Context, server string) (upstream.Listing, error) {
	if u.rest.Has(server) {
		return u.rest.Refresh(ctx, server)
	}
	return u.mcp.Refresh(ctx, server)
}

// Status describes all of them, by name.
func (u *Upstreams) Status() []upstream.Status {
	all := append(u.mcp.Status(), u.rest.Status()...)
	for i := range all {
		u.own.Add(&all[i])
	}
	slices.SortFunc(all, func(a, b upstream.Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}
