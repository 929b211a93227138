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
	ReadOnly            bool        // it shows tools without effects alone, as its last rule says
	Rules               []view.Rule // all must let a tool through; none lets all
	Meta                Meta
	Warnings            []string // what of its scope is probably not meant
	Problem             string   // why it is not served though it is to be; "" in those of the file

	Written map[string]any // as it is written, for who is to see or change it
}

// SetSurface changes the surface, unless name is "". Its error is that of a
// surface that cannot do what the file says.
func (e *Endpoint) SetSurface(name string) error {
	if name == "" {
		return nil
	}
	e.Surface = name
	e.HideUnderlyingTools = name != direct
	if hide, ok := e.Written["hide_underlying_tools"].(bool); ok {
		e.HideUnderlyingTools = hide
	}
	if name == direct && e.HideUnderlyingTools {
		return fmt.Errorf("hide_underlying_tools: surface %s has nothing but the underlying tools; leave the key out, or choose another surface", direct)
	}
	return nil
}

// A Definition is an endpoint that another source than the file has, as
// [Config.ReadEndpoint] reads it.
type Definition struct {
	Name    string
	JSON    []byte
	Problem string // why there is no JSON, "" when there is
}

// DefaultEndpoint is the name of the endpoint that meta_server.default is.
const DefaultEndpoint = "default"

// direct is the surface that consists of the underlying tools.
const direct = "direct"

// endpointFile is an endpoint as it is written.
type endpointFile struct {
	Type    string    `yaml:"type"`
	Name    string    `yaml:"name"`
	Enabled bool      `yaml:"enabled"`
	Surface string    `yaml:"surface"`
	Hide    bool      `yaml:"hide_underlying_tools"` // absent it is as the surface needs it
	Scope   scopeNode `yaml:"scope"`
	Read    bool      `yaml:"readonly"`
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
		case CheckEndpointName(name) != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w; rename it", place, CheckEndpointName(name)))
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
	in := endpointFile{Type: "meta", Enabled: true, Surface: "meta", Meta: f.Meta}
	var written map[string]any
	var errs []error
	if n != nil {
		if err := errors.Join(unmarshal(n, &in), unmarshal(n, &written)); err != nil {
			return Endpoint{}, []error{err}
		}
	}
	if in.Type != "meta" {
		errs = append(errs, fmt.Errorf("%s.type: %q is not served; there is meta", place, in.Type))
	}
	if f.surfaces != nil && !slices.Contains(f.surfaces, in.Surface) {
		errs = append(errs, fmt.Errorf("%s.surface: there is no surface %q%s", place, in.Surface, suggestion(in.Surface, f.surfaces)))
	}
	e := Endpoint{Name: name, Title: in.Name, Enabled: in.Enabled, ReadOnly: in.Read, Meta: in.Meta, Written: written}
	if err := e.SetSurface(in.Surface); err != nil {
		errs = append(errs, fmt.Errorf("%s.%w", place, err))
	}
	if in.Scope.node != nil {
		rules, wrong := f.rules(place+".scope", in.Scope.node)
		errs = append(errs, wrong...)
		e.Rules = rules
	}
	if in.Read {
		e.Rules = append(e.Rules, view.Rule{ReadOnly: true})
	}
	for _, r := range e.Rules {
		_, warnings := r.Check()
		e.Warnings = append(e.Warnings, warnings...)
	}
	if err := f.Embedding.checkModel(in.Meta.EmbeddingModel); err != nil {
		errs = append(errs, fmt.Errorf("%s.meta_config.embedding_model: %w", place, err))
	}
	e.Meta.EmbeddingModel = "" // the catalog's, as every endpoint's
	return e, append(errs, limits(place+".meta_config", in.Meta)...)
}

// buildToolboxes reads toolboxes into c.
func (f *file) buildToolboxes(c *Config) (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(f.Toolboxes)) {
		in := f.Toolboxes[name]
		t := Toolbox{Description: in.Description, Servers: in.Servers}
		if in.Scope.node != nil {
			rules, wrong := f.rules("toolboxes."+name+".scope", in.Scope.node)
			t.Rules, errs = rules, append(errs, wrong...)
		}
		if len(t.Servers) == 0 && in.Scope.node == nil {
			errs = append(errs, fmt.Errorf("toolboxes.%s.servers is empty and there is no scope; name the servers whose tools it has, or give a scope", name))
		}
		if c.Toolboxes == nil {
			c.Toolboxes = map[string]Toolbox{}
		}
		c.Toolboxes[name] = t
	}
	return errs
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
