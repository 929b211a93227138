package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
)

// apiVersion is that of the API, which the document has. It is not the
// program's: the document changes when the API does.
const apiVersion = "1.0.0"

// object is one of the document.
type object = map[string]any

const aboutAPI = `See and change a running tooldex. Every request but that for this document needs the key of the administrator, ` +
	`which stands in the file admin.key of the state folder; "tooldex servers" uses it by itself. ` +
	`Errors are application/problem+json. Scope templates are part of the configuration's file and are changed there: ` +
	`a virtual server whose template is gone is not served, and says so.`

// document describes the API in OpenAPI 3.1.
func document(o Options) (json.RawMessage, error) {
	schemas, err := schemas(o)
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	paths := object{}
	for _, x := range routes {
		path, ok := paths[x.path].(object)
		if !ok {
			path = object{}
			if strings.Contains(x.path, "{name}") {
				path["parameters"] = []any{object{"name": "name", "in": "path", "required": true, "schema": object{"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"}}}
			}
			paths[x.path] = path
		}
		path[strings.ToLower(x.method)] = x.operation()
	}
	return rawjson.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": "tooldex", "version": apiVersion, "description": aboutAPI, "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers": []any{object{"url": "http://127.0.0.1:7420"}},
		"security": []any{
			object{"key": []any{}},
		},
		"paths": paths,
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{"key": object{
				"type": "http", "scheme": "bearer", "description": "the text of the file admin.key in the state folder",
			}},
		},
	})
}

// operation is the description of a route.
func (x *route) operation() object {
	out := object{"operationId": x.id, "summary": x.summary, "responses": x.responses()}
	if x.about != "" {
		out["description"] = x.about
	}
	if x.open {
		out["security"] = []any{}
	}
	var parameters []any
	for _, p := range x.query {
		parameters = append(parameters, p.describe())
	}
	if x.changes {
		parameters = append(parameters, object{
			"name": "If-Match", "in": "header", "schema": object{"type": "string"},
			"description": "The ETag of the version that is changed, or * for any. Without it the change is refused (428).",
		})
	}
	if parameters != nil {
		out["parameters"] = parameters
	}
	if x.body != "" {
		out["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": ref(x.body)}}}
	}
	return out
}

func (x *route) responses() object {
	status := x.status
	if status == 0 {
		status = http.StatusOK
	}
	ok := object{"description": http.StatusText(status)}
	if x.reply != "" {
		ok["content"] = object{"application/json": object{"schema": ref(x.reply)}}
	}
	headers := object{}
	if x.reply == "Server" {
		headers["ETag"] = object{"description": "names this version of the definition", "schema": object{"type": "string"}}
	}
	if status == http.StatusCreated {
		headers["Location"] = object{"description": "where the virtual server is shown and changed", "schema": object{"type": "string"}}
	}
	if len(headers) > 0 {
		ok["headers"] = headers
	}
	out := object{strconv.Itoa(status): ok}
	fails := x.fails
	if !x.open {
		fails = append([]int{http.StatusUnauthorized, http.StatusInternalServerError}, fails...)
	}
	for _, code := range fails {
		out[strconv.Itoa(code)] = object{
			"description": http.StatusText(code), "content": object{"application/problem+json": object{"schema": ref("Problem")}},
		}
	}
	return out
}

func (p parameter) describe() object {
	schema := object{"type": p.kind}
	if p.most > 0 {
		schema["minimum"], schema["maximum"] = p.least, p.most
	}
	if p.values != nil {
		schema["enum"] = p.values
	}
	if p.many {
		schema = object{"type": "array", "items": schema}
	}
	out := object{"name": p.name, "in": "query", "schema": schema}
	if p.about != "" {
		out["description"] = p.about
	}
	return out
}

func ref(schema string) object { return object{"$ref": "#/components/schemas/" + schema} }

// schemas are what bodies are made of. Those of replies are made from the types
// that are written, so that they say what is sent.
func schemas(o Options) (object, error) {
	out := object{
		"MetaConfig": metaConfig, "Definition": definitionSchema("Whatever it does not say is as in the configuration."), "Patch": object{"type": "object", "description": "a JSON merge patch of a Definition"},
		"NewServer": object{"allOf": []any{ref("Definition")}, "type": "object", "required": []any{"name"}},
		"Scope": object{
			"description": "a rule, the name of a template of the configuration, or a list of both, which must all hold",
			"anyOf":       []any{ref("Rule"), object{"type": "string"}, object{"type": "array", "items": ref("Scope")}, object{"type": "null"}},
		},
		"Document": object{"type": "object", "required": []any{"openapi", "paths"}},
	}
	for name, v := range map[string]any{
		"Server": Server{}, "Servers": Servers{}, "Shown": Shown{}, "Problem": Problem{}, "Upstreams": UpstreamList{}, "Reindexed": Reindexed{},
		"Rule": view.Rule{}, "Listed": meta.Listed(gateway.ListResult{}, gateway.ListRequest{}),
		"Found": meta.Found(gateway.SearchResult{}, gateway.SearchRequest{}), "Explained": Explained{}, "Status": o.StatusType,
	} {
		s, err := schemaOf(v)
		if err != nil {
			return nil, fmt.Errorf("type %T: %w", v, err)
		}
		out[name] = s
	}
	delete(members(out, "Rule"), "readonly") // no key of a scope
	server := members(out, "Server")
	server["scope"], server["meta_config"] = ref("Scope"), ref("MetaConfig")
	members(out, "Servers")["servers"] = object{"type": "array", "items": ref("Server")}
	members(out, "Found")["explanations"] = object{"type": "array", "items": ref("Explained"), "description": "with explain: what the score of each row is made of"}
	for _, t := range meta.New(o.Gateway, operator).Tools() {
		if t.Name == "search_tools" {
			var body object
			if err := json.Unmarshal(t.Schema, &body); err != nil {
				return nil, err
			}
			out["Search"] = body
		}
	}
	search := members(out, "Search")
	search["endpoint"] = object{"type": "string", "description": "search through this virtual server; without it all tools are searched"}
	search["explain"] = object{"type": "boolean", "default": false, "description": "say what the score of each row is made of"}
	return out, nil
}

// members are the properties of an object's schema.
func members(schemas object, name string) object {
	return schemas[name].(object)["properties"].(object)
}

// schemaOf is the schema of what a value's type is written as.
func schemaOf(v any) (object, error) {
	s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var out object
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	allowNull(out)
	return out, nil
}

// allowNull says of maps that they may be null: one without anything in it is
// written so.
func allowNull(schema object) {
	if _, isMap := schema["additionalProperties"].(object); isMap && schema["type"] == "object" && schema["properties"] == nil {
		schema["type"] = []any{"object", "null"}
	}
	for _, v := range schema {
		if inner, ok := v.(object); ok {
			allowNull(inner)
		}
	}
}

func text(about string) object    { return object{"type": "string", "description": about} }
func boolean(about string) object { return object{"type": "boolean", "description": about} }

var metaConfig = object{
	"type": "object", "additionalProperties": false, "description": "how the meta-tools work; what is absent is as in the configuration",
	"properties": object{
		"enable_semantic_search":    boolean("search by meaning, too"),
		"enable_categories":         boolean("answer get_tool_categories"),
		"enable_similar_tools":      boolean("answer get_similar_tools"),
		"default_search_limit":      object{"type": "integer", "minimum": 1, "maximum": 50, "description": "rows of a search that does not say"},
		"max_search_limit":          object{"type": "integer", "minimum": 1, "maximum": 50, "description": "most rows of a search"},
		"include_metrics_in_search": boolean("show how often tools ran, in searches"),
		"include_signatures":        boolean("show what tools take, in searches"),
		"split_execute":             boolean("a tool for each effect in place of execute_tool"),
		"validate_arguments":        boolean("check arguments also where the surface leaves that to servers"),
		"embedding_model":           text("the model of the catalog, which is one for all virtual servers: embedding.model of the configuration chooses it, and another name is refused"),
	},
}

// definitionSchema is what a virtual server may be made of. What replies add is
// accepted and ignored, so that one can be sent back.
func definitionSchema(about string) object {
	properties := object{
		"name": object{"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "description": "its own, which it keeps; not . or .."},
		"type": object{"const": "meta"}, "enabled": boolean("whether clients are served; true if absent"),
		"surface":               text("its set of meta-tools; meta if absent"),
		"hide_underlying_tools": boolean("tools/list has the meta-tools alone; true if absent"),
		"readonly":              boolean("show and run tools without effects alone"),
		"scope":                 ref("Scope"), "meta_config": ref("MetaConfig"),
	}
	for key := range added {
		properties[key] = object{"readOnly": true, "description": "of replies; ignored"}
	}
	return object{"type": "object", "description": about, "additionalProperties": false, "properties": properties}
}
