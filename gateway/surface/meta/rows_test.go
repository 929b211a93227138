package meta

import (
	"encoding/json"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
)

// reporting is a caller that says how its servers are.
type reporting struct {
	gatewaytest.Caller
	states []upstream.Status
}

func (r reporting) Status() []upstream.Status { return r.states }

// rowsByName are the rows of an answer by qualified name.
func rowsByName(answer map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, r := range answer["tools"].([]any) {
		row := r.(map[string]any)
		out[row["qualified_name"].(string)] = row
	}
	return out
}

// The signature of a row is that of errors about the arguments.
func TestSignaturesInSearches(t *testing.T) {
	const search = `{"query":"read or write a file","limit":3}`
	f := newGateway(t, gatewaytest.Done, gateway.Options{})
	row := rowsByName(ask(t, f, "search_tools", search))["files/write_file"]
	_, hint := fail(t, f, "execute_tool", `{"tool_name":"files/write_file","arguments":{}}`)
	if want := "files/write_file(path: string, text: string)"; row["signature"] != want || hint != "signature: "+want {
		t.Errorf("the row has %v, the error %q; want %s", row["signature"], hint, want)
	}
	for _, call := range []struct{ tool, args string }{
		{"search_tools", `{"query":"read or write a file","include_schemas":true}`}, {"list_tools", `{}`},
	} {
		if row := rowsByName(ask(t, f, call.tool, call.args))["files/write_file"]; row["signature"] != nil {
			t.Errorf("%s %s has a signature: %v", call.tool, call.args, row)
		}
	}
	off := newSurface(t, gatewaytest.Done, gateway.Options{}, surface.Options{NoSignatures: true})
	if row := rowsByName(ask(t, off, "search_tools", search))["files/write_file"]; row["signature"] != nil {
		t.Errorf("signatures are turned off, and there is one: %v", row)
	}
}

// A row says why its server cannot be called; one that starts when it is
// needed can.
func TestRowsOfServersThatAreAway(t *testing.T) {
	f := newGateway(t, reporting{gatewaytest.Done, []upstream.Status{
		{Name: "analytics", State: upstream.Idle}, {Name: "files", State: upstream.Backoff, Error: "exit status 1"},
		{Name: "github", State: upstream.NeedsLogin, Error: "401 Unauthorized"}, {Name: "vault", State: upstream.Idle, Error: "exit status 2", Failed: true},
	}}, gateway.Options{})
	f.view = view.View{}
	want := map[string]any{"analytics": nil, "files": "server backoff: exit status 1", "github": "server needs login: 401 Unauthorized", "vault": "its server could not be reached: exit status 2; a call tries again"}
	for _, call := range []struct{ tool, args string }{{"search_tools", `{"query":"search files, read a secret, read issues, draw a chart"}`}, {"list_tools", `{}`}} {
		seen := map[string]bool{}
		for _, row := range rowsByName(ask(t, f, call.tool, call.args)) {
			server := row["server"].(string)
			seen[server] = true
			available, said := row["available"]
			if reason := want[server]; row["reason"] != reason || said != (reason != nil) || said && available != false {
				t.Errorf("%s: row %v, want the reason %v", call.tool, row, reason)
			}
		}
		if len(seen) != len(want) {
			t.Errorf("%s shows servers %v, want all of %v", call.tool, seen, want)
		}
	}
	var rows []map[string]any
	plain := newGateway(t, gatewaytest.Done, gateway.Options{})
	_ = json.Unmarshal(plain.Call(t.Context(), "list_tools", nil).JSON, &struct{ Tools *[]map[string]any }{&rows})
	for _, row := range rows {
		if _, said := row["available"]; said {
			t.Errorf("nobody knows how the servers are, and a row says %v", row)
		}
	}
}
