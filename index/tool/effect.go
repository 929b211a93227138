package tool

import "encoding/json"

// The effects that a tool can have on the world.
const (
	Read        = "read"        // it changes nothing
	Write       = "write"       // it adds, and takes nothing away
	Destructive = "destructive" // it may change or delete what there is
)

// EffectOf is what a tool object's annotations claim, by the protocol's
// defaults where they say nothing.
func EffectOf(tool json.RawMessage) string {
	annotations := member(tool, "annotations")
	switch {
	case string(member(annotations, "readOnlyHint")) == "true":
		return Read
	case string(member(annotations, "destructiveHint")) == "false":
		return Write
	}
	return Destructive
}
