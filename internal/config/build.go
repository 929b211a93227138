package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/gateway/limit"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
)

var serverName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckName says what is wrong with a server's name.
func CheckName(name string) error {
	if serverName.MatchString(name) {
		return nil
	}
	return errors.New("a server's name has 1 to 64 of A-Z a-z 0-9 . _ -; rename it")
}

// build turns a checked file into a Config and says everything that is wrong
// with it at once.
func (f *file) build(path string) (*Config, error) {
	c := &Config{
		Path: path, Listen: f.Listen, State: f.State, Log: f.Log,
		Embedding: f.Embedding, Index: f.Index, Phrases: f.Phrases, Meta: f.Meta, Templates: f.Virtual.ScopeTemplates, Execution: f.Execution.build(), AllowCommands: f.AllowCommands, Keyring: f.Keyring, Audit: f.Audit, Limits: f.Limits,
		surfaces:  f.surfaces,
		PublicURL: f.PublicURL, BehindProxy: f.Proxy, TLS: f.TLS,
	}
	for _, name := range slices.Sorted(maps.Keys(f.Servers)) {
		node := f.Servers[name].node
		if switchedOff(node) {
			c.Disabled = append(c.Disabled, Disabled{Name: name})
			continue
		}
		server, foreign, err := f.server(name, node)
		c.Foreign = append(c.Foreign, foreign...)
		if err != nil {
			c.Disabled = append(c.Disabled, Disabled{name, strings.ReplaceAll(err.Error(), "\n", "; ")})
			continue
		}
		c.Servers = append(c.Servers, server)
	}
	errs := slices.Concat(f.buildREST(c), c.checkScalars(), f.buildEndpoints(c), f.buildToolboxes(c), f.buildAuth(c), f.buildOtel(c))
	c.disableTokenless()
	return c, errors.Join(errs...)
}

// disableTokenless disables the servers that are called with a token in place
// of the caller's while no caller has one.
func (c *Config) disableTokenless() {
	if c.Auth.OAuth != nil {
		return
	}
	c.Servers = slices.DeleteFunc(c.Servers, func(s Server) bool {
		kind := s.Spec.Auth.Type
		if s.REST != nil {
			kind = s.REST.Login.Type
		}
		if kind != login.TokenExchange {
			return false
		}
		c.Disabled = append(c.Disabled, Disabled{s.Spec.Name, "auth: token_exchange takes the tokens by which callers come, and there are none: set auth.oauth of the configuration"})
		return true
	})
	slices.SortFunc(c.Disabled, func(a, b Disabled) int { return cmp.Compare(a.Name, b.Name) })
}

// switchedOff tells whether an entry says disabled. Nothing else of it is
// read then: its variables may be missing.
func switchedOff(n *yaml.Node) bool {
	var off bool
	return child(n, "disabled").Decode(&off) == nil && off
}

// server reads one entry of mcpServers. Its error is about that entry alone.
func (f *file) server(name string, n *yaml.Node) (Server, []string, error) {
	foreign, errs := check(n, reflect.TypeFor[serverFile](), "")
	for i := range foreign {
		foreign[i] = "mcpServers." + name + "." + foreign[i]
	}
	var s serverFile
	x := f.expander()
	errs = append(errs, x.expandEntry(n), unmarshal(n, &s))
	if s.InheritEnv == nil {
		s.InheritEnv = f.Inherit
	}
	server := s.build(name)
	server.Spec.Variables = x.used
	if err := errors.Join(errs...); err != nil {
		return server, foreign, err
	}
	if err := s.check(name); err != nil {
		return server, foreign, err
	}
	return server, foreign, server.Spec.Check()
}

func (e executionFile) build() Execution {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return Execution{
		Timeout:           seconds(e.TimeoutSeconds),
		MaxTimeout:        seconds(e.MaxTimeoutSeconds),
		RetryAttempts:     e.RetryAttempts,
		LogAllExecutions:  e.LogAllExecutions,
		ValidateArguments: e.ValidateArguments,
	}
}

func (s serverFile) build(name string) Server {
	return s.server(Server{
		Spec: mcp.Spec{
			Name: name, Type: s.Type, Command: s.Command, Args: s.Args, Env: s.Env, InheritEnv: s.InheritEnv, Cwd: s.Cwd,
			URL: s.URL, Headers: s.Headers, Auth: s.Auth.build(), StartTimeout: time.Duration(s.StartTimeout),
			Timeout: time.Duration(s.Timeout), Refresh: time.Duration(s.Refresh),
			Concurrency: s.Concurrency, Queue: s.Queue, Eager: s.Start == "eager", Idle: time.Duration(s.Idle),
		},
		Tools: s.Tools,
	})
}

var (
	stdioTypes = []string{"", "stdio"}
	urlTypes   = []string{"", "http", "streamable-http", "streamableHttp", "sse"}
	starts     = []string{"", "lazy", "eager"}
	effects    = []string{"", "read", "write", "destructive"}
)

func (s serverFile) check(name string) error {
	types, kind := urlTypes, "url"
	if s.Command != "" {
		types, kind = stdioTypes, "command"
	}
	if err := CheckName(name); err != nil {
		return err
	}
	switch {
	case s.Command == "" && s.URL == "":
		return errors.New("command is empty and there is no url; give one of them")
	case s.Command != "" && s.URL != "":
		return errors.New("command and url are both set; keep one of them")
	case !slices.Contains(types, s.Type):
		return fmt.Errorf("type %q does not go with a %s; use %s or leave it out", s.Type, kind, strings.Join(types[1:], ", "))
	case !slices.Contains(starts, s.Start):
		return fmt.Errorf("start: %q is none of %s", s.Start, strings.Join(starts[1:], ", "))
	case s.URL != "":
		if err := checkURL("url", s.URL); err != nil {
			return err
		}
	}
	return errors.Join(s.offer.check(), checkEffects(s.Tools))
}

func checkEffects(tools map[string]Tool) error {
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		if e := tools[tool].Effect; !slices.Contains(effects, e) {
			return fmt.Errorf("tools.%s.effect: %q is none of %s", tool, e, strings.Join(effects[1:], ", "))
		}
	}
	return nil
}

// checkScalars checks the values that have a fixed set or range.
func (c *Config) checkScalars() []error {
	var errs []error
	oneOf := func(key, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			errs = append(errs, fmt.Errorf("%s: %q is none of %s", key, value, strings.Join(allowed, ", ")))
		}
	}
	within := func(key string, value, low, high int) {
		if value < low || value > high {
			errs = append(errs, fmt.Errorf("%s: %d is outside %d to %d", key, value, low, high))
		}
	}
	oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf("log.format", c.Log.Format, "text", "json")
	oneOf("embedding.provider", c.Embedding.Provider, builtin, ollama, openAI, none)
	errs = append(errs, limits("meta_config", c.Meta)...)
	within("execution.retry_attempts", c.Execution.RetryAttempts, 0, 10)
	if c.Execution.Timeout <= 0 || c.Execution.Timeout > c.Execution.MaxTimeout {
		errs = append(errs, fmt.Errorf("execution.timeout_seconds: %v is not above 0 and at most max_timeout_seconds, which is %v",
			c.Execution.Timeout.Seconds(), c.Execution.MaxTimeout.Seconds()))
	}
	oneOf("phrases.pack", c.Phrases.Pack, "on", "off")
	oneOf("phrases.learn", c.Phrases.Learn, "off", "on", "shared")
	errs = append(errs, c.Phrases.check()...)
	errs = append(errs, c.Audit.check()...)
	for key, r := range map[string]limit.Rates{"per_principal": c.Limits.Principal, "per_endpoint": c.Limits.Endpoint, "per_server": c.Limits.Server} {
		if min(r.Calls, r.Searches, r.Concurrent) < 0 {
			errs = append(errs, fmt.Errorf("limits.%s: a limit is less than 0; give a number above it, or leave it out", key))
		}
	}
	if c.Limits.Server.Searches != 0 {
		errs = append(errs, errors.New("limits.per_server.searches_per_minute: servers are not searched, their catalog is; bound it per_principal or per_endpoint"))
	}
	if c.Embedding.URL != "" {
		errs = append(errs, checkURL("embedding.url", c.Embedding.URL))
	}
	return errs
}

// buildOtel takes over where telemetry goes.
func (f *file) buildOtel(c *Config) (errs []error) {
	x := f.expander()
	at, err := x.text(f.Otel.Endpoint)
	if err != nil {
		return []error{fmt.Errorf("otel.endpoint: %w", err)}
	}
	c.Otel = Otel{Endpoint: at, Headers: map[string]string{}}
	x.secrets = true
	for _, name := range slices.Sorted(maps.Keys(f.Otel.Headers)) {
		if c.Otel.Headers[name], err = x.text(f.Otel.Headers[name]); err != nil {
			errs = append(errs, fmt.Errorf("otel.headers.%s: %w", name, err))
		}
	}
	return append(errs, c.Otel.check())
}

func (o Otel) check() error {
	if o.Endpoint == "" {
		if len(o.Headers) > 0 {
			return errors.New("otel.headers: there is no otel.endpoint to send them to; set it, for instance to http://localhost:4318")
		}
		return nil
	}
	if err := checkURL("otel.endpoint", o.Endpoint); err != nil {
		return err
	}
	switch u, _ := url.Parse(o.Endpoint); { // it was parsed before
	case u.User != nil:
		return errors.New("otel.endpoint: credentials do not stand in the address; write them as otel.headers")
	case u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "/v1/"):
		return errors.New("otel.endpoint: it is the base of a collector, for instance http://localhost:4318; /v1/traces and /v1/metrics are added")
	}
	return nil
}

func (a Audit) check() (errs []error) {
	if a.Keep < Duration(24*time.Hour) {
		errs = append(errs, fmt.Errorf("audit.keep: %v is less than a day; write days, such as 90d", time.Duration(a.Keep)))
	}
	if !a.Enabled && (a.Required || a.Arguments) {
		errs = append(errs, errors.New("audit.required and audit.arguments do nothing without audit.enabled: true; set that, too, or leave them out"))
	}
	return errs
}

// check says what is wrong with the chat model and with asking it.
func (p Phrases) check() (errs []error) {
	m := p.Model
	switch {
	case m.Provider == "" && m != Chat{}:
		errs = append(errs, errors.New("phrases.model.provider is missing; use ollama or openai"))
	case m.Provider != "" && m.Provider != "ollama" && m.Provider != "openai":
		errs = append(errs, fmt.Errorf("phrases.model.provider: %q is unknown; use ollama or openai", m.Provider))
	case m.Provider != "" && m.Model == "":
		errs = append(errs, errors.New("phrases.model.model is missing; name the chat model"))
	}
	if m.URL != "" {
		errs = append(errs, checkURL("phrases.model.url", m.URL))
	}
	if p.Auto && m.Provider == "" {
		errs = append(errs, errors.New("phrases.auto: no chat model is configured; set phrases.model, for instance {provider: ollama, model: llama3.2}"))
	}
	if p.AutoTools < 1 || p.AutoTokens < 1 {
		errs = append(errs, fmt.Errorf("phrases.auto_tools and phrases.auto_tokens: %d and %d are not above 0; auto: false asks for none", p.AutoTools, p.AutoTokens))
	}
	return errs
}

func checkURL(key, raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		var detail *url.Error
		if errors.As(err, &detail) {
			err = detail.Err // without the address, which may hold a key
		}
		return fmt.Errorf("%s: %w", key, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		u.RawQuery, u.Fragment = "", ""
		return fmt.Errorf("%s: %q is no http or https address; write it as https://host/path", key, u.Redacted())
	}
	return nil
}
