package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
)

// A Single is one request that is described by itself.
type Single struct {
	Name        string
	Method      string // "" means GET
	URL         string // absolute, with {name} for arguments in its path and query
	Title       string
	Description string
	InputSchema json.RawMessage // an object schema; nil has the arguments of URL
	Tags        []string
}

// Operation is the tool that a request makes. Arguments that the URL does not
// name go into the query, or, with POST, PUT and PATCH, into a JSON body.
func (s Single) Operation() (Operation, error) {
	op := Operation{Name: s.Name, ID: s.Name, Method: strings.ToUpper(s.Method), Tags: s.Tags, Accept: "application/json, */*;q=0.1"}
	if op.Method == "" {
		op.Method = "GET"
	}
	if !slices.Contains(methods, strings.ToLower(op.Method)) {
		return op, fmt.Errorf("method %s is none of %s", op.Method, strings.ToUpper(strings.Join(methods, ", ")))
	}
	u, err := url.Parse(braced.ReplaceAllString(s.URL, "x"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return op, errors.New("its url is no http or https address; write it as https://host/path/{argument}")
	}
	op.Server = u.Scheme + "://" + u.Host
	path, ok := strings.CutPrefix(s.URL, op.Server)
	if u.User != nil || !ok {
		return op, errors.New("its url has a user or an argument before the path: use auth, and write the host as it is")
	}
	op.Path, _, _ = strings.Cut(path, "#")
	schema, err := s.schema(op.Path)
	if err != nil {
		return op, err
	}
	s.places(&op, schema)
	op.Tool, err = s.tool(&op, schema)
	return op, err
}

// schema is the schema of the arguments, with those of the path.
func (s Single) schema(path string) (map[string]any, error) {
	schema := map[string]any{}
	if len(s.InputSchema) > 0 {
		dec := json.NewDecoder(bytes.NewReader(s.InputSchema))
		dec.UseNumber()
		if err := dec.Decode(&schema); err != nil {
			return nil, errors.New("its input_schema is no map")
		}
		if t := schema["type"]; t != nil && t != "object" {
			return nil, errors.New("its input_schema is no schema of an object: an object holds the arguments")
		}
	} else {
		schema["additionalProperties"] = false
	}
	properties := object(schema["properties"])
	if properties == nil {
		properties = map[string]any{}
	}
	required := list(schema["required"])
	for _, m := range braced.FindAllStringSubmatch(path, -1) {
		if properties[m[1]] == nil {
			properties[m[1]] = map[string]any{"type": "string"}
		}
		if !slices.Contains(required, any(m[1])) {
			required = append(required, m[1])
		}
	}
	schema["type"], schema["properties"] = "object", properties
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

// places says where the arguments go.
func (s Single) places(op *Operation, schema map[string]any) {
	for _, m := range braced.FindAllStringSubmatch(op.Path, -1) {
		p := Param{Argument: m[1], Name: m[1], In: "path", Style: "simple", Required: true}
		if !slices.Contains(op.Params, p) {
			op.Params = append(op.Params, p)
		}
	}
	inBody := slices.Contains([]string{"POST", "PUT", "PATCH"}, op.Method)
	fields := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(object(schema["properties"]))) {
		switch {
		case strings.Contains(op.Path, "{"+name+"}"):
		case inBody:
			fields[name] = true
		default:
			op.Params = append(op.Params, Param{Argument: name, Name: name, In: "query", Style: "form", Explode: true})
		}
	}
	if open := schema["additionalProperties"] != false; inBody && (open || len(fields) > 0) {
		op.Body = &Body{Kind: JSON, Type: "application/json", Fields: fields, Open: open, Required: len(fields) > 0}
	}
}

func (s Single) tool(op *Operation, schema map[string]any) (json.RawMessage, error) {
	data, err := rawjson.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("its input_schema: %w", err)
	}
	about := strings.TrimSpace(s.Description)
	if about != "" {
		about += "\n\n"
	}
	path, _, _ := strings.Cut(op.Path, "?")
	var w rawjson.Writer
	w.Add("name", encode(s.Name))
	if s.Title != "" {
		w.Add("title", encode(s.Title))
	}
	w.Add("description", encode(about+op.Method+" "+path))
	w.Add("inputSchema", data)
	w.Add("annotations", encode(annotations(op.Method)))
	if len(s.Tags) > 0 {
		w.Add("_meta", encode(map[string]any{"tags": s.Tags, "group": s.Tags[0]}))
	}
	return w.Bytes(), nil
}
