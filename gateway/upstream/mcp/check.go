package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/tooldex/tooldex/gateway/upstream/login"
)

var serverName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Source is the canonical text of what a Spec connects to: command, args,
// cwd, url, headers, environment and the names that it inherits. Two specs of one Source reach the same
// server with the same rights. It may hold secrets.
func (sp Spec) Source() string {
	var auth *login.Config
	if !reflect.DeepEqual(sp.Auth, login.Config{}) {
		auth = &sp.Auth
	}
	text, err := json.Marshal(struct {
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Cwd     string            `json:"cwd,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		Inherit []string          `json:"inheritEnv,omitempty"`
		Auth    *login.Config     `json:"auth,omitempty"`
	}{sp.Command, sp.Args, sp.Cwd, sp.URL, sp.Headers, sp.Env, sp.InheritEnv, auth})
	if err != nil {
		panic("upstream: strings that do not marshal: " + err.Error())
	}
	return string(text)
}

// Check returns everything that is wrong with a Spec, nil if nothing is.
func (sp Spec) Check() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("server %q: "+format, append([]any{sp.Name}, args...)...))
	}
	if !serverName.MatchString(sp.Name) {
		bad("bad name: use 1 to 64 letters, digits, dots, underscores and hyphens")
	}
	if _, err := sp.transports(); err != nil {
		bad("%w", err)
	}
	if sp.URL != "" {
		if err := checkURL(sp.URL); err != nil {
			bad("%w", err)
		}
	}
	if err := sp.checkAuth(); err != nil {
		bad("%w", err)
	}
	for name, value := range sp.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			bad("bad header %q: a name or value that HTTP does not allow", name)
		}
	}
	for _, name := range sp.InheritEnv {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			bad("bad inherit_env entry %q: give names of variables, or the one word all", name)
		}
	}
	if sp.Timeout < 0 || sp.StartTimeout < 0 || sp.Refresh < 0 || sp.Concurrency < 0 || sp.Queue < 0 || sp.Idle < 0 {
		bad("timeout, start_timeout, refresh, idle, concurrency and queue must not be negative")
	}
	return errors.Join(errs...)
}

func (sp Spec) checkAuth() error {
	given := !reflect.DeepEqual(sp.Auth, login.Config{}) && sp.Auth.Type != login.None
	switch {
	case given && sp.URL == "":
		return errors.New("auth belongs to a url; a program gets its secrets by env")
	case given && !sp.LogsIn():
		return errors.New("auth and the header Authorization are both set, or the url has a secret in it; keep one of them")
	}
	return sp.Auth.Check()
}

// transports returns the transports to try, in order: "stdio", "http", "sse".
func (sp Spec) transports() ([]string, error) {
	switch {
	case sp.Command == "" && sp.URL == "":
		return nil, errors.New("neither command nor url: set one of them")
	case sp.Command != "" && sp.URL != "":
		return nil, errors.New("both command and url: set one of them")
	}
	kind, known := map[string]string{
		"": "", "stdio": "stdio", "sse": "sse",
		"http": "http", "streamable-http": "http", "streamableHttp": "http",
	}[sp.Type]
	switch {
	case !known:
		return nil, fmt.Errorf("unknown type %q: use stdio, http or sse", sp.Type)
	case sp.Command != "" && (kind == "" || kind == "stdio"):
		return []string{"stdio"}, nil
	case sp.Command != "":
		return nil, fmt.Errorf("type %q needs a url, not a command", sp.Type)
	case kind == "stdio":
		return nil, errors.New(`type "stdio" needs a command, not a url`)
	case kind == "":
		return []string{"http", "sse"}, nil
	}
	return []string{kind}, nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		var detail *url.Error
		if errors.As(err, &detail) {
			err = detail.Err
		}
		return fmt.Errorf("bad url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("bad url %q: write it as https://host/path", u.Redacted())
	}
	return nil
}
