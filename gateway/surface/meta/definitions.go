package meta

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/index/tool"
)

// instructions are what clients may add to their system prompt: at most 80
// tokens.
const instructions = `Tools of many servers stand behind this one. Find them with search_tools (name the capability, not the user's sentence), read the parameters with describe_tool, run them with execute_tool. Browse with get_tool_categories and list_tools. If nothing fits, rephrase once before giving up.`

// splitInstructions are those where tools are run by effect.
const splitInstructions = `Tools of many servers stand behind this one. Find them with search_tools (name the capability, not the user's sentence), read the parameters with describe_tool, run them with the run tool of their effect: read, write or destructive. Browse with get_tool_categories and list_tools. If nothing fits, rephrase once before giving up.`

// The six schemas and descriptions together take at most 1,000 tokens, as
// every client pays for them in every conversation. The filters are written
// out once. LIMIT, MAXLIMIT, TIMEOUT and MAXTIMEOUT stand for the configured
// numbers. The range at min_score is where the middle half of the right tools
// of labelled sets score with the built-in model.
var definitions = []surface.Tool{
	{
		Name:  "search_tools",
		Title: "Search tools",
		Description: "Find tools by what they do, best first. Describe the capability needed, e.g. \"list open pull requests of a repository\"; " +
			"one capability per search. Without query, filters alone select.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
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
			`"additionalProperties":false}`),
	},
	{
		Name:        "list_tools",
		Title:       "List tools",
		Description: "Page through all tools, sorted and filtered. To find a tool for a task use search_tools instead.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"page":{"type":"integer","default":1,"minimum":1},` +
			`"page_size":{"type":"integer","default":20,"minimum":1,"maximum":100},` +
			`"sort_by":{"type":"string","enum":["name","created_at","execution_count","success_rate","category"],"default":"name"},` +
			`"sort_order":{"type":"string","enum":["asc","desc"],"default":"asc"},` +
			`"filters":{"type":"object","description":"As in search_tools, without min_score"},` +
			`"include_schemas":{"type":"boolean","default":false}},` +
			`"additionalProperties":false}`),
	},
	{
		Name:        "describe_tool",
		Title:       "Describe a tool",
		Description: "Everything about one tool: input schema, examples, annotations. Read it before running an unfamiliar tool.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"tool_name":{"type":"string","description":"server/tool or id, as search_tools gives it"},` +
			`"include_examples":{"type":"boolean","default":true},` +
			`"include_metrics":{"type":"boolean","default":false},` +
			`"include_similar":{"type":"boolean","default":false}},` +
			`"required":["tool_name"],"additionalProperties":false}`),
	},
	{
		Name:        executeTool,
		Title:       "Execute a tool",
		Description: "Run a tool found with search_tools and return its result.",
		Schema:      json.RawMessage(executeSchema),
		RunsTools:   true,
	},
	{
		Name:        "get_tool_categories",
		Title:       "Get tool categories",
		Description: "What kinds of tools there are, with counts.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"include_tags":{"type":"boolean","default":true},` +
			`"include_servers":{"type":"boolean","default":false}},` +
			`"additionalProperties":false}`),
	},
	{
		Name:        "get_similar_tools",
		Title:       "Get similar tools",
		Description: "Alternatives and neighbours of a known tool.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"tool_name":{"type":"string","description":"server/tool or id"},` +
			`"limit":{"type":"integer","default":5,"minimum":1,"maximum":20}},` +
			`"required":["tool_name"],"additionalProperties":false}`),
	},
}

const executeSchema = `{"type":"object","properties":{` +
	`"tool_name":{"type":"string","description":"server/tool or id"},` +
	`"arguments":{"type":"object","description":"The tool's own arguments, by its input schema; {} for none"},` +
	`"options":{"type":"object","properties":{` +
	`"timeout_ms":{"type":"integer","default":TIMEOUT,"minimum":1,"maximum":MAXTIMEOUT},` +
	`"include_metadata":{"type":"boolean","default":true,"description":"false returns the tool's result untouched"}},"additionalProperties":false}},` +
	`"required":["tool_name","arguments"],"additionalProperties":false}`

// runTools stand in place of execute_tool where tools are run by effect. With
// the others they take at most 1,250 tokens.
var runTools = []surface.Tool{
	{
		Name: "run_read_tool", Title: "Run a read tool", Effect: tool.Read, RunsTools: true,
		Description: "Run a tool whose effect is read: it changes nothing.",
		Schema:      json.RawMessage(executeSchema),
	},
	{
		Name: "run_write_tool", Title: "Run a write tool", Effect: tool.Write, RunsTools: true,
		Description: "Run a tool whose effect is write: it adds, and deletes or overwrites nothing.",
		Schema:      json.RawMessage(executeSchema),
	},
	{
		Name: "run_destructive_tool", Title: "Run a destructive tool", Effect: tool.Destructive, RunsTools: true,
		Description: "Run a tool whose effect is destructive: it may change or delete what there is, or nobody says.",
		Schema:      json.RawMessage(executeSchema),
	},
}

// runner is the meta-tool that runs tools of this effect.
func runner(effect string) string {
	for _, t := range runTools {
		if t.Effect == effect {
			return t.Name
		}
	}
	return executeTool
}

// definitionsFor are the definitions by what the operator says.
func definitionsFor(o surface.Options) (out []surface.Tool) {
	for _, d := range definitions {
		switch {
		case d.Name != executeTool || !o.SplitExecute:
			out = append(out, d)
		case o.ReadOnly:
			out = append(out, runTools[0])
		default:
			out = append(out, runTools...)
		}
	}
	return out
}

// withNumbers are the definitions with the configured numbers.
func withNumbers(o surface.Options, timeout, maxTimeout time.Duration) []surface.Tool {
	numbers := strings.NewReplacer(
		"MAXLIMIT", strconv.Itoa(o.MaxLimit), "LIMIT", strconv.Itoa(o.DefaultLimit),
		"MAXTIMEOUT", strconv.FormatInt(maxTimeout.Milliseconds(), 10), "TIMEOUT", strconv.FormatInt(timeout.Milliseconds(), 10),
	)
	tools := definitionsFor(o)
	for i := range tools {
		tools[i].Schema = json.RawMessage(numbers.Replace(string(tools[i].Schema)))
	}
	return tools
}
