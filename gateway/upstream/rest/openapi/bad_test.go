package openapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	components := `{"schemas":{
		"Node":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Node"}}},
		"A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"}},
		"parameters":{"P":{"$ref":"#/components/parameters/P"}}}`
	d, op := one(t, "3.1.0", "post /x", `{"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{
		"node":{"$ref":"#/components/schemas/Node","description":"the first"},"loop":{"$ref":"#/components/schemas/A"},
		"gone":{"$ref":"#/components/schemas/Gone"},"far":{"$ref":"https://far.example/s.json#/X"}}}}}}}`, components)
	want := `{"$defs":{"Node":{"properties":{"next":{"$ref":"#/$defs/Node"}},"type":"object"}},"additionalProperties":false,"properties":{` +
		`"far":{},"gone":{},"loop":{},"node":{"description":"the first","properties":{"next":{"$ref":"#/$defs/Node"}},"type":"object"}},"type":"object"}`
	if got := field(t, op, "inputSchema"); got != want {
		t.Errorf("got %s", got)
	}
	for _, w := range []string{
		`$ref "#/components/schemas/Gone" leads nowhere; anything is allowed there`,
		`$ref "https://far.example/s.json#/X": another document, which is not read; anything is allowed there`,
		`leads from one reference to the next without end; anything is allowed there`,
	} {
		if !slices.ContainsFunc(d.Warnings, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("no warning %q in %q", w, d.Warnings)
		}
	}
	d = read(t, `{"openapi":"3.0.0","paths":{"/x":{"get":{"parameters":[{"$ref":"#/components/parameters/Gone"}]},"put":{}},"/y":{"$ref":"#/gone"}}}`, Options{})
	wantSkipped := []Skipped{{"GET /x", `parameter 1: $ref "#/components/parameters/Gone" leads nowhere`}, {"* /y", `$ref "#/gone" leads nowhere`}}
	if !slices.Equal(d.Skipped, wantSkipped) || len(d.Operations) != 1 {
		t.Errorf("skipped %q", d.Skipped)
	}
}

func TestOtherDocuments(t *testing.T) {
	asked := map[string]int{}
	load := func(_ context.Context, location string) ([]byte, error) {
		asked[location]++
		if location == "api/more/types.yaml" {
			return []byte("Pet: {type: object, properties: {owner: {$ref: '#/Owner'}, back: {$ref: '../main.yaml#/x'}}}\nOwner: {type: string}"), nil
		}
		return nil, errors.New("no such file")
	}
	d := read(t, `{"openapi":"3.0.0","x":{"type":"integer"},"paths":{"/x":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"more/types.yaml#/Pet"}}}}},
		"put":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"gone.yaml"}}}}},"patch":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"gone.yaml"}}}}}}}}`,
		Options{Location: "api/main.yaml", Load: load})
	if got := field(t, d.Operations[0], "inputSchema", "properties"); got != `{"back":{"type":"integer"},"owner":{"type":"string"}}` {
		t.Errorf("got %s, warnings %q", got, d.Warnings)
	}
	if asked["api/gone.yaml"] != 1 || asked["api/main.yaml"] != 0 {
		t.Errorf("asked %v", asked)
	}
}

func TestLargeSchemas(t *testing.T) {
	var schemas, values []string
	for i := range 400 {
		schemas = append(schemas, fmt.Sprintf(`"S%d":{"type":"object","properties":{"a":{"type":"string","description":%q},"l":{"$ref":"#/components/schemas/S%d"},"r":{"$ref":"#/components/schemas/S%d"}}}`,
			i, strings.Repeat("word ", 40), (i*2+1)%400, (i*2+2)%400))
	}
	for i := range 10000 {
		values = append(values, fmt.Sprintf(`"v%d"`, i))
	}
	d, op := one(t, "3.0.0", "post /x", `{"parameters":[{"name":"e","in":"query","schema":{"type":"string","enum":[`+strings.Join(values, ",")+`]}}],
		"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S0"}}}}}`, `{"schemas":{`+strings.Join(schemas, ",")+`}}`)
	if n := len(op.Tool); n > 160<<10 || n < 40<<10 {
		t.Errorf("the tool has %d bytes", n)
	}
	if got := field(t, op, "inputSchema", "properties", "e"); got != `{"description":"One of 10000 values, such as v0, v1, v2, v3, v4.","type":"string"}` {
		t.Errorf("got %s", got)
	}
	for _, w := range []string{"an enum has 10000 values; more than 1000 are not checked", "POST /x: its input is too large to be shown whole: parts of it are left open"} {
		if !slices.Contains(d.Warnings, w) {
			t.Errorf("no warning %q in %q", w, d.Warnings)
		}
	}
}

// Definitions that a YAML anchor repeats, and schemas that branch at every
// level, end at a bound.
func TestExplosion(t *testing.T) {
	doc := "openapi: 3.0.0\nx:\n  a0: &a0 {type: string}\n"
	for i := range 30 {
		doc += fmt.Sprintf("  a%d: &a%d {type: object, properties: {l: *a%d, r: *a%d}}\n", i+1, i+1, i, i)
	}
	doc += "paths: {/x: {post: {requestBody: {content: {application/json: {schema: *a30}}}}}}\n"
	d := read(t, doc, Options{})
	if n := len(d.Operations[0].Tool); n > 300<<10 {
		t.Errorf("the tool has %d bytes", n)
	}
}

func TestParameters(t *testing.T) {
	d, op := one(t, "3.0.0", "post /x/{id}/{more}", `{"parameters":[
		{"name":"id","in":"path","required":true,"schema":{"type":"string"}},{"name":"id","in":"query","schema":{"type":"integer"}},
		{"name":"Q","in":"query"},{"name":"q","in":"query"},{"name":"X-A","in":"header"},{"name":"x-a","in":"header","required":true},
		{"name":"gone","in":"path"},{"name":"b","in":"somewhere"},
		{"name":"filter","in":"query","content":{"application/json":{"schema":{"type":"object"}}}}]}`, `{}`)
	var got []string
	for _, p := range op.Params {
		got = append(got, p.Argument+"="+p.In+":"+p.Name)
	}
	want := "more=path:more id=path:id id_query=query:id Q=query:Q q_query=query:q x-a=header:x-a filter=query:filter"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
	if !op.Params[6].JSON || !op.Params[5].Required {
		t.Errorf("%+v", op.Params)
	}
	for _, w := range []string{"POST /x/{id}/{more}: parameter more of the path is not described", "POST /x/{id}/{more}: parameter gone is not in the path: left out",
		`POST /x/{id}/{more}: parameter b is in "somewhere", which is no place for one: left out`} {
		if !slices.Contains(d.Warnings, w) {
			t.Errorf("no warning %q in %q", w, d.Warnings)
		}
	}
}

func TestServers(t *testing.T) {
	for servers, want := range map[string]string{
		`"servers":[]`: "", `"servers":[{"url":"/v2"}]`: "/v2",
		`"servers":[{"url":"https://{region}.a.example/{v}","variables":{"region":{"default":"eu"},"v":{"default":"v1"}}}]`: "https://eu.a.example/v1",
		`"servers":[{"url":"https://{region}.a.example"}]`:                                                                  "",
	} {
		d := read(t, `{"openapi":"3.0.0",`+servers+`,"paths":{"/x":{"get":{}}}}`, Options{})
		if d.Base != want {
			t.Errorf("%s: got base %q", servers, d.Base)
		}
		if unknown := strings.Contains(servers, "region") && want == ""; unknown != slices.Contains(d.Warnings, "server https://{region}.a.example: the variable {region} has no value: set base_url") {
			t.Errorf("%s: warnings %q", servers, d.Warnings)
		}
	}
	own := `{"openapi":"3.0.0","servers":[{"url":"https://a.example"}],"paths":{"/x":{"get":{"servers":[{"url":"https://up.example"}]}},"/y":{"get":{"servers":[{"url":"https://a.example/v3"}]}}}}`
	d := read(t, own, Options{})
	if len(d.Skipped) != 1 || d.Skipped[0].Why != "its own server https://up.example is another host than the document's: name up.example in hosts to have it called, with your credentials" {
		t.Errorf("skipped %v", d.Skipped)
	}
	if d.Operations[0].Server != "https://a.example/v3" {
		t.Errorf("%+v", d.Operations)
	}
	if d = read(t, own, Options{Hosts: []string{"UP.example"}}); len(d.Operations) != 2 || d.Operations[0].Server != "https://up.example" {
		t.Errorf("%+v", d.Operations)
	}
	if d = read(t, own, Options{BaseURL: "https://b.example"}); len(d.Operations) != 2 || d.Operations[0].Server != "" {
		t.Errorf("%+v", d.Operations)
	}
}

func TestManyOperations(t *testing.T) {
	var paths []string
	for i := range MaxOperations + 1 {
		paths = append(paths, fmt.Sprintf(`"/p%05d":{"get":{"operationId":"op"}}`, i))
	}
	d := read(t, `{"openapi":"3.0.0","paths":{`+strings.Join(paths, ",")+`}}`, Options{})
	if len(d.Operations) != MaxOperations || d.Operations[0].Name != "get_p00000" {
		t.Errorf("%d operations, first %q", len(d.Operations), d.Operations[0].Name)
	}
	want := []Skipped{{"GET /p10000", "the document has more than 10000 operations: choose with include"}}
	if !slices.Equal(d.Skipped, want) {
		t.Errorf("skipped %v", d.Skipped)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/x/{a}":{"post":{"requestBody":{"content":{"*/*":{"schema":{"allOf":[{"$ref":"#/x"}]}}}}}}},"x":{"$ref":"#"}}`))
	f.Add([]byte("swagger: '2.0'\npaths: {/x: {get: {parameters: [{in: formData, name: a, type: file}], responses: {200: {schema: {}}}}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(t.Context(), data, Options{})
		if err != nil {
			return
		}
		for _, op := range d.Operations {
			field(t, op)
		}
	})
}

// Operations that describe no success are tools like others.
func TestNoSuccess(t *testing.T) {
	d := read(t, `{"openapi":"3.0.0","paths":{"/a":{"get":{"responses":{"404":{"description":"no"}}}},"/b":{"get":{}},
		"/c":{"get":{"responses":{"default":{"content":{"application/json":{"schema":{"type":"object"}}}}}}}}}`, Options{})
	for _, op := range d.Operations {
		if op.Accept != "application/json, */*;q=0.1" || field(t, op, "outputSchema") != "null" {
			t.Errorf("%s: accepts %q: %s", op.label(), op.Accept, op.Tool)
		}
	}
	if len(d.Operations) != 3 || len(d.Warnings) > 0 {
		t.Errorf("%d operations, warnings %q", len(d.Operations), d.Warnings)
	}
}
