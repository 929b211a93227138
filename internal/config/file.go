package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/limit"
	"github.com/tooldex/tooldex/gateway/view"
)

// file is the configuration as it is written. Each key that a person may
// write is a field here; check refuses every other one.
type file struct {
	Listen    string                  `yaml:"listen"`
	State     string                  `yaml:"state"`
	Log       Log                     `yaml:"log"`
	Servers   map[string]entry        `yaml:"mcpServers"`
	REST      map[string]entry        `yaml:"rest"`
	Embedding Embedding               `yaml:"embedding"`
	Index     Index                   `yaml:"index"`
	Phrases   Phrases                 `yaml:"phrases"`
	Meta      Meta                    `yaml:"meta_config"`
	Execution executionFile           `yaml:"execution"`
	Virtual   virtualFile             `yaml:"meta_server"`
	Endpoints map[string]endpointNode `yaml:"virtual_servers"`
	Toolboxes map[string]toolboxFile  `yaml:"toolboxes"`
	Audit     Audit                   `yaml:"audit"`
	Otel      Otel                    `yaml:"otel"`
	Limits    limit.Limits            `yaml:"limits"`
	Auth      authFile                `yaml:"auth"`
	PublicURL string                  `yaml:"public_url"`
	Proxy     bool                    `yaml:"behind_proxy"`
	TLS       TLS                     `yaml:"tls"`
	// Inherit is what servers inherit that do not say it themselves.
	Inherit variables `yaml:"inherit_env"`

	// AllowCommands lets secrets be what commands print.
	AllowCommands bool `yaml:"allow_commands"`
	// Keyring keeps the key of logins in the system's keyring, where there is one.
	Keyring bool `yaml:"keyring"`

	path     string   `yaml:"-"` // of the file
	surfaces []string `yaml:"-"` // as Options has them
}

// entry is one entry of mcpServers or rest as it stands. It is read by itself, as a
// mistake in it concerns that server alone.
type entry struct{ node *yaml.Node }

// UnmarshalYAML keeps the node.
func (e *entry) UnmarshalYAML(n *yaml.Node) error {
	e.node = n
	return nil
}

// variables are names of environment variables, or the word all.
type variables []string

// UnmarshalYAML reads a list of names or "all".
func (v *variables) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Value == "all" {
		*v = variables{"all"}
		return nil
	}
	if err := n.Decode((*[]string)(v)); err != nil || n.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: inherit_env: want a list of variables' names, or all", n.Line)
	}
	return nil
}

// serverFile is one entry of mcpServers: the keys that every client uses and
// ours.
type serverFile struct {
	Type     string            `yaml:"type"`
	Command  string            `yaml:"command"`
	Args     []string          `yaml:"args"`
	Env      map[string]string `yaml:"env"`
	Cwd      string            `yaml:"cwd"`
	URL      string            `yaml:"url"`
	Headers  map[string]string `yaml:"headers"`
	Auth     loginNode         `yaml:"auth"`
	Disabled bool              `yaml:"disabled"`

	InheritEnv   variables `yaml:"inherit_env"`
	StartTimeout Duration  `yaml:"start_timeout"`
	Timeout      Duration  `yaml:"timeout"`
	Refresh      Duration  `yaml:"refresh"`
	Concurrency  int       `yaml:"concurrency"`
	Queue        int       `yaml:"queue"`
	Start        string    `yaml:"start"`
	Idle         Duration  `yaml:"idle"`

	offer `yaml:",inline"`
	Tools map[string]Tool `yaml:"tools"`
}

// offer is what an entry of mcpServers or rest says beside how it is reached.
type offer struct {
	Description string   `yaml:"description"`
	Tags        []string `yaml:"tags"`
	Category    string   `yaml:"category"`
	Phrases     []string `yaml:"phrases"`
	Hidden      bool     `yaml:"hidden"`
	Trusted     bool     `yaml:"trusted"`
	Annotated   bool     `yaml:"effect_from_annotations"`
	Visibility  string   `yaml:"visibility"`
	Teams       []string `yaml:"teams"`
	Owners      []string `yaml:"owners"`
}

// server adds to a server what is offered of it.
func (o offer) server(s Server) Server {
	s.Description, s.Tags, s.Category, s.Phrases, s.Hidden = o.Description, o.Tags, o.Category, o.Phrases, o.Hidden
	s.Trusted, s.Annotated, s.Visibility, s.Teams, s.Owners = o.Trusted, o.Annotated, o.Visibility, o.Teams, o.Owners
	return s
}

// check says who may see a server in a way that nobody understands.
func (o offer) check() error {
	if o.Visibility != "" && !slices.Contains(auth.Visibilities, o.Visibility) {
		return fmt.Errorf("visibility: %q is none of %s", o.Visibility, strings.Join(auth.Visibilities, ", "))
	}
	for _, owner := range o.Owners {
		if err := checkPrincipal("owners", owner); err != nil {
			return err
		}
	}
	return nil
}

// executionFile is the execution section as S4 writes it.
type executionFile struct {
	TimeoutSeconds    float64 `yaml:"timeout_seconds"`
	MaxTimeoutSeconds float64 `yaml:"max_timeout_seconds"`
	RetryAttempts     int     `yaml:"retry_attempts"`
	LogAllExecutions  bool    `yaml:"log_all_executions"`
	ValidateArguments bool    `yaml:"validate_arguments"`
}

// virtualFile is S4's meta_server section. Its meta_config and execution mean
// what the same sections mean at the top.
type virtualFile struct {
	Default        endpointNode         `yaml:"default"`
	ScopeTemplates map[string]view.Rule `yaml:"scope_templates"`
	Meta           Meta                 `yaml:"meta_config"`
	Execution      executionFile        `yaml:"execution"`
}

// toolboxFile is a toolbox as it is written.
type toolboxFile struct {
	Description string    `yaml:"description"`
	Servers     []string  `yaml:"servers"`
	Scope       scopeNode `yaml:"scope"`
}

// A Duration is written as Go writes it: 30s, 15m, 1h30m.
type Duration time.Duration

// UnmarshalYAML reads "30s" or "90d"; a bare number is refused, as its unit
// would be a guess.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := ParseDuration(n.Value)
	if err != nil || v < 0 {
		return fmt.Errorf("line %d: %q is no duration; write one with its unit, such as 30s or 15m", n.Line, n.Value)
	}
	*d = Duration(v)
	return nil
}

// ParseDuration is [time.ParseDuration] that also knows a number of days, such
// as "90d".
func ParseDuration(s string) (time.Duration, error) {
	days, ok := strings.CutSuffix(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of days", s)
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

// foreignKeys are what other clients keep in an entry of mcpServers. They mean
// nothing here, so a file that was written for another client still loads.
var foreignKeys = map[string]bool{
	"alwaysAllow": true, "autoApprove": true, "allowedTools": true, "enabledTools": true, "disabledTools": true,
	"includeTools": true, "excludeTools": true, "enabled_tools": true, "disabled_tools": true,
	"trust": true, "gallery": true, "version": true, "dev": true, "sandboxEnabled": true, "sandbox": true,
	"source": true, "enabled": true, "icon": true, "oauth": true, "authProviderType": true,
	"startup_timeout_sec": true, "tool_timeout_sec": true, "startup_timeout_ms": true, "transport": true,
}
