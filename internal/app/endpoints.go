package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/telemetry"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/config"
)

// endpoints are what clients connect to.
type endpoints struct {
	*Engine
	host    *serve.Host
	metrics *telemetry.Metrics
	toolbox atomic.Pointer[[]surface.Toolbox]

	mu     sync.Mutex // guards the fields below, and what is in force
	stored []config.Definition
	served map[string]config.Endpoint // by name, as they were put there
	failed map[string]string          // of those that are stored, why they could not be opened
}

// SetStored puts endpoints from another source than the configuration's file in
// force, in place of those of the last call: those that came, changed and went
// do so as if the file had changed, and the others are not touched. One whose
// definition is wrong, by now or since its scope template is gone, is not
// served, as is one of a name that the file has; [Engine.Endpoints] says why.
func (e *Engine) SetStored(definitions []config.Definition) error {
	e.endpoints.mu.Lock()
	defer e.endpoints.mu.Unlock()
	before := e.endpoints.stored
	e.endpoints.stored = slices.Clone(definitions)
	p, err := e.endpoints.plan(e.live.config())
	if err != nil {
		e.endpoints.stored = before
		return err
	}
	e.endpoints.carryOut(p, false)
	return nil
}

// defined are all endpoints, the default one first, then those of cfg's file.
// The caller holds the lock.
func (e *endpoints) defined(cfg *config.Config) []config.Endpoint {
	all := append([]config.Endpoint{cfg.Default}, cfg.Endpoints...)
	for _, d := range e.stored {
		x, err := cfg.ReadEndpoint(d.Name, d.JSON)
		switch {
		case d.Problem != "":
			x.Problem = d.Problem
		case slices.ContainsFunc(all, func(o config.Endpoint) bool { return o.Name == d.Name }):
			x.Problem = "the configuration has one of this name"
		case err != nil:
			x.Problem = err.Error()
		}
		x.Name, x.Title = d.Name, d.Name // also of one that could not be read
		all = append(all, x)
	}
	return all
}

// A plan is what a configuration asks of the endpoints.
type plan struct {
	cfg     *config.Config
	serve   map[string]config.Endpoint
	servers map[string]*serve.Server // those that come or take the place of others
	failed  map[string]string        // as endpoints has it
}

// plan changes nothing yet. The caller holds the lock.
func (e *endpoints) plan(cfg *config.Config) (plan, error) {
	p := plan{cfg: cfg, serve: map[string]config.Endpoint{}, servers: map[string]*serve.Server{}, failed: map[string]string{}}
	for i, x := range e.defined(cfg) {
		if !x.Enabled || x.Problem != "" {
			continue
		}
		if was, there := e.served[x.Name]; there && alike(was, x) {
			p.serve[x.Name] = x
			continue
		}
		s, err := e.openOne(cfg, x)
		switch {
		case err == nil:
			p.serve[x.Name], p.servers[x.Name] = x, s
		case i > len(cfg.Endpoints): // one that is stored costs no other
			p.failed[x.Name] = err.Error()
		default:
			return p, errors.Join(err, p.drop())
		}
	}
	return p, nil
}

// drop ends the servers of a plan that is not carried out.
func (p plan) drop() error {
	var errs []error
	for _, s := range p.servers {
		errs = append(errs, s.Drain(context.Background())) // nothing is under way
	}
	return errors.Join(errs...)
}

// alike says that two endpoints differ in their scope at most.
func alike(a, b config.Endpoint) bool {
	for _, x := range []*config.Endpoint{&a, &b} {
		x.Rules, x.Warnings, x.Written = nil, nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// carryOut puts a plan in force; relabelled says that what scopes read of tools
// has changed, too. The caller holds the lock.
func (e *endpoints) carryOut(p plan, relabelled bool) {
	e.fill(p.cfg)
	var removed []string
	for name := range e.served {
		if _, stays := p.serve[name]; !stays {
			e.host.Remove(name)
			removed = append(removed, name)
		}
	}
	for name, x := range p.serve {
		switch s := p.servers[name]; {
		case s != nil:
			e.host.Put(name, s)
		case relabelled || !reflect.DeepEqual(e.served[name].Rules, x.Rules):
			e.host.Get(name).SetView(viewOf(e.Gateway, x))
		}
	}
	if e.served != nil && len(removed)+len(p.servers) > 0 {
		e.log.Info("virtual servers changed", "in force", slices.Sorted(maps.Keys(p.servers)), "removed", removed)
	}
	e.served, e.failed = p.serve, p.failed
}

// regranted tells clients that they may see other tools. The caller holds the
// lock.
func (e *endpoints) regranted() {
	for name := range e.served {
		e.host.Get(name).ListChanged()
	}
}

func (e *endpoints) openOne(cfg *config.Config, x config.Endpoint) (*serve.Server, error) {
	s, err := serve.New(e.Gateway, serve.Options{
		Endpoint: x.Name, Name: x.Title, Version: e.version, Metrics: e.metrics, Tracer: e.tracer, Logger: e.log, OnCall: e.onCall,
		Surface: x.Surface, View: viewOf(e.Gateway, x), Narrow: e.Access.Narrow, Auditor: e.auditor(), Native: !x.HideUnderlyingTools,
		SurfaceOptions: surface.Options{
			DefaultLimit: x.Meta.DefaultSearchLimit, MaxLimit: x.Meta.MaxSearchLimit, WordsOnly: WordsOnlyAt(cfg, x),
			Metrics: x.Meta.IncludeMetricsInSearch, NoSignatures: !x.Meta.IncludeSignatures,
			SplitExecute: x.Meta.SplitExecute, ReadOnly: x.ReadOnly, ValidateArguments: x.Meta.ValidateArguments, Off: turnedOff(cfg, x.Meta), Toolboxes: e.boxes,
			Diagnose: `"tooldex doctor"`, ShowWhole: `"tooldex tools show %s --raw"`,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("virtual server %s: %w", x.Name, err)
	}
	return s, nil
}

// viewOf is what clients of an endpoint see.
func viewOf(g *gateway.Gateway, x config.Endpoint) view.View { return view.Of(g.Labels, x.Rules...) }

// Endpoint is the server of an endpoint; its error says which there are.
func (e *Engine) Endpoint(name string) (*serve.Server, error) {
	if s := e.endpoints.host.Get(name); s != nil {
		return s, nil
	}
	var all []string
	problem := fmt.Sprintf("there is no virtual server %q", name)
	for _, x := range e.Endpoints() {
		switch {
		case x.Enabled:
			all = append(all, x.Name)
		case x.Name == name:
			problem = fmt.Sprintf("virtual server %s is disabled%s", name, because(x.Problem))
		}
	}
	if len(all) == 0 {
		return nil, errors.New(problem + ", nor is any other served")
	}
	return nil, fmt.Errorf("%s; served are %s", problem, words.Join(all))
}

func because(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}

// session opens a session at an endpoint of this process; closing it waits for
// its end.
func (e *endpoints) session(ctx context.Context, endpoint string) (io.ReadWriteCloser, error) {
	s, err := e.Endpoint(endpoint)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	l := &ownLink{Conn: near}
	l.ended.Go(func() {
		ctx, left := e.Access.Visit(ctx, endpoint, far)
		defer left()
		if err := errors.Join(s.ServeStdio(ctx, far, far), far.Close()); err != nil {
			e.log.Debug("session ended", "error", err)
		}
	})
	return l, nil
}

// An ownLink is the near end of a session in this process.
type ownLink struct {
	net.Conn
	ended sync.WaitGroup
}

// Close ends the session.
func (l *ownLink) Close() error {
	err := l.Conn.Close()
	l.ended.Wait()
	return err
}

// An EndpointStatus is an endpoint for people and machines.
type EndpointStatus struct {
	Name     string   `json:"name"`
	Path     string   `json:"path"`
	Surface  string   `json:"surface"`
	Enabled  bool     `json:"enabled"`           // it is served
	Problem  string   `json:"problem,omitempty"` // why it is not, though its definition says so
	Stored   bool     `json:"stored,omitempty"`  // it is not of the file
	Scoped   bool     `json:"scoped"`            // by rules
	Tools    int      `json:"tools"`             // that its clients see
	Warnings []string `json:"warnings,omitempty"`
}

// Endpoints are all endpoints: the default one, those of the configuration's
// file, and those that are stored.
func (e *Engine) Endpoints() []EndpointStatus {
	e.endpoints.mu.Lock()
	cfg := e.live.config()
	all := e.endpoints.defined(cfg)
	for i := range all {
		all[i].Problem = cmp.Or(all[i].Problem, e.endpoints.failed[all[i].Name])
	}
	e.endpoints.mu.Unlock()
	_, total := e.Index.List(index.Listing{Limit: 1})
	var out []EndpointStatus
	for i, x := range all {
		s := EndpointStatus{
			Name: x.Name, Path: "/servers/" + x.Name + "/mcp", Surface: x.Surface, Enabled: x.Enabled && x.Problem == "", Problem: x.Problem,
			Stored: i > len(cfg.Endpoints), Scoped: len(x.Rules) > 0, Warnings: slices.Clone(x.Warnings),
		}
		if x.Name == config.DefaultEndpoint {
			s.Path = "/mcp"
		}
		if x.Problem == "" {
			if x.Meta.EnableSemanticSearch && !e.Config.Semantic() {
				s.Warnings = append(s.Warnings, "it is to search by meaning, and searches by words: no vectors were made since the start, as meta_config.enable_semantic_search was false everywhere; restart")
			}
			_, s.Tools = e.Index.List(index.Listing{Filter: viewOf(e.Gateway, x).Over(index.Filter{}), Limit: 1})
			if s.Tools == 0 && total > 0 {
				s.Warnings = append(s.Warnings, fmt.Sprintf("its scope lets none of the %d tools through", total))
			}
		}
		out = append(out, s)
	}
	return out
}

// warn logs what of the endpoints' scopes is probably not meant.
func (e *endpoints) warn() {
	for _, x := range e.Endpoints() {
		for _, w := range x.Warnings {
			e.log.Warn("scope of a virtual server", "virtual_server", x.Name, "warning", w)
		}
		if x.Problem != "" {
			e.log.Warn("virtual server disabled", "virtual_server", x.Name, "reason", x.Problem)
		}
	}
}

// boxes are the toolboxes in force.
func (e *endpoints) boxes() []surface.Toolbox { return *e.toolbox.Load() }

// fill puts the configured toolboxes in force, in order of name.
func (e *endpoints) fill(cfg *config.Config) {
	var out []surface.Toolbox
	for _, name := range slices.Sorted(maps.Keys(cfg.Toolboxes)) {
		t := cfg.Toolboxes[name]
		out = append(out, surface.Toolbox{Name: name, Description: t.Description, Servers: t.Servers, View: view.Of(e.Gateway.Labels, t.Rules...)})
	}
	e.toolbox.Store(&out)
}

// TurnedOff names the meta-tools that the operator does not want, with the
// setting that says so.
func TurnedOff(cfg *config.Config) map[string]string { return turnedOff(cfg, cfg.Meta) }

func turnedOff(cfg *config.Config, m config.Meta) map[string]string {
	off := map[string]string{}
	if !m.EnableCategories {
		off[meta.CategoriesTool] = setting(cfg, "meta_config.enable_categories")
	}
	if !m.EnableSimilarTools {
		off[meta.SimilarTool] = setting(cfg, "meta_config.enable_similar_tools")
	}
	return off
}
