package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// ParamHeaderFault says why a client of streamable HTTP at 2026-07-28 must
// not call a tool: its inputSchema asks for arguments in headers, by
// "x-mcp-header", in a way that the protocol does not allow. It is "" for
// other tools. On other transports nothing is sent in headers, so that the
// annotation means nothing there.
func ParamHeaderFault(tool json.RawMessage) string {
	_, fault := ParamHeaders(tool)
	return fault
}

// A ParamHeader is an argument that clients of streamable HTTP repeat in a
// header.
type ParamHeader struct {
	Path []string // keys of the arguments, from the outermost
	Name string   // of the header, after "Mcp-Param-"
}

// ParamHeaders are those that a tool asks for, in the order in which they are
// written; with a fault they are incomplete.
func ParamHeaders(tool json.RawMessage) (headers []ParamHeader, fault string) {
	schema := member(tool, "inputSchema")
	if !bytes.Contains(schema, []byte("mcp-header\"")) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil, ""
	}
	h := paramHeaders{seen: map[string]string{}}
	h.check(schema, nil, MaxSchemaDepth)
	return h.found, h.fault
}

// paramHeaders are the annotations of one schema.
type paramHeaders struct {
	seen  map[string]string // by header in lower case: the parameter's path
	found []ParamHeader
	fault string // the first
}

// check looks at the properties of a schema at every depth, in the order in
// which they are written: those below anything else are no parameters.
func (h *paramHeaders) check(schema []byte, above []string, levels int) {
	if levels == 0 {
		return
	}
	eachMember(member(schema, "properties"), func(name string, p json.RawMessage) bool {
		path := append(above[:len(above):len(above)], name)
		eachMember(p, func(key string, v json.RawMessage) bool {
			if key == "x-mcp-header" {
				h.annotation(path, v, member(p, "type"))
			}
			return h.fault == ""
		})
		if h.fault == "" {
			h.check(p, path, levels-1)
		}
		return h.fault == ""
	})
}

func (h *paramHeaders) annotation(keys []string, header, kind []byte) {
	name, path := unquote(header), strings.Join(keys, ".")
	key := strings.ToLower(name)
	other, taken := h.seen[key]
	var why string
	switch {
	case name == "" || strings.ContainsFunc(name, notInToken):
		why = "it is no name of a header"
	case string(kind) != `"string"` && string(kind) != `"integer"` && string(kind) != `"boolean"`:
		why = "only a parameter of type string, integer or boolean can be sent in a header"
	case taken:
		why = fmt.Sprintf("parameter %q has the same", brief([]byte(other)))
	}
	if why != "" {
		h.fault = fmt.Sprintf("its parameter %q has \"x-mcp-header\": %s: %s", brief([]byte(path)), brief(header), why)
	}
	h.seen[key] = path
	h.found = append(h.found, ParamHeader{Path: keys, Name: name})
}

// notInToken says whether r cannot be in a token of RFC 9110.
func notInToken(r rune) bool {
	alphanumeric := r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
