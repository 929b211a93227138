package toolbox

import (
	"encoding/json"

	"github.com/tooldex/tooldex/gateway/surface"
)

// instructions are what clients may add to their system prompt: at most 80
// tokens.
const instructions = `Tools are kept in toolboxes. open_toolbox without a name lists the toolboxes; with a name it opens one and returns its tools with their schemas. use_tool runs a tool of an open toolbox. Open a toolbox once in a conversation.`

// definitions take at most 250 tokens together.
var definitions = []surface.Tool{
	{
		Name:        "open_toolbox",
		Title:       "Open a toolbox",
		Description: "Open a toolbox and get its tools with their input schemas. Without a name, list the toolboxes.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"name":{"type":"string","description":"Name of the toolbox"}},"additionalProperties":false}`),
	},
	{
		Name:        "use_tool",
		Title:       "Use a tool",
		Description: "Execute a tool from an opened toolbox.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"tool":{"type":"object","properties":{` +
			`"toolbox":{"type":"string","minLength":1,"description":"Name of the opened toolbox"},` +
			`"server":{"type":"string","minLength":1,"description":"Server that provides the tool"},` +
			`"name":{"type":"string","minLength":1,"description":"Name of the tool"}},` +
			`"required":["toolbox","server","name"],"additionalProperties":false},` +
			`"arguments":{"type":"object","description":"The tool's own arguments","default":{}}},` +
			`"required":["tool"],"additionalProperties":false}`),
		RunsTools: true,
	},
}
