// Package config reads tooldex's configuration: one YAML or JSON file, with
// flags and TOOLDEX_* variables above it.
//
// [Load] finds the file, refuses what it does not know with the line and the
// nearest key, expands ${VAR}, and fills in defaults. mcpServers is the map
// that every MCP client uses, so another client's file loads as it stands.
package config

import (
	"slices"
	"time"

	"github.com/tooldex/tooldex/gateway/limit"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/gateway/view"
)

// Config is a checked configuration with every default filled in.
type Config struct {
	Path      string // the file it came from; "" without one
	Listen    string // address of serve
	State     string // the state folder
	Log       Log
	Servers   []Server   // enabled ones, in name order
	Disabled  []Disabled // the others, in name order
	RESTNames []string   // those of Servers and Disabled that are REST APIs
	Embedding Embedding
	Index     Index
	Phrases   Phrases
	Meta      Meta
	Default   Endpoint
	Endpoints []Endpoint           // beside the default one, in order of name
	Templates map[string]view.Rule // scopes by name, that endpoints may refer to
	Toolboxes map[string]Toolbox   // of surface toolbox, by name
	Execution Execution
	Auth      Auth
	PublicURL string // scheme and host that clients use; "" on this machine alone
	TLS       TLS
	// BehindProxy says that a proxy does TLS, and tells who calls.
	BehindProxy bool
	Audit       Audit
	Otel        Otel
	// AllowCommands lets secrets be what commands print.
	AllowCommands bool
	// Keyring keeps the key of logins in the system's keyring, where there is one.
	Keyring bool
	Limits  limit.Limits
	Foreign []string // keys of other clients, which mean nothing here

	surfaces []string // that endpoints may have; nil for any
}

// A Disabled is an entry of mcpServers or rest that does not run.
type Disabled struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"` // what is wrong with the entry; "" when it says disabled itself
}

// DisabledReason is what is wrong with a server's entry, "" if nothing is.
func (c *Config) DisabledReason(server string) string {
	for _, d := range c.Disabled {
		if d.Name == server {
			return d.Reason
		}
	}
	return ""
}

// Names are the servers that run, in order.
func (c *Config) Names() []string {
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Spec.Name)
	}
	return names
}

// Section is where the file has a server: mcpServers or rest.
func (c *Config) Section(server string) string {
	if slices.Contains(c.RESTNames, server) {
		return "rest"
	}
	return "mcpServers"
}

// Broken are the servers that a mistake in their entry disables, in order.
func (c *Config) Broken() []string { return c.disabled(true) }

// Off are the servers whose entries say that they are disabled, in order.
func (c *Config) Off() []string { return c.disabled(false) }

func (c *Config) disabled(broken bool) []string {
	var names []string
	for _, d := range c.Disabled {
		if (d.Reason != "") == broken {
			names = append(names, d.Name)
		}
	}
	return names
}

// Log says what is logged and how.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text or json
}

// A Server is one enabled entry of mcpServers or rest.
type Server struct {
	Spec        mcp.Spec   // of a REST API the name and the timeout alone
	REST        *rest.Spec // nil for an MCP server
	Description string
	Tags        []string
	Category    string
	Phrases     []string
	Hidden      bool
	Trusted     bool // its annotations may decide retries
	Annotated   bool // its annotations say what its tools' effects are
	Visibility  string
	Teams       []string
	Owners      []string        // principals who see its tools where Visibility is private
	Tools       map[string]Tool // overrides by bare tool name
}

// A Tool overrides what an upstream says of one tool; zero fields leave it.
type Tool struct {
	Description string    `yaml:"description"`
	Tags        []string  `yaml:"tags"`
	Category    string    `yaml:"category"`
	Group       string    `yaml:"group"`  // where tools are browsed by server
	Effect      string    `yaml:"effect"` // read, write or destructive; "" leaves it to the server's entry
	Examples    []Example `yaml:"examples"`
	Hidden      *bool     `yaml:"hidden"`  // false shows a tool of a hidden server
	Phrases     []string  `yaml:"phrases"` // searched, not shown
}

// An Example is one documented call.
type Example struct {
	Description string         `yaml:"description"`
	Arguments   map[string]any `yaml:"arguments"`
}

// Embedding chooses the embedder.
type Embedding struct {
	Provider       string            `yaml:"provider"` // builtin, ollama, openai or none; "" in the file is builtin, or what Meta.EmbeddingModel needs
	Model          string            `yaml:"model"`
	URL            string            `yaml:"url"`
	Key            string            `yaml:"key"`      // best written as ${VAR}
	KeyEnv         string            `yaml:"key_env"`  // variable that holds the key
	KeyFile        string            `yaml:"key_file"` // file that holds the key
	Dimensions     int               `yaml:"dimensions"`
	QueryPrefix    string            `yaml:"query_prefix"`
	DocumentPrefix string            `yaml:"document_prefix"`
	KeepAlive      string            `yaml:"keep_alive"`
	APIVersion     string            `yaml:"api_version"`
	Headers        map[string]string `yaml:"headers"`
	Timeout        Duration          `yaml:"timeout"`
	Parallel       int               `yaml:"parallel"`
	BatchBytes     int               `yaml:"batch_bytes"`
}

// Audit says what is kept of who called what.
type Audit struct {
	Enabled   bool     `yaml:"enabled"`
	Keep      Duration `yaml:"keep"`      // how long
	Arguments bool     `yaml:"arguments"` // with their values, not only their names
	Required  bool     `yaml:"required"`  // a tool runs only when that is on disk
}

// Otel says where traces and metrics are sent.
type Otel struct {
	Endpoint string            `yaml:"endpoint"` // of a collector, by OTLP over HTTP; "" sends none
	Headers  map[string]string `yaml:"headers"`  // of each request
}

// Phrases say where phrases of tools come from, besides those of mcpServers.
type Phrases struct {
	Pack  string   `yaml:"pack"`  // on, or off for none of those that come with the binary
	Packs []string `yaml:"packs"` // files with more
	Learn string   `yaml:"learn"` // off; on to learn from use; shared to have several principals confirm it
	Model Chat     `yaml:"model"` // that "enrich" asks

	Auto       bool `yaml:"auto"`        // the model is asked for what servers list
	AutoTools  int  `yaml:"auto_tools"`  // at most so many an hour
	AutoTokens int  `yaml:"auto_tokens"` // the same of tokens
}

// Chat is a chat model that can be asked.
type Chat struct {
	Provider string `yaml:"provider"` // ollama or openai; "" for none
	Model    string `yaml:"model"`
	URL      string `yaml:"url"`
	KeyEnv   string `yaml:"key_env"` // variable that holds the key
}

// Index tunes the search engine.
type Index struct {
	HNSWThreshold int    `yaml:"hnsw_threshold"` // allowed documents above which the graph is used; 0 always, -1 the index's default
	Params        string `yaml:"params"`         // file that "eval tune" wrote; "" means the shipped parameters
}

// Meta tunes the meta-tools.
type Meta struct {
	EnableSemanticSearch   bool   `yaml:"enable_semantic_search"`
	EnableCategories       bool   `yaml:"enable_categories"`
	EnableSimilarTools     bool   `yaml:"enable_similar_tools"`
	DefaultSearchLimit     int    `yaml:"default_search_limit"`
	MaxSearchLimit         int    `yaml:"max_search_limit"`
	IncludeMetricsInSearch bool   `yaml:"include_metrics_in_search"`
	IncludeSignatures      bool   `yaml:"include_signatures"` // one line a tool in searches
	SplitExecute           bool   `yaml:"split_execute"`      // a tool for each effect runs tools, in surface meta
	ValidateArguments      bool   `yaml:"validate_arguments"` // also where the surface leaves that to servers
	EmbeddingModel         string `yaml:"embedding_model"`    // of the catalog; read into Embedding
}

// A Toolbox is a named set of tools.
type Toolbox struct {
	Description string
	Servers     []string    // whose tools it has; none means all
	Rules       []view.Rule // all must let a tool through
}

// Execution bounds execute_tool.
type Execution struct {
	Timeout           time.Duration
	MaxTimeout        time.Duration
	RetryAttempts     int
	LogAllExecutions  bool
	ValidateArguments bool
}
