package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// Read reads the servers of one file, in name order. An empty client is
// guessed from the file. A file without servers gives none.
func (s System) Read(l Location) ([]Server, error) {
	data, err := os.ReadFile(l.Path)
	if err != nil {
		return nil, err
	}
	servers, err := s.parse(l, data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.Path, err)
	}
	slices.SortFunc(servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return servers, nil
}

func (s System) parse(l Location, data []byte) ([]Server, error) {
	if strings.EqualFold(filepath.Ext(l.Path), ".toml") {
		return s.parseTOML(l, data)
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return nil, nil
	}
	plain, err := hujson.Standardize(bytes.Clone(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	if err != nil {
		return nil, err
	}
	var doc document
	if err := json.Unmarshal(plain, &doc); err != nil {
		return nil, wrongType(err)
	}
	var out []Server
	for _, entries := range doc.maps(s.Dir) {
		more, err := s.servers(l, entries)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// document is every place where a JSON file may keep servers. In a file of
// another purpose the same keys may hold anything, which is passed over.
type document struct {
	MCPServers map[string]json.RawMessage `json:"mcpServers"`      // most clients
	Servers    lenient[entries]           `json:"servers"`         // VS Code's mcp.json
	Context    lenient[entries]           `json:"context_servers"` // Zed
	MCP        lenient[struct {
		Servers lenient[entries] `json:"servers"`
	}] `json:"mcp"` // VS Code's settings.json
	Projects lenient[map[string]lenient[struct {
		MCPServers lenient[entries] `json:"mcpServers"`
	}]] `json:"projects"` // Claude Code, by folder
}

type entries map[string]json.RawMessage

// lenient is a T, or its zero value where something else stands.
type lenient[T any] struct{ is T }

func (l *lenient[T]) UnmarshalJSON(b []byte) error {
	var v T
	if json.Unmarshal(b, &v) == nil {
		l.is = v
	}
	return nil
}

// maps are the maps of servers that apply in dir.
func (d document) maps(dir string) []entries {
	out := []entries{d.MCPServers, d.Servers.is, d.Context.is, d.MCP.is.Servers.is}
	for _, project := range slices.Sorted(maps.Keys(d.Projects.is)) {
		if filepath.Clean(project) == filepath.Clean(dir) {
			out = append(out, d.Projects.is[project].is.MCPServers.is)
		}
	}
	return out
}

// entry is one server in any client's spelling.
type entry struct {
	Type      string            `json:"type"`
	Transport string            `json:"transport"`
	Command   command           `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]scalar `json:"env"`
	EnvFile   string            `json:"envFile"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`
	ServerURL string            `json:"serverUrl"` // Windsurf
	HTTPURL   string            `json:"httpUrl"`   // Gemini CLI
	Headers   map[string]scalar `json:"headers"`
	Timeout   json.RawMessage   `json:"timeout"`
	Disabled  bool              `json:"disabled"`
	Enabled   *bool             `json:"enabled"`

	DisabledTools []string `json:"disabledTools"` // Windsurf and others
	IncludeTools  []string `json:"includeTools"`  // Gemini CLI
	ExcludeTools  []string `json:"excludeTools"`  // Gemini CLI
}

// command is a program, or Zed's older object of program, args and env.
type command struct {
	Path string            `json:"path"`
	Args []string          `json:"args"`
	Env  map[string]scalar `json:"env"`
}

func (c *command) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return json.Unmarshal(b, &c.Path)
	}
	type plain command
	return json.Unmarshal(b, (*plain)(c))
}

// scalar is a text, or a number or truth value where a text belongs.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	if b[0] == '{' || b[0] == '[' {
		return errors.New("want a text")
	}
	*s = scalar(strings.TrimSuffix(string(b), "null"))
	return nil
}

func texts(m map[string]scalar) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = string(v)
	}
	return out
}

func (s System) servers(l Location, all entries) ([]Server, error) {
	var out []Server
	for name, raw := range all {
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("server %q: %w", name, wrongType(err))
		}
		server := e.server(name, l.Client)
		if server.Command == "" && server.URL == "" {
			server.Disabled = true
			server.Notes = append(server.Notes, "has neither command nor url (an extension of the client provides it)")
		}
		out = append(out, s.resolve(l, server))
	}
	return out, nil
}

// wrongType words JSON's type errors without the names of Go.
func wrongType(err error) error {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Errorf("%s: a %s is not what belongs there", strings.TrimPrefix(t.Field, "."), t.Value)
	}
	return err
}

func (e entry) server(name, client string) Server {
	out := Server{
		Name: name, Type: kind(e.Type, e.Transport), Command: e.Command.Path, Args: append(e.Command.Args, e.Args...),
		Env: texts(e.Env), Cwd: e.Cwd, URL: e.URL, Headers: texts(e.Headers),
		Disabled: e.Disabled || e.Enabled != nil && !*e.Enabled,
	}
	if len(e.Command.Env) > 0 && out.Env == nil {
		out.Env = texts(e.Command.Env)
	}
	switch {
	case e.HTTPURL != "":
		out.URL, out.Type = e.HTTPURL, "http"
	case e.ServerURL != "" && e.URL == "":
		out.URL = e.ServerURL
	case e.URL != "" && client == "gemini" && out.Type == "":
		out.Type = "sse"
	}
	if out.Command != "" {
		out.Type, out.URL, out.Headers = "", "", nil
	}
	if e.EnvFile != "" {
		out.Notes = append(out.Notes, "its envFile "+e.EnvFile+" is not read: put the variables into env")
	}
	if ms := 0.0; client == "gemini" && json.Unmarshal(e.Timeout, &ms) == nil {
		out.Timeout = milliseconds(ms)
	}
	out.switchTools(e.IncludeTools, append(e.DisabledTools, e.ExcludeTools...))
	return out
}

// switchTools takes over which tools the client shows: only some, if it names
// any, and none that it switched off.
func (s *Server) switchTools(only, off []string) {
	if len(only)+len(off) == 0 {
		return
	}
	s.Tools, s.Hidden = map[string]Tool{}, len(only) > 0
	for _, name := range only {
		name, _, _ = strings.Cut(name, "(") // Gemini CLI may name arguments, too
		s.Tools[name] = Tool{Hidden: false}
	}
	for _, name := range off {
		s.Tools[name] = Tool{Hidden: true}
	}
	if len(only) > 0 {
		s.Notes = append(s.Notes, "the client shows only "+strings.Join(only, ", ")+": the others stay hidden")
	}
	if len(off) > 0 {
		s.Notes = append(s.Notes, "the client has switched off "+strings.Join(off, ", ")+": hidden")
	}
}

// kind is our spelling of a transport; one that we do not know is derived.
func kind(names ...string) string {
	for _, n := range names {
		switch strings.ToLower(n) {
		case "http", "streamable-http", "streamablehttp", "streamable_http":
			return "http"
		case "sse":
			return "sse"
		}
	}
	return ""
}

// codexFile is what concerns us in Codex's config.toml.
type codexFile struct {
	Servers map[string]codexServer `toml:"mcp_servers"`
}

type codexServer struct {
	Command     string            `toml:"command"`
	Args        []string          `toml:"args"`
	Env         map[string]string `toml:"env"`
	Cwd         string            `toml:"cwd"`
	URL         string            `toml:"url"`
	BearerEnv   string            `toml:"bearer_token_env_var"`
	Headers     map[string]string `toml:"http_headers"`
	EnvHeaders  map[string]string `toml:"env_http_headers"`
	ToolTimeout float64           `toml:"tool_timeout_sec"`
	Only        []string          `toml:"enabled_tools"`
	Off         []string          `toml:"disabled_tools"`
	Enabled     *bool             `toml:"enabled"`
}

func (s System) parseTOML(l Location, data []byte) ([]Server, error) {
	var f codexFile
	if err := toml.Unmarshal(data, &f); err != nil {
		if d := new(toml.DecodeError); errors.As(err, &d) {
			row, _ := d.Position()
			return nil, fmt.Errorf("line %d: %w", row, err)
		}
		return nil, err
	}
	var out []Server
	for name, c := range f.Servers {
		out = append(out, s.resolve(l, c.server(name)))
	}
	return out, nil
}

func (c codexServer) server(name string) Server {
	out := Server{
		Name: name, Command: c.Command, Args: c.Args, Env: c.Env, Cwd: c.Cwd, URL: c.URL,
		Timeout: milliseconds(c.ToolTimeout * 1000), Disabled: c.Enabled != nil && !*c.Enabled,
	}
	out.switchTools(c.Only, c.Off)
	if c.URL == "" {
		return out
	}
	out.Type, out.Headers = "http", maps.Clone(c.Headers)
	if out.Headers == nil {
		out.Headers = map[string]string{}
	}
	for header, variable := range c.EnvHeaders {
		out.Headers[header] = "${" + variable + "}"
	}
	if c.BearerEnv != "" {
		out.Headers["Authorization"] = "Bearer ${" + c.BearerEnv + "}"
	}
	return out
}
