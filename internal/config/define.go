package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// CheckEndpointName says what is wrong with the name of an endpoint.
func CheckEndpointName(name string) error {
	if serverName.MatchString(name) && name != "." && name != ".." {
		return nil
	}
	return errors.New("a virtual server's name has 1 to 64 of A-Z a-z 0-9 . _ -, and is not . or .., which mean folders")
}

// ReadEndpoint reads an endpoint that stands outside the file: one JSON object
// with the keys of an entry of virtual_servers. Templates and what is absent
// are those of c. The error joins everything that is wrong, each by its key.
func (c *Config) ReadEndpoint(name string, definition []byte) (Endpoint, error) {
	root, err := nodeOf(definition)
	if err != nil {
		return Endpoint{}, err
	}
	_, errs := check(root, reflect.TypeFor[endpointFile](), "")
	f := file{surfaces: c.surfaces, Meta: c.Meta, Embedding: c.Embedding, Virtual: virtualFile{ScopeTemplates: c.Templates}}
	e, wrong := f.endpoint(name, "", root)
	errs = append(append(errs, CheckEndpointName(name)), wrong...)
	if e.Title != "" && e.Title != name {
		errs = append(errs, errors.New(".name: it is "+name+" and stays so; leave it out, or make another virtual server"))
	}
	e.Title = name
	return e, plainPlaces(errors.Join(errs...))
}

// nodeOf is a JSON object as the file's reader takes it. It is encoded anew, as
// YAML knows neither all of JSON's escapes nor keys of any length.
func nodeOf(text []byte) (*yaml.Node, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		var wrongType *json.UnmarshalTypeError
		if err == nil || errors.As(err, &wrongType) {
			err = errors.New("it is no JSON object; write one, such as {\"scope\": {\"include_tags\": [\"production\"]}}")
		}
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(object); err != nil {
		return nil, err
	}
	root := &yaml.Node{}
	if err := yaml.Unmarshal(b.Bytes(), root); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return root, nil
}

// line is where in its encoding something stands, which tells nobody anything.
var line = regexp.MustCompile(`(?m)^(?:line \d+: )?\.?`)

// plainPlaces words errors without lines, and without the name before the keys.
func plainPlaces(err error) error {
	if err == nil {
		return nil
	}
	var out []error
	for text := range strings.Lines(err.Error()) {
		out = append(out, errors.New(line.ReplaceAllString(strings.TrimSuffix(text, "\n"), "")))
	}
	return errors.Join(out...)
}
