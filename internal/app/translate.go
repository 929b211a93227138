package app

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/telemetry"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app/access"
	"github.com/tooldex/tooldex/internal/config"
)

// specs are the MCP servers to run, and all that a mistake disables.
func specs(cfg *config.Config) []mcp.Spec {
	var out []mcp.Spec
	for _, s := range cfg.Servers {
		if s.REST == nil {
			out = append(out, s.Spec)
		}
	}
	for _, name := range cfg.Broken() {
		out = append(out, mcp.Spec{Name: name, Disabled: cfg.DisabledReason(name)})
	}
	return out
}

// restSpecs are the REST APIs to call.
func restSpecs(cfg *config.Config) []rest.Spec {
	var out []rest.Spec
	for _, s := range cfg.Servers {
		if s.REST != nil {
			out = append(out, *s.REST)
		}
	}
	return out
}

// sources identifies the connection of each configured server; nil without a
// configuration, which shows whatever the folder holds.
func sources(cfg *config.Config) map[string]string {
	if cfg.Path == "" {
		return nil
	}
	out := map[string]string{}
	for _, s := range cfg.Servers {
		out[s.Spec.Name] = s.Spec.Source()
		if s.REST != nil {
			out[s.Spec.Name] = s.REST.Source()
		}
	}
	return out
}

// hnswThreshold translates the configuration's number (0 always, negative the
// default) to the index's (negative always, 0 the default).
func hnswThreshold(configured int) int {
	switch {
	case configured < 0:
		return 0
	case configured == 0:
		return -1
	}
	return configured
}

// openGateway makes the gateway over the index, and what serves it. A process
// that is serving for long tells a collector.
func (e *Engine) openGateway(calls gateway.Caller, serving bool) error {
	var upstreams func() []upstream.Status
	if e.Servers != nil {
		upstreams = e.Servers.Status
	}
	metrics := telemetry.NewMetrics(e.Index, upstreams)
	if serving {
		if err := openTracer(e, metrics); err != nil {
			return err
		}
	}
	e.Gateway = gateway.New(e.Index, calls, e.gatewayOptions(metrics))
	e.Access = access.New(e.Config, access.Options{
		Labels: e.Gateway.Labels, Audit: Managed{e}.Audited, Logger: e.log,
		CloseSessions: func(gone func(*auth.Principal, string) bool) { e.endpoints.host.CloseSessions(gone) },
	})
	e.endpoints = &endpoints{Engine: e, metrics: metrics, host: serve.NewHost(serve.HostOptions{
		Version: e.version, Metrics: metrics, Logger: e.log, Guard: e.Access.Guard(), Hosts: access.Hosts(e.Config),
	})}
	p, err := e.endpoints.plan(e.Config)
	if err != nil {
		return err
	}
	e.Access.Adopt(e.Config)
	e.endpoints.carryOut(p, false)
	return nil
}

func (e *Engine) gatewayOptions(m *telemetry.Metrics) gateway.Options {
	x := e.Config.Execution
	o := gateway.Options{
		Timeout: x.Timeout, MaxTimeout: x.MaxTimeout, Retries: x.RetryAttempts,
		SkipValidation: !x.ValidateArguments, LogCalls: x.LogAllExecutions,
		Servers: operators(e.Config), Logger: e.log, Executed: m.Executed, Limits: e.limits,
	}
	if e.learner != nil { // in the interface nil would be some
		o.Learner = e.learner
	}
	if e.audit != nil { // likewise
		o.Audit = gateway.Audit{Log: e.audit, Required: e.Config.Audit.Required, Values: e.Config.Audit.Arguments}
	}
	return o
}

// operators is what the configuration says of each server.
func operators(cfg *config.Config) map[string]gateway.Server {
	out := map[string]gateway.Server{}
	for _, s := range cfg.Servers {
		out[s.Spec.Name] = operatorWords(s)
	}
	for _, d := range cfg.Disabled {
		out[d.Name] = gateway.Server{Disabled: d.Reason, Visibility: "private"} // who may see it is not known
	}
	return out
}

// WordsOnly says why cfg has no embedder, "" when it has one.
func WordsOnly(cfg *config.Config) string {
	switch {
	case !cfg.Semantic():
		return turnedOffSemantic(cfg)
	case cfg.Embedding.Provider == embed.None:
		return "embedding.provider is none"
	}
	return ""
}

// WordsOnlyAt says why an endpoint does not search by meaning though the
// catalog may have vectors, "" when it does.
func WordsOnlyAt(cfg *config.Config, x config.Endpoint) string {
	switch {
	case x.Meta.EnableSemanticSearch:
		return ""
	case cfg.Meta.EnableSemanticSearch:
		return "the operator turned it off (meta_config.enable_semantic_search of virtual server " + x.Name + ")"
	}
	return turnedOffSemantic(cfg)
}

func turnedOffSemantic(cfg *config.Config) string {
	return "the operator turned it off (" + setting(cfg, "meta_config.enable_semantic_search") + ")"
}

// setting names a setting and where it stands. Callers far away read it too:
// they are not told of the operator's folders.
func setting(cfg *config.Config, key string) string {
	if cfg.Path == "" {
		return key
	}
	return key + " in " + filepath.Base(cfg.Path)
}

// operatorWords is what the configuration says of a server and its tools.
func operatorWords(s config.Server) gateway.Server {
	out := gateway.Server{
		Description: s.Description, Tags: s.Tags, Category: s.Category, Visibility: s.Visibility, Teams: s.Teams, Owners: s.Owners,
		Phrases: s.Phrases, Hidden: s.Hidden, Trusted: s.Trusted, Annotated: s.Annotated, Timeout: s.Spec.Timeout,
		Tools: map[string]gateway.Override{},
	}
	if s.REST != nil {
		out.Integration = "REST"
	}
	for name, t := range s.Tools {
		o := gateway.Override{Description: t.Description, Tags: t.Tags, Category: t.Category, Group: t.Group, Effect: t.Effect, Phrases: t.Phrases, Hidden: t.Hidden != nil && *t.Hidden, Shown: t.Hidden != nil && !*t.Hidden}
		for _, x := range t.Examples {
			args, err := json.Marshal(x.Arguments)
			if err != nil || x.Arguments == nil {
				args = json.RawMessage("{}") // YAML maps with text keys always encode
			}
			o.Examples = append(o.Examples, index.Example{Description: x.Description, Arguments: args})
		}
		out.Tools[name] = o
	}
	return out
}

func join(names []string) string { return strings.Join(names, " ") }
