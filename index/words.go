package index

import (
	"encoding/json"

	"github.com/tooldex/tooldex/index/tool"
)

// A Tool is one tool of one server: the object its upstream sent, and the
// parts of it that are searched, filtered and shown. [Decode] makes one.
type Tool = tool.Tool

// An Example is one documented call of a tool.
type Example = tool.Example

// Decode reads a tool object as tools/list carries it. It fails only when raw
// is no JSON object or has no name; anything else wrong becomes a warning, or
// the reason why the tool must not be called.
func Decode(server string, raw json.RawMessage) (Tool, error) { return tool.Decode(server, raw) }
