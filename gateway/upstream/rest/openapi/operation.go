package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// methods are those of operations, in the order in which they are read. TRACE
// is none of them: no API offers it to callers.
var methods = []string{"get", "head", "options", "post", "put", "patch", "delete"}

// operations reads all operations, in order of path and method.
func (r *reader) operations(paths map[string]any) error {
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if !strings.HasPrefix(path, "/") {
			if !strings.HasPrefix(path, "x-") {
				r.warn("path %q does not begin with a slash: left out", path)
			}
			continue
		}
		item, _, err := r.follow(place{r.main, paths[path]})
		if err != nil {
			r.skip("*", path, err)
			continue
		}
		for _, method := range methods {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			if op := item.at(method); op.object() != nil {
				r.operation(strings.ToUpper(method), path, item, op)
			}
		}
		if item.object()["trace"] != nil {
			r.skip("TRACE", path, errors.New("TRACE is not called"))
		}
	}
	r.nameAll()
	return nil
}

func (r *reader) skip(method, path string, why error) {
	r.doc.Skipped = append(r.doc.Skipped, Skipped{Operation: method + " " + path, Why: why.Error()})
}

// operation reads one operation and adds it to the document's.
func (r *reader) operation(method, path string, item, p place) {
	op := Operation{
		ID: text(p.object()["operationId"]), Method: method, Path: path,
		Tags: texts(p.object()["tags"]), Deprecated: truth(p.object()["deprecated"], false),
	}
	if !r.o.wants(&op) {
		r.doc.Excluded++
		return
	}
	if len(r.doc.Operations) == MaxOperations {
		r.skip(method, path, fmt.Errorf("the document has more than %d operations: choose with include", MaxOperations))
		return
	}
	if err := r.server(&op, item, p); err != nil {
		r.skip(method, path, err)
		return
	}
	t := &toolBuilder{r: r, op: &op, in: r.input(), p: p}
	if err := t.build(item); err != nil {
		r.skip(method, path, err)
		return
	}
	r.doc.Operations = append(r.doc.Operations, op)
}

// label names an operation for people.
func (op *Operation) label() string { return op.Method + " " + op.Path }

// A toolBuilder makes the tool of one operation.
type toolBuilder struct {
	r     *reader
	op    *Operation
	p     place
	in    *builder
	out   any // schema of the reply, nil for none
	extra any // schema of arguments that are not named

	arguments []argument
}

// An argument is a property of the input.
type argument struct {
	name     string
	schema   any
	required bool
}

func (t *toolBuilder) add(name string, schema any, required bool) {
	t.arguments = append(t.arguments, argument{name, schema, required})
}

// taken reports an argument of that name, in whatever case.
func (t *toolBuilder) taken(name string) bool {
	return slices.ContainsFunc(t.arguments, func(a argument) bool { return strings.EqualFold(a.name, name) })
}

func (t *toolBuilder) build(item place) error {
	params, err := t.parameters(item)
	if err != nil {
		return err
	}
	var c content
	if t.r.swagger {
		params, c = t.swaggerBody(params)
	} else if c, err = t.content(); err != nil {
		return err
	}
	t.inPath(params)
	for _, p := range params {
		t.param(p)
	}
	t.body(c)
	t.reply()
	defs := t.in.definitions()
	if t.in.cut {
		t.r.warn("%s: its input is too large to be shown whole: parts of it are left open", t.op.label())
	}
	t.op.Tool = t.object(defs)
	return nil
}

// A parameter is a Parameter Object with its place.
type parameter struct {
	name, in string
	p        place
}

// parameters are those of the operation and of its path, which it may
// override.
func (t *toolBuilder) parameters(item place) ([]parameter, error) {
	var all []parameter
	for _, from := range []place{item.at("parameters"), t.p.at("parameters")} {
		for i, v := range list(from.v) {
			p, _, err := t.r.follow(place{from.file, v})
			if err != nil {
				return nil, fmt.Errorf("parameter %d: %w", i+1, err)
			}
			one := parameter{text(p.object()["name"]), text(p.object()["in"]), p}
			if one.name == "" {
				return nil, fmt.Errorf("parameter %d has no name", i+1)
			}
			if at := slices.IndexFunc(all, one.same); at >= 0 {
				all[at] = one
				continue
			}
			all = append(all, one)
		}
	}
	return slices.DeleteFunc(all, t.unsendable), nil
}

// same reports the same parameter of a request: names of headers differ by
// more than case.
func (a parameter) same(b parameter) bool {
	return a.in == b.in && (a.name == b.name || a.in == "header" && strings.EqualFold(a.name, b.name))
}

// unsendable reports a parameter that is no caller's matter.
func (t *toolBuilder) unsendable(p parameter) bool {
	switch p.in {
	case "header":
		name := strings.ToLower(p.name)
		if name == "accept" || name == "content-type" || name == "authorization" {
			return true // by the standard: said elsewhere
		}
	case "path", "query", "cookie", "body", "formData":
	default:
		t.r.warn("%s: parameter %s is in %q, which is no place for one: left out", t.op.label(), p.name, p.in)
		return true
	}
	return t.r.o.Given != "" && strings.EqualFold(t.r.o.Given, p.in+":"+p.name)
}

var braced = regexp.MustCompile(`\{([^{}]+)\}`)

// inPath makes up for parameters of the path that are not described.
func (t *toolBuilder) inPath(params []parameter) {
	for _, m := range braced.FindAllStringSubmatch(t.op.Path, -1) {
		if !slices.ContainsFunc(params, func(p parameter) bool { return p.in == "path" && p.name == m[1] }) {
			t.r.warn("%s: parameter %s of the path is not described", t.op.label(), m[1])
			t.op.Params = append(t.op.Params, Param{Argument: m[1], Name: m[1], In: "path", Style: "simple", Required: true})
			t.add(m[1], map[string]any{"type": "string"}, true)
		}
	}
}

// param adds one parameter to the input.
func (t *toolBuilder) param(p parameter) {
	o := p.p.object()
	if p.in == "path" && !strings.Contains(t.op.Path, "{"+p.name+"}") {
		t.r.warn("%s: parameter %s is not in the path: left out", t.op.label(), p.name)
		return
	}
	out := Param{
		Name: p.name, In: p.in, Required: p.in == "path" || truth(o["required"], false), Reserved: truth(o["allowReserved"], false),
		Style: cmp.Or(text(o["style"]), map[string]string{"path": "simple", "header": "simple"}[p.in], "form"),
	}
	out.Explode = truth(o["explode"], out.Style == "form")
	schema := p.p.at("schema")
	if t.r.swagger {
		schema = p.p
		out.Style, out.Explode = collection(text(o["collectionFormat"]), p.in)
	} else if types := object(o["content"]); len(types) > 0 {
		name := slices.Sorted(maps.Keys(types))[0]
		out.JSON, schema = true, p.p.at("content").at(name).at("schema")
	}
	out.Argument = p.name
	if t.taken(p.name) {
		out.Argument = p.name + "_" + p.in
	}
	t.op.Params = append(t.op.Params, out)
	built := described(t.in.schema(schema, 2), text(o["description"]))
	if m := object(built); m != nil && !t.r.swagger {
		t.in.examples(o, m)
	}
	t.add(out.Argument, built, out.Required)
}

// content is the request's body in OpenAPI 3.
func (t *toolBuilder) content() (content, error) {
	p, _, err := t.r.follow(t.p.at("requestBody"))
	if err != nil {
		return content{}, fmt.Errorf("body: %w", err)
	}
	o := p.object()
	c := content{types: map[string]place{}, required: truth(o["required"], false), about: text(o["description"])}
	for name := range object(o["content"]) {
		c.types[name] = p.at("content").at(name)
	}
	return c, nil
}

var success = regexp.MustCompile(`^2([0-9][0-9]|XX|xx)$`)

// reply reads what a success answers: the first one's JSON, and all media
// types.
func (t *toolBuilder) reply() {
	var accept []string
	responses := t.p.at("responses")
	for _, code := range slices.Sorted(maps.Keys(responses.object())) {
		if !success.MatchString(code) {
			continue
		}
		response, _, err := t.r.follow(responses.at(code))
		if err != nil {
			t.r.warn("%s: reply %s: %v", t.op.label(), code, err)
			continue
		}
		for mediaType, media := range t.replies(response) {
			if !slices.Contains(accept, mediaType) {
				accept = append(accept, mediaType)
			}
			if IsJSON(mediaType) && t.out == nil && media.object()["schema"] != nil {
				t.outputSchema(media.at("schema"))
			}
		}
	}
	slices.SortFunc(accept, func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	if len(accept) > 8 {
		accept = accept[:8]
	}
	if len(accept) == 0 {
		accept = []string{"application/json"}
	}
	t.op.Accept = strings.Join(append(accept, "*/*;q=0.1"), ", ")
}

// replies are the media types of a reply.
func (t *toolBuilder) replies(response place) map[string]place {
	out := map[string]place{}
	for name := range response.at("content").object() {
		out[name] = response.at("content").at(name)
	}
	if t.r.swagger {
		types := texts(t.p.object()["produces"])
		if len(types) == 0 {
			types = texts(t.r.main.root["produces"])
		}
		if len(types) == 0 {
			types = []string{"application/json"}
		}
		for _, name := range types {
			out[name] = response
		}
	}
	return out
}

// outputSchema takes the schema of a reply that is an object: the protocol
// knows no other output.
func (t *toolBuilder) outputSchema(p place) {
	b := t.r.output()
	m := object(b.schema(p, 1))
	if m == nil || m["type"] != "object" {
		return
	}
	if defs := b.definitions(); len(defs) > 0 {
		m["$defs"] = defs
	}
	t.out = m
}
