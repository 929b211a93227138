package tool

import (
	"encoding/json"
	"strings"
)

// GroupOf is "group" of a tool object's _meta, plain or namespaced
// ("com.example/group"); "" without one.
func GroupOf(tool json.RawMessage) (group string) {
	eachMember(member(tool, "_meta"), func(key string, v json.RawMessage) bool {
		if key[strings.LastIndexByte(key, '/')+1:] == "group" {
			group = strings.TrimSpace(unquote(v))
		}
		return group == ""
	})
	return group
}
