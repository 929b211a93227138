package meta

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
)

// TestBadInput shows each error as a caller gets it.
func TestBadInput(t *testing.T) {
	g := newGateway(t, gatewaytest.Done, gateway.Options{})
	long := strings.Repeat("n", 1000)
	var out strings.Builder
	for _, call := range []string{
		`search_tools`, `search_tools {"query":"  "}`, `search_tools {"query":7}`, `search_tools []`, `search_tools "x"`,
		`search_tools {"qeury":"x"}`, `search_tools {"query":"x","filter":{}}`, `search_tools {"query":"x","filters":[]}`,
		`search_tools {"query":"x","filters":{"tag":["a"]}}`, `search_tools {"query":"x","filters":{"tags":"a"}}`,
		`search_tools {"query":"x","filters":{"tags":[1]}}`, `search_tools {"query":"x","filters":{"integration_type":"mcp"}}`,
		`search_tools {"query":"x","filters":{"name_pattern":"(?!a"}}`, `search_tools {"query":"x","filters":{"name_pattern":"` + strings.Repeat("a", 257) + `"}}`,
		`search_tools {"query":"x","filters":{"min_score":1.5}}`, `search_tools {"filters":{"tags":["a"],"min_score":0.5}}`,
		`search_tools {"query":"x","filters":{"has_examples":"yes"}}`,
		`search_tools {"query":"x","limit":0}`, `search_tools {"query":"x","limit":-1}`, `search_tools {"query":"x","limit":51}`,
		`search_tools {"query":"x","limit":2.5}`, `search_tools {"query":"x","limit":"5"}`, `search_tools {"query":"x","limit":1e300}`,
		`search_tools {"query":"x","search_type":"fuzzy"}`,
		`list_tools {"page":0}`, `list_tools {"page":4,"page_size":4}`, `list_tools {"page":2,"filters":{"teams":["x"]}}`, `list_tools {"page_size":101}`,
		`list_tools {"sort_by":"nam"}`, `list_tools {"sort_order":"up"}`, `list_tools {"filters":{"min_score":0.5}}`, `list_tools {"filters":{"server":["a"]}}`,
		`describe_tool`, `describe_tool {"tool_name":""}`, `describe_tool {"tool_name":"files/raed_file"}`, `describe_tool {"tool_name":"search"}`,
		`describe_tool {"tool_name":"` + long + `"}`, `describe_tool {"name":"x"}`, `describe_tool {"tool_name":"read_file","include_metrics":1}`,
		`execute_tool {"tool_name":"read_file"}`, `execute_tool {"tool_name":"read_file","arguments":null}`, `execute_tool {"tool_name":"read_file","arguments":[1]}`,
		`execute_tool {"tool_name":"read_file","arguments":"{\"path\":"}`, `execute_tool {"tool_name":"read_file","arguments":"\"x\""}`,
		`execute_tool {"tool_name":"read_file","path":"x"}`, `execute_tool {"tool_name":"read_file","arguments":{}}`,
		`execute_tool {"tool_name":"csv_analyzer","arguments":{"file":"x","columns":"a"}}`, `execute_tool {"tool_name":"read_fil","arguments":{}}`,
		`execute_tool {"tool_name":"search","arguments":{}}`, `execute_tool {"tool_name":"remote_schema","arguments":{}}`,
		`execute_tool {"tool_name":"read_file","arguments":{"path":"x"},"options":{"timeout_ms":0}}`,
		`execute_tool {"tool_name":"read_file","arguments":{"path":"x"},"options":{"timeout_ms":300001}}`,
		`execute_tool {"tool_name":"read_file","arguments":{"path":"x"},"options":{"timeout":5}}`,
		`get_tool_categories {"include_tag":true}`, `get_tool_categories {"include_tags":"no"}`,
		`get_similar_tools {"tool_name":"read_file","limit":21}`, `get_similar_tools {}`,
		`find_tools {}`,
	} {
		tool, args, _ := strings.Cut(call, " ")
		msg, hint := fail(t, g, tool, args)
		if hint == "" {
			t.Errorf("%s: no hint", call)
		}
		fmt.Fprintf(&out, "%s\n  error: %s\n  hint:  %s\n", call, msg, hint)
	}
	golden(t, "errors.golden.txt", []byte(out.String()))
}

func TestSemanticWithoutVectors(t *testing.T) {
	msg, hint := fail(t, newGateway(t, nil, gateway.Options{}), "search_tools", `{"query":"x","search_type":"semantic"}`)
	if !strings.HasPrefix(msg, "search_tools: ") || !strings.Contains(msg, "vectors") || !strings.Contains(hint, "hybrid") {
		t.Errorf("got %q, hint %q", msg, hint)
	}
}

// Failures that are none of the caller's are told and logged.
func TestInnerFailures(t *testing.T) {
	var log bytes.Buffer
	s := New(gateway.New(gatewaytest.Open(t), nil, gateway.Options{}), surface.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	e := s.(*Surface).told("list_tools", errors.New("read tool x: disk on fire"))
	if e.Problem != "list_tools: read tool x: disk on fire" || !strings.Contains(e.Hint, "failure of the gateway") {
		t.Errorf("got %q, hint %q", e.Problem, e.Hint)
	}
	if !strings.Contains(log.String(), "disk on fire") {
		t.Errorf("the log is %q", log.String())
	}
}
