package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/gateway/view"
)

// An Endpoint is an address that clients connect to: a surface and the tools
// behind it.
type Endpoint struct {
	Name                string // its own: "default", or as virtual_servers has it
	Title               string // that clients see; "" means the program's
	Enabled             bool
	Surface             string // its set of meta-tools
	HideUnderlyingTools bool
	Rules               []view.Rule // all must let a tool through; none lets all
	Meta                Meta
	Warnings            []string // what of its scope is probably not meant
}

// DefaultEndpoint is the name of the endpoint that meta_server.default is.
const DefaultEndpoint = "default"

// endpointFile is an endpoint as it is written.
type endpointFile struct {
	Type    string    `yaml:"type"`
	Name    string    `yaml:"name"`
	Enabled bool      `yaml:"enabled"`
	Surface string    `yaml:"surface"`
	Hide    bool      `yaml:"hide_underlying_tools"`
	Scope   scopeNode `yaml:"scope"`
	Meta    Meta      `yaml:"meta_config"`
}

// endpointNode is an endpoint as it stands, as it is read over what the file
// says elsewhere.
type endpointNode struct{ node *yaml.Node }

// UnmarshalYAML keeps the node.
func (e *endpointNode) UnmarshalYAML(n *yaml.Node) error {
	e.node = n
	return nil
}

// scopeNode is a scope as it stands: a rule, a template's name, or a list of
// both.
type scopeNode struct{ node *yaml.Node }

// UnmarshalYAML keeps the node.
func (s *scopeNode) UnmarshalYAML(n *yaml.Node) error {
	s.node = n
	return nil
}

// buildEndpoints reads meta_server.default and virtual_servers into c.
func (f *file) buildEndpoints(c *Config) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.Virtual.ScopeTemplates)) {
		wrong, _ := f.Virtual.ScopeTemplates[name].Check()
		errs = append(errs, at("meta_server.scope_templates."+name, wrong)...)
	}
	var wrong []error
	c.Default, wrong = f.endpoint(DefaultEndpoint, "meta_server.default", f.Virtual.Default.node)
	errs = append(errs, wrong...)
	for _, name := range slices.Sorted(maps.Keys(f.Endpoints)) {
		place := "virtual_servers." + name
		e, wrong := f.endpoint(name, place, f.Endpoints[name].node)
		switch {
		case name == DefaultEndpoint:
			wrong = append(wrong, fmt.Errorf("%s: the name is taken by meta_server.default; set it there, or choose another name", place))
		case !serverName.MatchString(name) || name == "." || name == "..":
			wrong = append(wrong, fmt.Errorf("%s: a virtual server's name has 1 to 64 of A-Z a-z 0-9 . _ -, and is not . or ..; rename it", place))
		case e.Title != "" && e.Title != name:
			wrong = append(wrong, fmt.Errorf("%s.name: %q is not the name that it stands under; leave it out", place, e.Title))
		}
		errs = append(errs, wrong...)
		e.Title = name
		c.Endpoints = append(c.Endpoints, e)
	}
	return errs
}

func (f *file) endpoint(name, place string, n *yaml.Node) (Endpoint, []error) {
	in := endpointFile{Type: "meta", Enabled: true, Surface: "meta", Hide: true, Meta: f.Meta}
	var errs []error
	if n != nil {
		if err := unmarshal(n, &in); err != nil {
			return Endpoint{}, []error{err}
		}
	}
	if in.Type != "meta" {
		errs = append(errs, fmt.Errorf("%s.type: %q is not served; there is meta", place, in.Type))
	}
	e := Endpoint{Name: name, Title: in.Name, Enabled: in.Enabled, Surface: in.Surface, HideUnderlyingTools: in.Hide, Meta: in.Meta}
	if in.Scope.node != nil {
		rules, wrong := f.rules(place+".scope", in.Scope.node)
		errs = append(errs, wrong...)
		e.Rules = rules
	}
	for _, r := range e.Rules {
		_, warnings := r.Check()
		e.Warnings = append(e.Warnings, warnings...)
	}
	return e, append(errs, limits(place+".meta_config", in.Meta)...)
}

// rules reads a scope.
func (f *file) rules(place string, n *yaml.Node) ([]view.Rule, []error) {
	switch n = resolve(n); n.Kind {
	case yaml.ScalarNode:
		if n.Value == "" || n.Tag == "!!null" {
			return nil, nil
		}
		r, ok := f.Virtual.ScopeTemplates[n.Value]
		if !ok {
			known := slices.Sorted(maps.Keys(f.Virtual.ScopeTemplates))
			if len(known) == 0 {
				return nil, []error{fmt.Errorf("line %d: %s: there is no scope template %q; meta_server.scope_templates has none", n.Line, place, n.Value)}
			}
			return nil, []error{fmt.Errorf("line %d: %s: there is no scope template %q%s", n.Line, place, n.Value, suggestion(n.Value, known))}
		}
		return []view.Rule{r}, nil
	case yaml.SequenceNode:
		var all []view.Rule
		var errs []error
		for i, item := range n.Content {
			rules, wrong := f.rules(fmt.Sprintf("%s[%d]", place, i), item)
			all, errs = append(all, rules...), append(errs, wrong...)
		}
		return all, errs
	}
	var r view.Rule
	if err := unmarshal(n, &r); err != nil {
		return nil, []error{err}
	}
	wrong, _ := r.Check()
	return []view.Rule{r}, at(place, wrong)
}

// at puts the place before each of the errors.
func at(place string, errs []error) []error {
	var out []error
	for _, err := range errs {
		out = append(out, fmt.Errorf("%s.%w", place, err))
	}
	return out
}

// limits says what is wrong with the numbers of a meta_config.
func limits(place string, m Meta) []error {
	var errs []error
	if m.MaxSearchLimit < 1 || m.MaxSearchLimit > 50 {
		errs = append(errs, fmt.Errorf("%s.max_search_limit: %d is outside 1 to 50", place, m.MaxSearchLimit))
	}
	if m.DefaultSearchLimit < 1 || m.DefaultSearchLimit > m.MaxSearchLimit {
		errs = append(errs, fmt.Errorf("%s.default_search_limit: %d is outside 1 to %d", place, m.DefaultSearchLimit, m.MaxSearchLimit))
	}
	return errs
}

// Endpoint is the one called name.
func (c *Config) Endpoint(name string) (Endpoint, error) {
	known := []string{DefaultEndpoint}
	if name == DefaultEndpoint {
		return c.Default, nil
	}
	for _, e := range c.Endpoints {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return Endpoint{}, errors.New("there is no virtual server " + fmt.Sprintf("%q%s", name, suggestion(name, known)))
}
