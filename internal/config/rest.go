package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/gateway/upstream/rest/call"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

// restFile is one entry of rest as it is written.
type restFile struct {
	OpenAPI      string            `yaml:"openapi"`
	BaseURL      string            `yaml:"base_url"`
	Auth         restAuth          `yaml:"auth"`
	Headers      map[string]string `yaml:"headers"`
	Include      selectionFile     `yaml:"include"`
	Exclude      selectionFile     `yaml:"exclude"`
	Hosts        []string          `yaml:"hosts"`
	AllowPrivate bool              `yaml:"allow_private"`
	RemoteRefs   bool              `yaml:"allow_remote_refs"`
	Disabled     bool              `yaml:"disabled"`

	Timeout     Duration `yaml:"timeout"`
	Refresh     Duration `yaml:"refresh"`
	Concurrency int      `yaml:"concurrency"`
	Queue       int      `yaml:"queue"`

	offer `yaml:",inline"`
	Tools map[string]restTool `yaml:"tools"`
}

// selectionFile chooses operations.
type selectionFile struct {
	Tags       []string `yaml:"tags"`
	Paths      []string `yaml:"paths"`
	Methods    []string `yaml:"methods"`
	Operations []string `yaml:"operations"`
}

// restAuth says how requests prove who makes them. Secrets stand in variables
// and files.
type restAuth struct {
	Bearer       string `yaml:"bearer"`
	BearerEnv    string `yaml:"bearer_env"`
	BearerFile   string `yaml:"bearer_file"`
	User         string `yaml:"user"`
	Password     string `yaml:"password"`
	PasswordEnv  string `yaml:"password_env"`
	PasswordFile string `yaml:"password_file"`
	KeyName      string `yaml:"key_name"`
	KeyIn        string `yaml:"key_in"` // header, query or cookie
	Key          string `yaml:"key"`
	KeyEnv       string `yaml:"key_env"`
	KeyFile      string `yaml:"key_file"`
	SecretEnv    string `yaml:"client_secret_env"`
	SecretFile   string `yaml:"client_secret_file"`
	loginFile    `yaml:",inline"`
}

// restTool says of a tool what [Tool] does, or, with a url, is one.
type restTool struct {
	Tool        `yaml:",inline"`
	Method      string         `yaml:"method"`
	URL         string         `yaml:"url"`
	Title       string         `yaml:"title"`
	InputSchema map[string]any `yaml:"input_schema"`
}

// buildREST reads the entries of rest into c. Its errors are about the file;
// an entry with a mistake is disabled alone.
func (f *file) buildREST(c *Config) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.REST)) {
		if _, taken := f.Servers[name]; taken {
			errs = append(errs, fmt.Errorf("rest.%s: the name is taken by mcpServers.%s; rename one", name, name))
			continue
		}
		c.RESTNames = append(c.RESTNames, name)
		node := f.REST[name].node
		if switchedOff(node) {
			c.Disabled = append(c.Disabled, Disabled{Name: name})
			continue
		}
		server, err := restServer(name, node, f.expander())
		if err != nil {
			c.Disabled = append(c.Disabled, Disabled{name, strings.ReplaceAll(err.Error(), "\n", "; ")})
			continue
		}
		c.Servers = append(c.Servers, server)
	}
	slices.SortFunc(c.Servers, func(a, b Server) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) })
	slices.SortFunc(c.Disabled, func(a, b Disabled) int { return cmp.Compare(a.Name, b.Name) })
	return errs
}

// restServer reads one entry of rest.
func restServer(name string, n *yaml.Node, x *expander) (Server, error) {
	_, errs := check(n, reflect.TypeFor[restFile](), "")
	r := restFile{offer: offer{Annotated: true}}
	errs = append(errs, x.expandREST(n), unmarshal(n, &r), CheckName(name))
	if err := errors.Join(errs...); err != nil {
		return Server{}, err
	}
	spec, err := r.spec(name, x.folder)
	if err == nil {
		err = spec.Check()
	}
	server := r.server(Server{Spec: mcp.Spec{Name: name, Timeout: time.Duration(r.Timeout)}, REST: &spec, Tools: map[string]Tool{}})
	for tool, t := range r.Tools {
		server.Tools[tool] = t.Tool
	}
	return server, errors.Join(err, r.offer.check(), checkEffects(server.Tools))
}

func (r restFile) spec(name, folder string) (rest.Spec, error) {
	if r.OpenAPI != "" && !strings.Contains(r.OpenAPI, "://") && !filepath.IsAbs(r.OpenAPI) {
		r.OpenAPI = filepath.Join(folder, r.OpenAPI)
	}
	a := r.Auth
	sp := rest.Spec{
		Name: name,
		Origin: rest.Origin{
			Document: r.OpenAPI, BaseURL: strings.TrimRight(r.BaseURL, "/"), Include: openapi.Selection(r.Include), Exclude: openapi.Selection(r.Exclude),
			Hosts: r.Hosts, RemoteRefs: r.RemoteRefs, AllowPrivate: r.AllowPrivate,
		},
		Auth: call.Auth{
			Bearer: call.Secret{Text: a.Bearer, Env: a.BearerEnv, File: a.BearerFile},
			User:   a.User, Password: call.Secret{Text: a.Password, Env: a.PasswordEnv, File: a.PasswordFile},
			Key: call.Secret{Text: a.Key, Env: a.KeyEnv, File: a.KeyFile}, KeyName: a.KeyName, KeyIn: a.KeyIn,
			Credentials: call.Credentials{
				TokenURL: a.TokenURL, ID: a.ClientID, Secret: call.Secret{Text: a.ClientSecret, Env: a.SecretEnv, File: a.SecretFile}, Scopes: a.Scopes, Audience: a.Audience,
			},
		},
		Headers: r.Headers, Timeout: time.Duration(r.Timeout), Refresh: time.Duration(r.Refresh), Concurrency: r.Concurrency, Queue: r.Queue,
	}
	if a.Type != "" {
		sp.Auth.Credentials, sp.Login = call.Credentials{}, a.build()
		if a.SecretEnv != "" || a.SecretFile != "" {
			return sp, errors.New("auth: with a type its secret is client_secret, such as ${file:/run/secrets/client}")
		}
	}
	if sp.Auth.KeyName != "" && sp.Auth.KeyIn == "" {
		sp.Auth.KeyIn = "header"
	}
	if r.Concurrency < 0 || r.Queue < 0 {
		return sp, errors.New("concurrency and queue must not be negative")
	}
	for _, tool := range slices.Sorted(maps.Keys(r.Tools)) {
		t := r.Tools[tool]
		single, err := t.single(tool)
		if err != nil {
			return sp, fmt.Errorf("tools.%s: %w", tool, err)
		}
		if t.URL != "" {
			sp.Singles = append(sp.Singles, single)
		}
	}
	return sp, nil
}

// single is the request that a tool with a url is.
func (t restTool) single(name string) (openapi.Single, error) {
	s := openapi.Single{Name: name, Method: t.Method, URL: t.URL, Title: t.Title, Description: t.Description, Tags: t.Tags}
	if t.URL == "" && (t.Method != "" || t.Title != "" || t.InputSchema != nil) {
		return s, errors.New("method, title and input_schema are those of a request of its own: give its url, too")
	}
	if t.InputSchema == nil {
		return s, nil
	}
	var err error
	if s.InputSchema, err = json.Marshal(t.InputSchema); err != nil {
		return s, fmt.Errorf("input_schema: its keys are not all texts: put them in quotes: %w", err)
	}
	return s, nil
}
