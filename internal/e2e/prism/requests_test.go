package prism

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// requestsOnly writes a document without its replies, some of which Prism does not
// come to read, and returns its path. Left out are operations, as "GET /path", whose
// requests refer to more than reach definitions, themselves or by others.
func requestsOnly(t *testing.T, path string, reach int) (small string, without map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if filepath.Ext(path) == ".json" {
		err = json.Unmarshal(text, &document)
	} else {
		err = yaml.Unmarshal(text, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	without = map[string]bool{}
	delete(document, "webhooks") // which the API sends
	delete(document, "x-webhooks")
	paths, _ := document["paths"].(map[string]any)
	for path, item := range paths {
		item, _ := item.(map[string]any)
		for method, operation := range item {
			operation, ok := operation.(map[string]any)
			if !ok || operation["responses"] == nil {
				continue
			}
			operation["responses"] = map[string]any{"200": map[string]any{"description": "OK"}}
			delete(operation, "callbacks")
			reached := pruner{document, map[string]bool{}}
			if reached.walk(operation); len(reached.seen) > reach {
				without[strings.ToUpper(method)+" "+path] = true
				delete(item, method)
			}
		}
	}
	p := pruner{document, map[string]bool{}}
	p.walk(document["paths"])
	for _, group := range p.groups() {
		maps.DeleteFunc(group.members, func(name string, _ any) bool { return !p.seen[group.at+name] })
	}
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	small = filepath.Join(t.TempDir(), "requests.json")
	if err := os.WriteFile(small, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return small, without
}

// A pruner finds what of a document is referred to.
type pruner struct {
	document map[string]any
	seen     map[string]bool // references
}

// A group has definitions; at begins the references to them.
type group struct {
	at      string
	members map[string]any
}

// groups are all but security schemes, which are referred to by name.
func (p pruner) groups() (all []group) {
	add := func(at string, of map[string]any, names ...string) {
		for _, name := range names {
			if members, ok := of[name].(map[string]any); ok && name != "securitySchemes" {
				all = append(all, group{at + name + "/", members})
			}
		}
	}
	add("#/", p.document, "definitions", "parameters", "responses")
	components, _ := p.document["components"].(map[string]any)
	add("#/components/", components, slices.Sorted(maps.Keys(components))...)
	return all
}

func (p pruner) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			p.walk(one)
		}
	case string: // of $ref, or the mapping of a discriminator
		if p.seen[v] {
			return
		}
		for _, g := range p.groups() {
			if name, ok := strings.CutPrefix(v, g.at); ok {
				p.seen[v] = true
				p.walk(g.members[name])
			}
		}
	case map[string]any:
		for _, one := range v {
			p.walk(one)
		}
	}
}
