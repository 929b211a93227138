package discover

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// sales are the servers of the contract's examples.
var sales = map[string][]string{
	"apollo": {
		`{"name":"apollo_people_search","description":"Search for people by name, title, company, or other criteria. Returns matching person records with contact information.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"Person's full name or partial name to search for"},"limit":{"type":"integer","default":10}},"required":["name"]}}`,
		`{"name":"apollo_people_enrich","description":"Enrich a person record with full contact and company data","inputSchema":{"type":"object"}}`,
		`{"name":"apollo_people_bulk_enrich","description":"Enrich multiple person records in a single call","inputSchema":{"type":"object"}}`,
		`{"name":"apollo_org_search","description":"Search for organizations by name, industry, or size","inputSchema":{"type":"object"}}`,
		`{"name":"apollo_org_enrich","description":"Enrich an organization with firmographic data","inputSchema":{"type":"object"}}`,
		`{"name":"apollo_sequence_list","description":"List available email sequences","inputSchema":{"type":"object"},"_meta":{"example.com/group":"sequences"}}`,
		`{"name":"apollo_sequence_add","description":"Add a contact to an email sequence","inputSchema":{"type":"object"},"_meta":{"group":"sequences"}}`,
	},
	"hubspot": {
		`{"name":"hubspot_contacts_search","description":"Search HubSpot contacts by name, email, or properties","inputSchema":{"type":"object"}}`,
		`{"name":"hubspot_contacts_filter","description":"Filter contacts by property values and list membership","inputSchema":{"type":"object"}}`,
		`{"name":"hubspot_contacts_get","description":"Get\n  one contact","inputSchema":{"type":"object"}}`,
		`{"name":"export","description":"Export all records","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"url":{"type":"string"}}},"_meta":{"category":"Export"}}`,
	},
	"sec_edgar": {
		`{"name":"sec_edgar_search_filings","description":"Search financial filings of companies, such as 10-K and 10-Q","inputSchema":{"type":"object"},"_meta":{"category":"Finance"}}`,
		`{"name":"export","description":"Export filings","inputSchema":{"type":"object"},"_meta":{"category":"Export"}}`,
	},
	"vault": {
		`{"name":"apollo_secret","description":"Search financial filings of people","inputSchema":{"type":"object"}}`,
	},
}

var options = gateway.Options{Servers: map[string]gateway.Server{
	"apollo": {Description: "Apollo.io CRM and sales intelligence", Tools: map[string]gateway.Override{
		"apollo_org_search": {Group: "organizations"}, "apollo_org_enrich": {Group: "organizations"},
	}},
	"hubspot": {Description: strings.Repeat("HubSpot CRM and marketing. ", 9)},
}}

// A fixture is the surface over those servers, of which the view hides the
// vault.
type fixture struct {
	surface.Surface
	g *gateway.Gateway
}

func (f fixture) Call(ctx context.Context, tool string, args json.RawMessage) *surface.Answer {
	return f.Answer(ctx, surface.Call{Tool: tool, Arguments: args, View: gatewaytest.View, Protocol: gateway.StatelessEra})
}

func open(t testing.TB, calls gateway.Caller, o surface.Options) fixture {
	t.Helper()
	g := gateway.New(gatewaytest.Open(t), calls, options)
	gatewaytest.Store(t, g, sales)
	return fixture{New(g, o), g}
}

// replies are what the tools answer in these tests.
var replies = gatewaytest.Caller(func(_ context.Context, r upstream.Request) (upstream.Result, error) {
	raw := fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, r.Arguments)
	switch r.Tool {
	case "hubspot_contacts_filter":
		return upstream.Result{}, &upstream.CallError{Server: r.Server, Tool: r.Tool, Err: upstream.ErrNotConnected}
	case "apollo_org_enrich":
		raw = `{"isError":true,"content":[{"type":"text","text":"Invalid parameter: 'limit' must be between 1 and 100, got 500"}]}`
	case "hubspot_contacts_get":
		raw = `{"content":[{"type":"text","text":"one"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"structuredContent":{"n":12345678901234567890}}`
	}
	return upstream.Result{Raw: json.RawMessage(raw), Protocol: gateway.StatelessEra, Sent: true}, nil
})

func TestBudget(t *testing.T) {
	gatewaytest.Budget(t, New(gateway.New(nil, nil, gateway.Options{}), surface.Options{}), 330, 80)
}

// Every reply and error is the contract's, byte for byte.
func TestReplies(t *testing.T) {
	f := open(t, replies, surface.Options{})
	for _, tt := range []struct{ tool, args, want string }{
		{"discover_tools", ``, `{"domains":[{"name":"apollo","description":"Apollo.io CRM and sales intelligence","tool_count":7,"groups":["people","organizations","sequences"]},` +
			`{"name":"hubspot","description":"HubSpot CRM and marketing. HubSpot CRM and marketing.…","tool_count":4,"groups":["contacts","Export"]},` +
			`{"name":"sec_edgar","description":"","tool_count":2,"groups":["Export","Finance"]}],"total_tools":13}`},
		{"discover_tools", `{"domain":"apollo","group":"people"}`, `{"domain":"apollo","group":"people","tools":[` +
			`{"name":"apollo_people_bulk_enrich","description":"Enrich multiple person records in a single call"},` +
			`{"name":"apollo_people_enrich","description":"Enrich a person record with full contact and company data"},` +
			`{"name":"apollo_people_search","description":"Search for people by name, title, company, or other criteria.…"}]}`},
		{"discover_tools", `{"domain":"Sec_Edgar"}`, `{"domain":"sec_edgar","tools":[` +
			`{"name":"sec_edgar__export","group":"Export","description":"Export filings"},` +
			`{"name":"sec_edgar_search_filings","group":"Finance","description":"Search financial filings of companies, such as 10-K and 10-Q"}]}`},
		{"discover_tools", `{"query":"financial filings","search_mode":"keyword"}`, `{"query":"financial filings","results":[` +
			`{"name":"sec_edgar_search_filings","domain":"sec_edgar","group":"Finance","description":"Search financial filings of companies, such as 10-K and 10-Q"},` +
			`{"name":"sec_edgar__export","domain":"sec_edgar","group":"Export","description":"Export filings"}]}`},
		{"discover_tools", `{"domain":"hubspot","group":"contacts"}`, `{"domain":"hubspot","group":"contacts","tools":[` +
			`{"name":"hubspot_contacts_filter","description":"Filter contacts by property values and list membership"},` +
			`{"name":"hubspot_contacts_get","description":"Get one contact"},` +
			`{"name":"hubspot_contacts_search","description":"Search HubSpot contacts by name, email, or properties"}]}`},
		{"discover_tools", `{"query":"enrich","domain":"apollo","group":"Organizations"}`, `{"query":"enrich","results":[` +
			`{"name":"apollo_org_enrich","domain":"apollo","group":"organizations","description":"Enrich an organization with firmographic data"}]}`},
		{"get_tool_schema", `{"tool_name":"apollo_people_search"}`, `{"name":"apollo_people_search","domain":"apollo","group":"people",` +
			`"description":"Search for people by name, title, company, or other criteria. Returns matching person records with contact information.",` +
			`"parameters":{"type":"object","properties":{"name":{"type":"string","description":"Person's full name or partial name to search for"},"limit":{"type":"integer","default":10}},"required":["name"]}}`},
		{"get_tool_schema", `{"tool_names":["hubspot__export","nope"]}`, `{"tools":[{"name":"hubspot__export","domain":"hubspot","group":"Export","description":"Export all records",` +
			`"parameters":{"type":"object"},"output_schema":{"type":"object","properties":{"url":{"type":"string"}}}},` +
			`{"name":"nope","error":"Unknown tool 'nope'. Use discover_tools to browse available tools."}]}`},
		{"execute_tool", `{"tool_name":"apollo_people_search","arguments":{"limit":"no number"}}`, `{"tool":"apollo_people_search","result":{"limit":"no number"}}`},
		{"execute_tool", `{"tool_name":"apollo_people_search"}`, `{"tool":"apollo_people_search","result":{}}`},
		{"execute_tool", `{"tool_name":"hubspot_contacts_get"}`, `{"tool":"hubspot_contacts_get","result":{"n":12345678901234567890}}`},
	} {
		a := f.Call(t.Context(), tt.tool, json.RawMessage(tt.args))
		if got := string(a.JSON); a.IsError || got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
	a := f.Call(t.Context(), "execute_tool", json.RawMessage(`{"tool_name":"hubspot_contacts_get"}`))
	if len(a.Content) != 2 || string(a.Content[1]) != `{"type":"image","data":"aGk=","mimeType":"image/png"}` {
		t.Errorf("content is %s, want the image after the text", a.Content)
	}
}

func TestErrors(t *testing.T) {
	f := open(t, replies, surface.Options{})
	for _, tt := range []struct{ tool, args, want string }{
		{"discover_tools", `{"domain":"salesforce"}`, `{"error":"Unknown domain 'salesforce'. Available domains: apollo, hubspot, sec_edgar"}`},
		{"discover_tools", `{"domain":"vault"}`, `{"error":"Unknown domain 'vault'. Available domains: apollo, hubspot, sec_edgar"}`},
		{"discover_tools", `{"domain":"apollo","group":"crm"}`, `{"error":"Unknown group 'crm' in domain 'apollo'. Available groups: people, organizations, sequences"}`},
		{"discover_tools", `{"group":"crm"}`, `{"error":"Group 'crm' needs a domain: groups belong to one. Available domains: apollo, hubspot, sec_edgar"}`},
		{"discover_tools", `{"domains":"apollo"}`, `{"error":"discover_tools: unknown argument \"domains\"; did you mean \"domain\"?","hint":"the arguments are domain, group, query, search_mode"}`},
		{"discover_tools", `{"query":"x","search_mode":"fuzzy"}`, `{"error":"discover_tools: search_mode: unknown value \"fuzzy\"","hint":"it is one of keyword, semantic, hybrid"}`},
		{"discover_tools", `{"search_mode":"keyword"}`, `{"error":"discover_tools: search_mode needs a query","hint":"add a query, or leave search_mode out"}`},
		{"get_tool_schema", `{"tool_name":"apollo_search"}`, `{"error":"Unknown tool 'apollo_search'. Did you mean 'apollo_org_search' or 'apollo_people_search'? Use discover_tools to browse available tools."}`},
		{"get_tool_schema", `{}`, `{"error":"get_tool_schema: tool_name is missing","hint":"give a tool_name as discover_tools returns it"}`},
		{"get_tool_schema", `{"tool_name":"a","tool_names":["b"]}`, `{"error":"get_tool_schema: tool_name and tool_names are both given","hint":"give one of them"}`},
		{"execute_tool", `{"tool_name":"apollo_search"}`, `{"error":"Unknown tool 'apollo_search'. Did you mean 'apollo_org_search' or 'apollo_people_search'?"}`},
		{"execute_tool", `{"tool_name":"apollo_secret"}`, `{"error":"Unknown tool 'apollo_secret'. Did you mean 'apollo_org_enrich' or 'apollo_org_search'?"}`},
		{"execute_tool", `{"tool_name":"hubspot_contacts_filter"}`, `{"error":"Tool 'hubspot_contacts_filter' is temporarily unavailable: upstream server 'hubspot' is unreachable. Other domains are still available."}`},
		{"execute_tool", `{"tool_name":"apollo_org_enrich"}`, `{"tool":"apollo_org_enrich","error":"Invalid parameter: 'limit' must be between 1 and 100, got 500"}`},
		{"execute_tool", `{"tool_name":"apollo_people_search","name":"Jane"}`, `{"error":"execute_tool: unknown argument \"name\"; did you mean \"tool_name\"?","hint":"the arguments are tool_name, arguments; the tool's own arguments go inside \"arguments\""}`},
		{"execute_tool", `{"tool_name":"export"}`, `{"error":"Several tools are named 'export'. Did you mean 'hubspot__export' or 'sec_edgar__export'?"}`},
	} {
		a := f.Call(t.Context(), tt.tool, json.RawMessage(tt.args))
		if got := string(a.JSON); !a.IsError || got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

// With ValidateArguments the gateway checks what the contract leaves to the
// server.
func TestValidatesWhenAsked(t *testing.T) {
	f := open(t, replies, surface.Options{ValidateArguments: true})
	msg, _ := gatewaytest.Fail(t, f, "execute_tool", `{"tool_name":"apollo_people_search","arguments":{"limit":"no number"}}`)
	if !strings.Contains(msg, "apollo/apollo_people_search") {
		t.Errorf("error is %q, want one about the arguments", msg)
	}
}

// The dialogues of the contract: each answer leads to the next call.
func TestDialogues(t *testing.T) {
	f := open(t, replies, surface.Options{})
	domains := gatewaytest.Ask(t, f, "discover_tools", `{}`)["domains"].([]any)
	first := domains[0].(map[string]any)["name"].(string)
	tools := gatewaytest.Ask(t, f, "discover_tools", fmt.Sprintf(`{"domain":%q}`, first))["tools"].([]any)
	if len(tools) != 7 {
		t.Fatalf("domain %s has %d tools, want 7", first, len(tools))
	}
	for _, row := range tools {
		r := row.(map[string]any)
		if n := utf8.RuneCountInString(r["description"].(string)); n > maxDescribed || r["group"] == "" {
			t.Errorf("row %v: a group and at most %d characters are wanted", r, maxDescribed)
		}
		args := fmt.Sprintf(`{"tool_name":%q}`, r["name"])
		if got := gatewaytest.Ask(t, f, "get_tool_schema", args); got["group"] != r["group"] || got["parameters"] == nil {
			t.Errorf("schema of %v is %v", r["name"], got)
		}
	}
	found := gatewaytest.Ask(t, f, "discover_tools", `{"query":"financial filings"}`)["results"].([]any)
	name := found[0].(map[string]any)["name"].(string)
	got := gatewaytest.Ask(t, f, "execute_tool", fmt.Sprintf(`{"tool_name":%q,"arguments":{"company":"AAPL"}}`, name))
	if got["tool"] != "sec_edgar_search_filings" {
		t.Errorf("executed %v, want sec_edgar_search_filings", got["tool"])
	}
	msg, _ := gatewaytest.Fail(t, f, "execute_tool", `{"tool_name":"apollo_search","arguments":{"name":"Jane"}}`)
	better := strings.Split(msg, "'")[3]
	if got := gatewaytest.Ask(t, f, "execute_tool", fmt.Sprintf(`{"tool_name":%q,"arguments":{"name":"Jane"}}`, better)); got["tool"] != better {
		t.Errorf("executed %v after %q", got["tool"], msg)
	}
}

// What the view hides leaves no trace in groups, counts and names.
func TestHiddenToolsLeaveNoTrace(t *testing.T) {
	f := open(t, replies, surface.Options{})
	seen := view.View{Scope: index.NewScope(func(t *index.Tool) bool {
		return t.Server != "vault" && t.Server != "hubspot" && t.Name != "apollo_people_enrich"
	})}
	reply := func(tool, args string) string {
		return string(f.Answer(t.Context(), surface.Call{Tool: tool, Arguments: json.RawMessage(args), View: seen}).JSON)
	}
	var all string
	for _, args := range []string{`{}`, `{"domain":"apollo"}`, `{"domain":"hubspot"}`, `{"query":"export enrich contact"}`} {
		all += reply("discover_tools", args)
	}
	for _, gone := range []string{"apollo_people_enrich", `"hubspot`, "vault", `"people"`, "sec_edgar__export"} {
		if strings.Contains(all, gone) {
			t.Errorf("%s shows through in %s", gone, all)
		}
	}
	if !strings.Contains(reply("get_tool_schema", `{"tool_name":"export"}`), `"domain":"sec_edgar"`) {
		t.Error("export is unique in the view and not found by its bare name")
	}
}

func TestToolsAreReadOnlyButOne(t *testing.T) {
	var run []string
	for _, d := range New(nil, surface.Options{}).Tools() {
		if d.RunsTools {
			run = append(run, d.Name)
		}
	}
	if !slices.Equal(run, []string{"execute_tool"}) {
		t.Errorf("tools that run others: %v", run)
	}
}

// A row has no place for the homes of near-duplicates, so each has its own.
func TestCopiesHaveRows(t *testing.T) {
	g := gateway.New(gatewaytest.Open(t), replies, gateway.Options{})
	same := []string{`{"name":"send_mail","description":"Send an email message","inputSchema":{"type":"object"}}`}
	gatewaytest.Store(t, g, map[string][]string{"one": same, "two": same})
	f := fixture{New(g, surface.Options{}), g}
	if rows := gatewaytest.Ask(t, f, "discover_tools", `{"query":"send an email"}`)["results"].([]any); len(rows) != 2 {
		t.Errorf("two servers have the tool, and the results are %v", rows)
	}
}
