package app

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/config"
)

// endpoints are what clients connect to.
type endpoints struct {
	*Engine
	metrics *serve.Metrics
	byName  map[string]*serve.Server // those that are enabled
}

// open makes the servers of the default endpoint and of the others.
func (e *endpoints) open() (err error) {
	if e.Server, err = e.openOne(e.Config.Default, "meta_server.default"); err != nil {
		return err
	}
	e.byName = map[string]*serve.Server{e.Config.Default.Name: e.Server}
	for _, x := range e.Config.Endpoints {
		other, err := e.openOne(x, "virtual_servers."+x.Name)
		if err != nil {
			return err
		}
		if x.Enabled && e.byName[x.Name] == nil {
			e.byName[x.Name] = other
			e.Server.Mount(x.Name, other)
		}
	}
	return nil
}

func (e *endpoints) openOne(x config.Endpoint, place string) (*serve.Server, error) {
	s, err := serve.New(e.Gateway, serve.Options{
		Name: x.Title, Version: e.version, Metrics: e.metrics, Logger: e.log, OnCall: e.onCall,
		Surface: x.Surface, View: viewOf(e.Gateway, x), Off: !x.Enabled,
		SurfaceOptions: surface.Options{
			DefaultLimit: x.Meta.DefaultSearchLimit, MaxLimit: x.Meta.MaxSearchLimit,
			Metrics: x.Meta.IncludeMetricsInSearch, Off: turnedOff(e.Config, x.Meta), Toolboxes: toolboxes(e.Config),
			Diagnose: `"tooldex doctor"`, ShowWhole: `"tooldex tools show %s --raw"`,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting(e.Config, place+".surface"), err)
	}
	return s, nil
}

// viewOf is what clients of an endpoint see.
func viewOf(g *gateway.Gateway, x config.Endpoint) view.View { return view.Of(g.Labels, x.Rules...) }

// An EndpointStatus is an endpoint for people and machines.
type EndpointStatus struct {
	Name     string   `json:"name"`
	Path     string   `json:"path"`
	Surface  string   `json:"surface"`
	Enabled  bool     `json:"enabled"`
	Scoped   bool     `json:"scoped"` // by rules
	Tools    int      `json:"tools"`  // that its clients see
	Warnings []string `json:"warnings,omitempty"`
}

// Endpoints are the endpoints of the configuration, the default one first.
func (e *Engine) Endpoints() []EndpointStatus {
	_, total := e.Index.List(index.Listing{Limit: 1})
	cfg := e.live.config()
	var out []EndpointStatus
	for _, x := range append([]config.Endpoint{cfg.Default}, cfg.Endpoints...) {
		s := EndpointStatus{Name: x.Name, Path: "/servers/" + x.Name + "/mcp", Surface: x.Surface, Enabled: x.Enabled, Scoped: len(x.Rules) > 0}
		if x.Name == config.DefaultEndpoint {
			s.Path = "/mcp"
		}
		_, s.Tools = e.Index.List(index.Listing{Filter: viewOf(e.Gateway, x).Over(index.Filter{}), Limit: 1})
		s.Warnings = slices.Clone(x.Warnings)
		if s.Tools == 0 && total > 0 {
			s.Warnings = append(s.Warnings, fmt.Sprintf("its scope lets none of the %d tools through", total))
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
	}
}

// refresh has every endpoint show what the configuration in force and
// what the operator says of servers by now let through.
func (e *endpoints) refresh(cfg *config.Config) {
	for _, x := range append([]config.Endpoint{cfg.Default}, cfg.Endpoints...) {
		if s := e.byName[x.Name]; s != nil {
			s.SetView(viewOf(e.Gateway, x))
		}
	}
}

// toolboxes are the configured ones, in order of name.
func toolboxes(cfg *config.Config) []surface.Toolbox {
	var out []surface.Toolbox
	for _, name := range slices.Sorted(maps.Keys(cfg.Toolboxes)) {
		t := cfg.Toolboxes[name]
		out = append(out, surface.Toolbox{Name: name, Description: t.Description, Servers: t.Servers})
	}
	return out
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
