package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A trace is an Auditor that keeps events in memory, unless it is broken.
type trace struct {
	events []audit.Event
	broken error
}

func (t *trace) Add(e audit.Event) { t.events = append(t.events, e) }

func (t *trace) Sync(_ context.Context, e audit.Event) error {
	if t.broken == nil {
		t.Add(e)
	}
	return t.broken
}

// kinds are what the events tell of, with the tool.
func (t *trace) kinds() (out []string) {
	for _, e := range t.events {
		out = append(out, strings.TrimSpace(e.Kind+" "+e.Tool))
	}
	return out
}

func TestAuditOfExecutions(t *testing.T) {
	for _, test := range []struct {
		name     string
		required bool
		args     string
		tool     string
		kinds    []string
	}{
		{"a run", false, `{"path":"a"}`, "files/read_file", []string{"execute files/read_file"}},
		{"a run that is announced", true, `{"path":"a"}`, "files/read_file", []string{"intent files/read_file", "execute files/read_file"}},
		{"arguments that are wrong", true, `{}`, "files/read_file", nil},
		{"a tool that may not be run", true, `{"title":"a"}`, "github/create_issue", []string{"denied github/create_issue"}},
		{"a tool that is hidden", true, `{"path":"a"}`, "vault/read_secret", []string{"hidden_tool_access vault/read_secret"}},
		{"a tool that does not exist", true, `{}`, "vault/no_such_tool", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			kept := &trace{}
			g := open(t, gateway.Options{Audit: gateway.Audit{Log: kept, Required: test.required}})
			v := gatewaytest.View
			v.Runnable = index.NewScope(func(t *index.Tool) bool { return t.Server == "files" })
			ctx := gateway.From(t.Context(), gateway.Origin{Endpoint: "finance", Principal: "token:a", Request: "7"})
			_, err := g.Execute(ctx, v, gateway.ExecuteRequest{Name: test.tool, Arguments: json.RawMessage(test.args)})
			if got := kept.kinds(); !reflect.DeepEqual(got, test.kinds) {
				t.Errorf("kept %v after error %v, want %v", got, err, test.kinds)
			}
			for _, e := range kept.events {
				if e.Endpoint != "finance" || e.Principal != "token:a" || e.Request != "7" || len(e.Arguments) != 1 || e.Values != nil {
					t.Errorf("kept %+v", e)
				}
			}
		})
	}
}

func TestAuditSaysHowARunEnded(t *testing.T) {
	failing := gatewaytest.Caller(func(_ context.Context, r upstream.Request) (upstream.Result, error) {
		if r.Tool == "search" {
			return upstream.Result{}, errors.New("it has gone")
		}
		return upstream.Result{Raw: json.RawMessage(`{"content":[],"isError":true}`), Sent: true}, nil
	})
	kept := &trace{}
	g := gateway.New(gatewaytest.Open(t), failing, gateway.Options{Audit: gateway.Audit{Log: kept, Values: true}})
	gatewaytest.Fill(t, g)
	for _, r := range []gateway.ExecuteRequest{
		{Name: "files/read_file", Arguments: json.RawMessage(`{"path":"a"}`)}, {Name: "files/search", Arguments: json.RawMessage(`{}`)},
	} {
		_, _ = g.Execute(t.Context(), view.View{}, r) // what the audit says is asked for
	}
	if len(kept.events) != 2 {
		t.Fatalf("kept %+v", kept.events)
	}
	for i, reason := range []string{"the tool says that it failed", "it has gone"} {
		e := kept.events[i]
		if e.OK == nil || *e.OK || e.Ms == nil || !strings.Contains(e.Reason, reason) {
			t.Errorf("kept %+v, want a failure: %s", e, reason)
		}
	}
	if got := string(kept.events[0].Values); got != `{"path":"a"}` {
		t.Errorf("values %s", got)
	}
}

// Where the audit is required and cannot be written, nothing runs.
func TestNothingRunsUnaudited(t *testing.T) {
	ran := false
	calls := gatewaytest.Caller(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
		ran = true
		return gatewaytest.Done(ctx, r)
	})
	g := gateway.New(gatewaytest.Open(t), calls, gateway.Options{
		Audit: gateway.Audit{Log: &trace{broken: errors.New("disk full")}, Required: true},
	})
	gatewaytest.Fill(t, g)
	_, err := g.Execute(t.Context(), view.View{}, gateway.ExecuteRequest{Name: "files/read_file", Arguments: json.RawMessage(`{"path":"a"}`)})
	var e *gateway.Error
	if ran || !errors.As(err, &e) || !strings.Contains(e.Problem, "audit") || strings.Contains(e.Problem, "disk") {
		t.Errorf("ran %v, error %v; want that it did not, as the audit cannot be written, and no word of the disk", ran, err)
	}
}
