package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"
)

// editJSON changes one member. Values are spliced into the text, so that every
// other byte stays.
func editJSON(text []byte, value any, path []string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	v, err := hujson.Parse(text)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return removeJSON(v, path)
	}
	object := &v
	for i, key := range path {
		o, ok := object.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is no map of settings", strings.Join(path[:i], "."))
		}
		member := find(o, key)
		if member == nil {
			return insertJSON(text, object, path[i:], value)
		}
		object = &member.Value
	}
	indent, line := lineIndent(text, object.StartOffset), newline(text)
	encoded, err := encodeJSON(value, indent, unit(text), line)
	if err != nil {
		return nil, err
	}
	return splice(text, object.StartOffset, object.EndOffset, encoded), nil
}

func find(o *hujson.Object, key string) *hujson.ObjectMember {
	for i := range o.Members {
		if literal(o.Members[i].Name) == key {
			return &o.Members[i]
		}
	}
	return nil
}

// insertJSON adds a member at the end of an object: those of path in each other.
func insertJSON(text []byte, object *hujson.Value, path []string, value any) ([]byte, error) {
	for i := len(path) - 1; i > 0; i-- {
		value = map[string]any{path[i]: value}
	}
	step, line := unit(text), newline(text)
	o := object.Value.(*hujson.Object)
	outer := lineIndent(text, object.StartOffset)
	indent := outer + step
	at, comma := object.StartOffset+1, ""
	if n := len(o.Members); n > 0 {
		last := o.Members[n-1]
		at, comma = last.Value.EndOffset, ","
		if begin := lineIndent(text, last.Name.StartOffset); bytes.HasSuffix(text[:last.Name.StartOffset], []byte("\n"+begin)) {
			indent = begin // it has a line of its own
		}
	}
	encoded, err := encodeJSON(value, indent, step, line)
	if err != nil {
		return nil, err
	}
	name, err := encodeJSON(path[0], "", "", line)
	if err != nil {
		return nil, err
	}
	member := comma + line + indent + string(name) + ": " + string(encoded)
	if !bytes.Contains(text[at:object.EndOffset-1], []byte("\n")) {
		member += line + outer
	}
	return splice(text, at, at, []byte(member)), nil
}

func splice(text []byte, from, to int, with []byte) []byte {
	out := append([]byte(nil), text[:from]...)
	return append(append(out, with...), text[to:]...)
}

// lineIndent is the blanks that the line at offset begins with.
func lineIndent(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is what the text is indented by.
func unit(text []byte) string {
	for line := range bytes.Lines(text) {
		blank := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if len(blank) > 0 && len(bytes.TrimSpace(line)) > 0 {
			return string(blank)
		}
	}
	return "  "
}

func encodeJSON(value any, indent, step, line string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, step)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, r := range strings.TrimRight(b.String(), "\n") {
		switch {
		case r == '\n':
			out.WriteString(line)
		case r >= 0x7f && r <= 0x9f || r >= 0xfdd0 && r <= 0xffff && !unicode.IsPrint(r):
			fmt.Fprintf(&out, `\u%04x`, r) // whoever reads JSON as YAML refuses it
		default:
			out.WriteRune(r)
		}
	}
	return out.Bytes(), nil
}

// removeJSON takes a member out with the comments that belong to it.
func removeJSON(v hujson.Value, path []string) ([]byte, error) {
	pointer := ""
	for _, key := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	}
	if v.Find(pointer) == nil {
		return v.Pack(), nil
	}
	patch, err := json.Marshal([]map[string]string{{"op": "remove", "path": pointer}})
	if err != nil {
		return nil, err
	}
	if err := v.Patch(patch); err != nil {
		return nil, err
	}
	return v.Pack(), nil
}
