package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, doc string, o Options) *Document {
	t.Helper()
	d, err := Read(t.Context(), []byte(doc), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// one is an OpenAPI document with one operation, GET /x unless at is another.
func one(t *testing.T, version, at, operation, components string) (*Document, Operation) {
	t.Helper()
	method, path, _ := strings.Cut(at, " ")
	d := read(t, fmt.Sprintf(`{"openapi":%q,"info":{"title":"T"},"servers":[{"url":"https://a.example/v1"}],"paths":{%q:{%q:%s}},"components":%s}`,
		version, path, method, operation, components), Options{})
	if len(d.Operations) != 1 {
		t.Fatalf("got %d operations, skipped %v", len(d.Operations), d.Skipped)
	}
	return d, d.Operations[0]
}

// field is a part of a tool object.
func field(t *testing.T, op Operation, path ...string) string {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(op.Tool))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", op.Tool, err)
	}
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[key]
	}
	return string(encode(v))
}

func TestOperationBecomesTool(t *testing.T) {
	_, op := one(t, "3.0.3", "get /pets/{petId}", `{
		"operationId":"pets/get","summary":"Get a pet","description":"One pet by its number.","tags":["pets","animals"],"deprecated":true,
		"parameters":[
			{"name":"petId","in":"path","required":true,"schema":{"type":"integer","nullable":true},"description":"the number"},
			{"name":"fields","in":"query","style":"pipeDelimited","schema":{"type":"array","items":{"type":"string"}}},
			{"name":"X-Trace","in":"header","schema":{"type":"string"},"example":"a1"},
			{"name":"Authorization","in":"header","schema":{"type":"string"}}],
		"responses":{"200":{"content":{"application/json":{"schema":{"type":"object","properties":{"name":{"type":"string"},"secret":{"type":"string","writeOnly":true}}}}}}}}`, `{}`)
	want := `{"name":"pets_get","title":"Get a pet","description":"Deprecated. Get a pet. One pet by its number.\n\nGET /pets/{petId}",` +
		`"inputSchema":{"type":"object","properties":{"petId":{"description":"the number","type":["integer","null"]},` +
		`"fields":{"items":{"type":"string"},"type":"array"},"X-Trace":{"examples":["a1"],"type":"string"}},"required":["petId"],"additionalProperties":false},` +
		`"outputSchema":{"properties":{"name":{"type":"string"}},"type":"object"},"annotations":{"openWorldHint":true,"readOnlyHint":true},` +
		`"_meta":{"group":"pets","tags":["pets","animals","deprecated"]}}`
	if diff := cmp.Diff(want, string(op.Tool)); diff != "" {
		t.Error(diff)
	}
	params := []Param{
		{Argument: "petId", Name: "petId", In: "path", Style: "simple", Required: true},
		{Argument: "fields", Name: "fields", In: "query", Style: "pipeDelimited"},
		{Argument: "X-Trace", Name: "X-Trace", In: "header", Style: "simple"},
	}
	if diff := cmp.Diff(params, op.Params); diff != "" {
		t.Error(diff)
	}
}

func TestBodies(t *testing.T) {
	const idAndBody = `"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],"requestBody":`
	for name, c := range map[string]struct {
		body       string
		kind       Kind
		arguments  string // in order
		properties string // of the argument "body"; "" is not looked at
	}{
		"merged":             {`{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["b"],"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}}}}`, JSON, `["id","b","a"]`, ""},
		"not described":      {`{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["b","c"],"properties":{"b":{"type":"integer"}}}}}}`, JSON, `["id","b","c"]`, ""},
		"read only left out": {`{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["b","c"],"properties":{"b":{},"c":{"readOnly":true}}}}}}`, JSON, `["id","b"]`, ""},
		"allOf merged":       {`{"required":true,"content":{"application/json":{"schema":{"allOf":[{"type":"object","properties":{"a":{}}},{"required":["b"],"properties":{"b":{}}}]}}}}`, JSON, `["id","b","a"]`, ""},
		"allOf in conflict":  {`{"content":{"application/json":{"schema":{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"type":"integer"}}}]}}}}`, JSON, `["id","body"]`, ""},
		"collides":           {`{"content":{"application/json":{"schema":{"type":"object","properties":{"ID":{"type":"string"}}}}}}`, JSON, `["id","body"]`, `{"ID":{"type":"string"}}`},
		"oneOf":              {`{"content":{"application/json":{"schema":{"oneOf":[{"type":"object"},{"type":"string"}]}}}}`, JSON, `["id","body"]`, ""},
		"optional":           {`{"content":{"application/json":{"schema":{"type":"object","required":["a"],"properties":{"a":{}}}}}}`, JSON, `["id","body"]`, `{"a":{}}`},
		"list":               {`{"required":true,"content":{"application/vnd.x+json":{"schema":{"type":"array","items":{"type":"string"}}}}}`, JSON, `["id","body"]`, ""},
		"form":               {`{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{}}}},"multipart/form-data":{"schema":{}}}}`, Form, `["id","a"]`, ""},
		"files":              {`{"content":{"application/x-www-form-urlencoded":{"schema":{}},"multipart/form-data":{"schema":{"type":"object","properties":{"f":{"type":"string","format":"binary"}}}}}}`, Multipart, `["id","f"]`, ""},
		"text":               {`{"required":true,"content":{"text/plain":{"schema":{"type":"string"}}}}`, Text, `["id","body"]`, ""},
		"xml":                {`{"content":{"application/xml":{"schema":{"type":"object"}}}}`, Text, `["id","body"]`, ""},
		"binary":             {`{"content":{"image/png":{"schema":{"type":"string","format":"binary"}}}}`, Binary, `["id","body"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, op := one(t, "3.0.0", "post /x/{id}", `{`+idAndBody+c.body+`}`, `{}`)
			var tool struct {
				InputSchema struct{ Properties json.RawMessage }
			}
			if err := json.Unmarshal(op.Tool, &tool); err != nil {
				t.Fatal(err)
			}
			keys := keysInOrder(t, json.NewDecoder(bytes.NewReader(tool.InputSchema.Properties)))
			if got := string(encode(keys)); got != c.arguments || op.Body == nil || op.Body.Kind != c.kind {
				t.Errorf("got arguments %s, body %+v", got, op.Body)
			}
			if c.properties != "" {
				if got := field(t, op, "inputSchema", "properties", "body", "properties"); got != c.properties {
					t.Errorf("got body %s", got)
				}
			}
		})
	}
}

func keysInOrder(t *testing.T, dec *json.Decoder) (keys []string) {
	t.Helper()
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		key, err := dec.Token()
		var v json.RawMessage
		if err = errors.Join(err, dec.Decode(&v)); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
	}
	return keys
}

func TestSwagger(t *testing.T) {
	d := read(t, `
swagger: 2.0
info: {title: Old, version: 2020-01-01}
host: old.example
basePath: /api
schemes: [http]
consumes: [application/json]
definitions:
  Thing: {type: object, required: [name], properties: {name: {type: string, x-nullable: true}, parent: {$ref: '#/definitions/Thing'}}}
paths:
  /things/{id}:
    parameters: [{name: id, in: path, required: true, type: integer, minimum: 1}]
    put:
      operationId: setThing
      parameters:
        - {name: tags, in: query, type: array, items: {type: string}, collectionFormat: multi}
        - {name: body, in: body, required: true, schema: {$ref: '#/definitions/Thing'}}
      responses: {200: {description: ok, schema: {$ref: '#/definitions/Thing'}}}
    post:
      consumes: [multipart/form-data]
      parameters: [{name: photo, in: formData, type: file, required: true}, {name: n, in: formData, type: array, items: {type: string}, collectionFormat: csv}]
      responses: {204: {description: none}}
`, Options{})
	if d.Base != "http://old.example/api" || len(d.Operations) != 2 || len(d.Warnings) > 0 {
		t.Fatalf("%+v", d)
	}
	post, put := d.Operations[0], d.Operations[1]
	if post.Name != "post_things_id" || post.Body.Kind != Multipart || !post.Body.Binary["photo"] || post.Body.Parts["n"].Explode {
		t.Errorf("%+v %+v", post, post.Body)
	}
	want := `{"$defs":{"Thing":{"properties":{"name":{"type":["string","null"]},"parent":{"$ref":"#/$defs/Thing"}},"required":["name"],"type":"object"}},` +
		`"additionalProperties":false,"properties":{"id":{"minimum":1,"type":"integer"},"name":{"type":["string","null"]},"parent":{"$ref":"#/$defs/Thing"},` +
		`"tags":{"items":{"type":"string"},"type":"array"}},"required":["id","name"],"type":"object"}`
	if got := field(t, put, "inputSchema"); got != want {
		t.Errorf("got %s", got)
	}
	if got := field(t, put, "outputSchema", "$defs", "Thing", "type"); got != `"object"` {
		t.Errorf("got %s", field(t, put, "outputSchema"))
	}
	if p := put.Params[1]; p.Style != "form" || !p.Explode {
		t.Errorf("%+v", p)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("n", 140)
	d := read(t, `{"openapi":"3.1.0","paths":{
		"/a":{"get":{"operationId":"same"},"put":{"operationId":"SAME"},"post":{"operationId":"other thing!"}},
		"/b/{id}":{"get":{"parameters":[{"name":"id","in":"path"}]}},
		"/c-d":{"get":{}},"/C-D":{"get":{}},
		"/long":{"get":{"operationId":"`+long+`"}}}}`, Options{})
	var got []string
	for _, op := range d.Operations {
		got = append(got, op.Name)
		if !strings.HasPrefix(string(op.Tool), `{"name":"`+op.Name+`",`) {
			t.Errorf("%s: tool %s", op.Name, op.Tool)
		}
	}
	want := []string{"get_C-D_" + hash(&Operation{Method: "GET", Path: "/C-D"}), "get_a", "other_thing", "put_a", "get_b_id",
		"get_c-d_" + hash(&Operation{Method: "GET", Path: "/c-d"}), long[:119] + "_" + hash(&Operation{Method: "GET", Path: "/long"})}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(d.Renamed) != 5 || !slices.Contains(d.Renamed, "PUT /a would be SAME, is put_a") {
		t.Errorf("renamed %q", d.Renamed)
	}
}

func TestSelection(t *testing.T) {
	doc := `{"openapi":"3.0.0","paths":{
		"/pets":{"get":{"operationId":"listPets","tags":["Pets"]},"post":{"operationId":"addPet","tags":["pets"]}},
		"/pets/{id}/toys":{"get":{"operationId":"listToys","tags":["toys"]}}}}`
	for _, c := range []struct {
		include, exclude Selection
		want             string
	}{
		{want: "listPets addPet listToys"},
		{include: Selection{Tags: []string{"PETS"}}, want: "listPets addPet"},
		{include: Selection{Tags: []string{"pets"}, Methods: []string{"get"}}, want: "listPets"},
		{include: Selection{Paths: []string{"/pets/*"}}, want: ""},
		{include: Selection{Paths: []string{"/pets/**"}}, want: "listToys"},
		{include: Selection{Operations: []string{"list*"}}, exclude: Selection{Tags: []string{"toys"}}, want: "listPets"},
		{exclude: Selection{Methods: []string{"POST"}, Operations: []string{"listToys"}}, want: "listPets"},
	} {
		d := read(t, doc, Options{Include: c.include, Exclude: c.exclude})
		var got []string
		for _, op := range d.Operations {
			got = append(got, op.ID)
		}
		if strings.Join(got, " ") != c.want || d.Excluded != 3-len(got) {
			t.Errorf("%+v: got %v and %d excluded, want %s", c, got, d.Excluded, c.want)
		}
	}
}

func TestNotADocument(t *testing.T) {
	for doc, want := range map[string]string{
		"":                    "it is empty",
		"a: [":                "it is no YAML: line 1: did not find expected node content",
		"just text":           `it is neither a JSON object nor a YAML map: it begins "just text"`,
		"\xff\xfe":            "it is neither JSON nor YAML: it is no UTF-8 text",
		`{"openapi":"3.0.0"`:  "it is no JSON: unexpected EOF",
		`{"a":1}`:             `it is no OpenAPI document: it has neither "openapi" nor "swagger" at the top`,
		`{"openapi":"4.0.0"}`: "it is OpenAPI 4.0.0; 3.0 and 3.1 can be read, and Swagger 2.0",
		`{"swagger":"1.2"}`:   "it is Swagger 1.2; 2.0 can be read, and OpenAPI 3.0 and 3.1",
		`{"openapi":"3.1.0"}`: "it has no paths, so no operations",
		"a: &x\n  b: *x":      `line 1: the anchor "x" contains itself`,
	} {
		if _, err := Read(t.Context(), []byte(doc), Options{}); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", doc, err, want)
		}
	}
	if _, err := Read(t.Context(), bytes.Repeat([]byte(" "), MaxBytes+1), Options{}); err == nil || err.Error() != "it has 64 MiB, the limit is 64 MiB" {
		t.Errorf("got %v", err)
	}
	if _, err := Read(t.Context(), bytes.Repeat([]byte("# yaml\n"), MaxYAML/7+1), Options{}); err == nil || !strings.Contains(err.Error(), "MiB of YAML") {
		t.Errorf("got %v", err)
	}
}

// A server without a scheme is reached over the document's, over TLS where that
// is a file; what else goes there is no other host.
func TestServerWithoutScheme(t *testing.T) {
	const doc = `{"openapi":"3.0.0","info":{"title":"T"},"servers":[{"url":"//a.example/v1"}],"paths":{"/x":{"get":{"servers":[{"url":%q}]}}}}`
	for _, tt := range []struct{ location, own, want string }{
		{"api.json", "https://a.example", "https://a.example/v1"},
		{"api.json", "//a.example/v2", "https://a.example/v1"},
		{"http://b.example/api.json", "//a.example/v2", "http://a.example/v1"},
	} {
		d := read(t, fmt.Sprintf(doc, tt.own), Options{Location: tt.location})
		if d.Base != tt.want || len(d.Operations) != 1 {
			t.Errorf("%v: calls go to %s; %d tools, skipped %v", tt, d.Base, len(d.Operations), d.Skipped)
		}
	}
}
