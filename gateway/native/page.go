package native

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/tool"
)

// A page ends with so many tools or bytes, whichever come first.
const (
	pageTools = 200
	pageBytes = 1 << 20
)

// ErrCursor reports a cursor that no page has ended with.
var ErrCursor = errors.New("the cursor is none of this list; list from the start, without one")

// Page are the objects of the tools after the cursor of the page before, in
// order of name, for a client of the protocol version, and the next cursor, ""
// for none. A cursor holds whatever happens to the catalog between two pages.
func (t *Tools) Page(v view.View, cursor, protocol string) (objects []json.RawMessage, next string, err error) {
	after, err := readCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	rows := t.list(v).rows
	i, found := slices.BinarySearchFunc(rows, after, func(r row, name string) int { return strings.Compare(r.name, name) })
	if found {
		i++
	}
	objects = []json.RawMessage{}
	for size := 0; i < len(rows) && len(objects) < pageTools && size < pageBytes; i++ {
		raw, description, err := t.entries.Object(rows[i].Entry)
		if err != nil { // one tool must not cost a client all the others
			if !errors.Is(err, index.ErrGone) {
				t.log.Warn("a tool is left out of tools/list", "error", err)
			}
			continue
		}
		o := object(raw, rows[i].name, description, protocol)
		size += len(o)
		objects = append(objects, o)
	}
	if i < len(rows) {
		next = base64.RawURLEncoding.EncodeToString([]byte(rows[i-1].name))
	}
	return objects, next, nil
}

// readCursor is the name that a cursor stands for.
func readCursor(cursor string) (string, error) {
	name, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(name) > maxName || bytes.ContainsFunc(name, unnamed) {
		return "", ErrCursor
	}
	return string(name), nil
}

// kinds are what the members of a tool object have to be. Clients refuse a
// whole list for one that is something else.
var kinds = map[string]string{
	"title": "string", "description": "string", "annotations": "object", "outputSchema": "object", "icons": "array",
	"execution": "object", "_meta": "object",
}

// hints are what the known members of annotations have to be.
var hints = map[string]string{
	"title": "string", "readOnlyHint": "boolean", "destructiveHint": "boolean", "idempotentHint": "boolean", "openWorldHint": "boolean",
}

// object is the upstream's object with the name, and the description unless it
// is "". Everything else keeps its bytes where a client of the protocol
// version can read it.
func object(raw json.RawMessage, name, description, protocol string) json.RawMessage {
	described, schema := description == "", false
	out := rawjson.Edit(raw, func(key string, value json.RawMessage) json.RawMessage {
		kind := kinds[key]
		switch {
		case key == "name":
			return rawjson.Quote(name)
		case key == "inputSchema":
			schema = true
			return input(raw, value)
		case key == "description" && description != "":
			described = true
			return rawjson.Quote(description)
		case kind != "" && rawjson.Kind(value) != kind,
			key == "annotations" && !sound(value, hints),
			key == "outputSchema" && protocol < gateway.StatelessEra && !ofObjects(value):
			return nil
		}
		return value
	})
	if !described {
		out = with(out, "description", rawjson.Quote(description))
	}
	if !schema {
		out = with(out, "inputSchema", tool.InputSchema(raw).JSON)
	}
	return out
}

// with is an object that is not empty with one member more.
func with(o json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	end := bytes.LastIndexByte(o, '}')
	out := append(append(o[:end:end], ','), rawjson.Quote(key)...)
	return append(append(append(out, ':'), value...), '}')
}

// sound says that the known members of an object are of their kinds.
func sound(o json.RawMessage, kinds map[string]string) bool {
	ok := true
	rawjson.Each(o, func(key string, value json.RawMessage) {
		if kind := kinds[key]; kind != "" && rawjson.Kind(value) != kind {
			ok = false
		}
	})
	return ok
}

// ofObjects says that a schema is one of objects, which the protocol asks for.
func ofObjects(schema json.RawMessage) bool {
	ok := false
	rawjson.Each(schema, func(key string, value json.RawMessage) {
		if key == "type" {
			ok = string(value) == `"object"`
		}
	})
	return ok
}

// input is an input schema as clients can read it.
func input(raw, schema json.RawMessage) json.RawMessage {
	if !ofObjects(schema) {
		schema = tool.InputSchema(raw).JSON
	}
	return rawjson.Edit(schema, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "properties" && rawjson.Kind(value) != "object", key == "required" && !texts(value):
			return nil
		case key == "properties":
			return rawjson.Edit(value, property)
		}
		return value
	})
}

// property is a schema that is an object and says the same.
func property(_ string, schema json.RawMessage) json.RawMessage {
	switch {
	case rawjson.Kind(schema) == "object":
		return schema
	case string(schema) == "false":
		return json.RawMessage(`{"not":{}}`)
	}
	return json.RawMessage(`{}`)
}

// texts says that a value is a list of texts.
func texts(value json.RawMessage) bool {
	elements, ok := rawjson.Elements(value)
	return ok && !slices.ContainsFunc(elements, func(e json.RawMessage) bool { return rawjson.Kind(e) != "string" })
}
