// Package call makes one request of a REST API out of the arguments of a tool,
// and an MCP result out of the reply.
//
// Arguments are a stranger's: whatever they hold, a request goes to the path
// and the host of its operation, with the headers that it would have anyway.
// [Build] refuses those that cannot be written so with an [ArgumentError].
package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

// An ArgumentError is an argument that cannot be sent.
type ArgumentError struct {
	Argument string
	Problem  string
}

func (e *ArgumentError) Error() string { return fmt.Sprintf("argument %s: %s", e.Argument, e.Problem) }

// Build makes the request of an operation at base, an absolute address without
// a slash at its end. Arguments are an object, or nothing.
func Build(ctx context.Context, op *openapi.Operation, base string, arguments json.RawMessage) (*http.Request, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	members, err := rawjson.Members(arguments)
	if err != nil {
		return nil, &ArgumentError{"(all)", "they are no JSON object: " + err.Error()}
	}
	w := &writer{op: op, path: op.Path, header: http.Header{}}
	rest, err := w.params(members)
	if err != nil {
		return nil, err
	}
	body, contentType, err := w.body(rest)
	if err != nil {
		return nil, err
	}
	address, err := w.address(base)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, op.Method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("address of %s %s: %w", op.Method, op.Path, err)
	}
	if body == nil {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	req.Header = w.header
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", op.Accept)
	req.Header.Set("User-Agent", "tooldex")
	if len(w.cookies) > 0 {
		req.Header.Set("Cookie", strings.Join(w.cookies, "; "))
	}
	return req, nil
}

// A writer collects the parts of a request.
type writer struct {
	op      *openapi.Operation
	path    string
	query   []string // escaped pairs
	cookies []string
	header  http.Header
}

// params writes the parameters and returns the other arguments.
func (w *writer) params(members []rawjson.Member) (rest []rawjson.Member, err error) {
	given := map[string]json.RawMessage{}
	for _, m := range members {
		given[m.Key] = m.Value
	}
	for _, p := range w.op.Params {
		raw, ok := given[p.Argument]
		delete(given, p.Argument)
		if !ok || rawjson.Kind(raw) == "null" {
			if p.In == "path" {
				return nil, &ArgumentError{p.Argument, "it is missing"}
			}
			continue
		}
		if err := w.param(p, raw); err != nil {
			return nil, err
		}
	}
	for _, m := range members {
		if _, left := given[m.Key]; left {
			rest = append(rest, m)
		}
	}
	return rest, nil
}

func (w *writer) param(p openapi.Param, raw json.RawMessage) error {
	v, err := decode(p.Argument, raw)
	if err != nil {
		return err
	}
	if p.JSON {
		v = string(raw)
	}
	switch p.In {
	case "path":
		return w.inPath(p, v)
	case "query":
		w.query = append(w.query, pairs(p, v)...)
	case "header":
		value := joined(p, v, asItIs)
		if !httpguts.ValidHeaderFieldName(p.Name) || !httpguts.ValidHeaderFieldValue(value) {
			return &ArgumentError{p.Argument, "it has control characters, which no header may have"}
		}
		if forbidden[strings.ToLower(p.Name)] {
			return &ArgumentError{p.Argument, "header " + p.Name + " belongs to the connection and is not for callers"}
		}
		w.header.Set(p.Name, value)
	case "cookie":
		w.cookies = append(w.cookies, pairs(p, v)...)
	}
	return nil
}

// forbidden are headers that would make another request of it.
var forbidden = map[string]bool{
	"host": true, "content-length": true, "transfer-encoding": true, "connection": true, "upgrade": true, "te": true, "trailer": true,
	"proxy-authorization": true, "proxy-connection": true, "cookie": true, "content-encoding": true,
}

// decode reads a value; numbers keep their digits.
func decode(argument string, raw json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, &ArgumentError{argument, "it is no JSON: " + err.Error()}
	}
	return v, nil
}

// inPath puts a value in its place in the path. It stays one step: slashes
// are escaped, and dots alone are refused, as every server takes them out.
func (w *writer) inPath(p openapi.Param, v any) error {
	value := inStyle(p, v)
	if value == "" {
		return &ArgumentError{p.Argument, "it is empty, which would be another path"}
	}
	path, query, asked := strings.Cut(w.path, "?")
	path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
	for _, step := range strings.Split(path, "/") {
		if step == "." || step == ".." {
			return &ArgumentError{p.Argument, fmt.Sprintf("%q would be another path", step)}
		}
	}
	if asked {
		path += "?" + strings.ReplaceAll(query, "{"+p.Name+"}", escape(plainText(v), false))
	}
	w.path = path
	return nil
}

func (w *writer) address(base string) (string, error) {
	if i := strings.IndexAny(w.path, "{}"); i >= 0 {
		return "", fmt.Errorf("the path %s has a parameter that is not known", w.op.Path)
	}
	address := base + strings.ReplaceAll(w.path, " ", "%20")
	if len(w.query) == 0 {
		return address, nil
	}
	sep := "?"
	if strings.Contains(w.path, "?") {
		sep = "&"
	}
	return address + sep + strings.Join(w.query, "&"), nil
}
