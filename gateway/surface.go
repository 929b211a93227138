package gateway

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// instructions are what clients may add to their system prompt: at most 80
// tokens.
const instructions = `Tools of many servers stand behind this one. Find them with search_tools (name the capability, not the user's sentence), read the parameters with describe_tool, run them with execute_tool. Browse with get_tool_categories and list_tools. If nothing fits, rephrase once before giving up.`

// A definition is one meta-tool as tools/list shows it. Schema may contain
// LIMIT and MAXLIMIT, which stand for the configured numbers.
type definition struct {
	name, title, description, schema string
	// runsTools says that the meta-tool has the effects of the tool it runs;
	// the others only read the catalog.
	runsTools bool
}

// The six schemas and descriptions together take at most 1,000 tokens, as
// every client pays for them in every conversation. The filters are written
// out once. The range at min_score is where the middle half of the right tools
// of labelled sets score with the built-in model.
var surface = []definition{
	{
		name:  "search_tools",
		title: "Search tools",
		description: "Find tools by what they do, best first. Describe the capability needed, e.g. \"list open pull requests of a repository\"; " +
			"one capability per search. Without query, filters alone select.",
		schema: `{"type":"object","properties":{` +
			`"query":{"type":"string","description":"Capability in plain words, or a tool's name"},` +
			`"filters":{"type":"object","description":"All must hold; within a list any one","properties":{` +
			`"tags":{"type":"array","items":{"type":"string"}},` +
			`"exclude_tags":{"type":"array","items":{"type":"string"}},` +
			`"servers":{"type":"array","items":{"type":"string"}},` +
			`"categories":{"type":"array","items":{"type":"string"}},` +
			`"category":{"type":"string"},` +
			`"integration_type":{"type":"string","enum":["REST","MCP","any"]},` +
			`"name_pattern":{"type":"string","description":"RE2 on the bare tool name"},` +
			`"description_contains":{"type":"string"},` +
			`"min_score":{"type":"number","minimum":0,"maximum":1,"description":"Right answers mostly score 0.2-0.6; usually omit"},` +
			`"has_examples":{"type":"boolean"},` +
			`"visibility":{"type":"array","items":{"type":"string"}},` +
			`"teams":{"type":"array","items":{"type":"string"}}},"additionalProperties":false},` +
			`"limit":{"type":"integer","default":LIMIT,"minimum":1,"maximum":MAXLIMIT},` +
			`"include_schemas":{"type":"boolean","default":false,"description":"Saves a describe_tool call when few rows are wanted"},` +
			`"search_type":{"type":"string","enum":["semantic","keyword","hybrid"],"default":"hybrid"}},` +
			`"additionalProperties":false}`,
	},
	{
		name:        "list_tools",
		title:       "List tools",
		description: "Page through all tools, sorted and filtered. To find a tool for a task use search_tools instead.",
		schema: `{"type":"object","properties":{` +
			`"page":{"type":"integer","default":1,"minimum":1},` +
			`"page_size":{"type":"integer","default":20,"minimum":1,"maximum":100},` +
			`"sort_by":{"type":"string","enum":["name","created_at","execution_count","success_rate","category"],"default":"name"},` +
			`"sort_order":{"type":"string","enum":["asc","desc"],"default":"asc"},` +
			`"filters":{"type":"object","description":"As in search_tools, without min_score"},` +
			`"include_schemas":{"type":"boolean","default":false}},` +
			`"additionalProperties":false}`,
	},
	{
		name:        "describe_tool",
		title:       "Describe a tool",
		description: "Everything about one tool: input schema, examples, annotations. Read it before running an unfamiliar tool.",
		schema: `{"type":"object","properties":{` +
			`"tool_name":{"type":"string","description":"server/tool or id, as search_tools gives it"},` +
			`"include_examples":{"type":"boolean","default":true},` +
			`"include_metrics":{"type":"boolean","default":false},` +
			`"include_similar":{"type":"boolean","default":false}},` +
			`"required":["tool_name"],"additionalProperties":false}`,
	},
	{
		name:        "execute_tool",
		title:       "Execute a tool",
		description: "Run a tool found with search_tools and return its result.",
		schema: `{"type":"object","properties":{` +
			`"tool_name":{"type":"string","description":"server/tool or id"},` +
			`"arguments":{"type":"object","description":"The tool's own arguments, by its input schema; {} for none"},` +
			`"options":{"type":"object","properties":{` +
			`"timeout_ms":{"type":"integer","default":TIMEOUT,"minimum":1,"maximum":MAXTIMEOUT},` +
			`"include_metadata":{"type":"boolean","default":true,"description":"false returns the tool's result untouched"}},"additionalProperties":false}},` +
			`"required":["tool_name","arguments"],"additionalProperties":false}`,
		runsTools: true,
	},
	{
		name:        "get_tool_categories",
		title:       "Get tool categories",
		description: "What kinds of tools there are, with counts.",
		schema: `{"type":"object","properties":{` +
			`"include_tags":{"type":"boolean","default":true},` +
			`"include_servers":{"type":"boolean","default":false}},` +
			`"additionalProperties":false}`,
	},
	{
		name:        "get_similar_tools",
		title:       "Get similar tools",
		description: "Alternatives and neighbours of a known tool.",
		schema: `{"type":"object","properties":{` +
			`"tool_name":{"type":"string","description":"server/tool or id"},` +
			`"limit":{"type":"integer","default":5,"minimum":1,"maximum":20}},` +
			`"required":["tool_name"],"additionalProperties":false}`,
	},
}

func metaToolNames() []string {
	names := make([]string, len(surface))
	for i, d := range surface {
		names[i] = d.name
	}
	return names
}

// tool is d as the SDK serves it.
func (d definition) tool(o Options) *mcp.Tool {
	schema := strings.NewReplacer(
		"MAXLIMIT", strconv.Itoa(o.MaxLimit), "LIMIT", strconv.Itoa(o.DefaultLimit),
		"MAXTIMEOUT", strconv.FormatInt(o.MaxTimeout.Milliseconds(), 10), "TIMEOUT", strconv.FormatInt(o.Timeout.Milliseconds(), 10),
	).Replace(d.schema)
	openWorld := d.runsTools
	a := &mcp.ToolAnnotations{Title: d.title, ReadOnlyHint: !d.runsTools, IdempotentHint: !d.runsTools, OpenWorldHint: &openWorld}
	if d.runsTools {
		destructive := true
		a.DestructiveHint = &destructive
	}
	return &mcp.Tool{
		// Clients with a tool search of their own would hide these six, and
		// with them everything behind.
		Meta:        mcp.Meta{"anthropic/alwaysLoad": true},
		Name:        d.name,
		Title:       d.title,
		Description: d.description,
		InputSchema: json.RawMessage(schema),
		Annotations: a,
	}
}

// implementation is what the server says of itself.
func (g *Gateway) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: g.opts.Name, Version: g.opts.Version}
}

// newServer makes the MCP server of the six meta-tools. Its list is constant,
// so it promises no list_changed and lets clients keep the list for an hour.
func (g *Gateway) newServer() *mcp.Server {
	s := mcp.NewServer(g.implementation(), &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       quiet(g.log),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 3_600_000 },
	})
	for _, d := range surface {
		s.AddTool(d.tool(g.opts), g.handle)
	}
	s.AddReceivingMiddleware(rawResults)
	return s
}
