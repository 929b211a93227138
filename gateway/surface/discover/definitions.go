package discover

import (
	"encoding/json"

	"github.com/tooldex/tooldex/gateway/surface"
)

// instructions are what clients may add to their system prompt: at most 80
// tokens.
const instructions = `You have access to a tool discovery gateway with 3 tools:

1. discover_tools - Browse available tools. Call with no arguments to see domains, or with a domain to see specific tools.
2. get_tool_schema - Get a tool's parameter schema before using it.
3. execute_tool - Run any discovered tool.

Skip discovery for tools you've already used in this conversation.`

// definitions take at most 330 tokens together.
var definitions = []surface.Tool{
	{
		Name:  "discover_tools",
		Title: "Discover tools",
		Description: "Browse available tools by domain or group, or search them.\n\n" +
			"No arguments: all domains and their tool counts. domain: its groups and tools. " +
			"domain and group: that group's tools. query: search by the capability needed.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"domain":{"type":"string","description":"Omit to see all domains."},` +
			`"group":{"type":"string","description":"Group within a domain. Requires domain."},` +
			`"query":{"type":"string","description":"e.g. 'list open pull requests'"},` +
			`"search_mode":{"type":"string","enum":["keyword","semantic","hybrid"],"default":"hybrid"}},` +
			`"additionalProperties":false}`),
	},
	{
		Name:  "get_tool_schema",
		Title: "Get a tool's schema",
		Description: "Get the full parameter schema for a specific tool.\n\n" +
			"Call this after discover_tools and before execute_tool.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"tool_name":{"type":"string","description":"As returned by discover_tools."},` +
			`"tool_names":{"type":"array","items":{"type":"string"},"description":"Several at once."}},` +
			`"additionalProperties":false}`),
	},
	{
		Name:  "execute_tool",
		Title: "Execute a tool",
		Description: "Execute a tool by name with the given arguments.\n\n" +
			"Find it with discover_tools, see its arguments with get_tool_schema, then call this.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"tool_name":{"type":"string"},` +
			`"arguments":{"type":"object","description":"Matching the schema from get_tool_schema."}},` +
			`"required":["tool_name"],"additionalProperties":false}`),
		RunsTools: true,
	},
}
