package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
)

// reporting is a Caller of servers in given states.
type reporting []upstream.Status

func (reporting) Call(context.Context, upstream.Request) (upstream.Result, error) {
	return upstream.Result{}, errors.New("called")
}

func (r reporting) Status() []upstream.Status { return r }

// A tool of a server that has not listed its tools is not said to be none.
func TestToolsOfServersThatNeverListed(t *testing.T) {
	calls := reporting{
		{Name: "files", State: upstream.Connecting, Listed: time.Now()},
		{Name: "slow", State: upstream.Connecting},
		{Name: "away", State: upstream.Backoff, Error: "connection refused"},
		{Name: "locked", State: upstream.NeedsLogin, Error: "credentials refused: HTTP 401"},
		{Name: "vault", State: upstream.Connecting},
		{Name: "quiet", State: upstream.Connecting},
		{Name: "foreign", State: upstream.Connecting},
	}
	g := gateway.New(gatewaytest.Open(t), calls, gateway.Options{Servers: map[string]gateway.Server{
		"files": {}, "slow": {}, "away": {}, "locked": {}, "vault": {}, "quiet": {Hidden: true},
	}})
	gatewaytest.Store(t, g, map[string][]string{"files": gatewaytest.Catalog["files"]})
	words := gateway.Vocabulary{Search: "[find]", Status: "[status]"}
	for _, tt := range []struct{ name, problem, next string }{
		{"slow/x", "slow/x: the tools of server slow are still being listed for the first time", "call again in some seconds; [status] says how server slow is"},
		{"slow__x", "slow__x: the tools of server slow are still being listed", "call again"},
		{"away/x", "away/x: the tools of server away are not known, as it could not be connected: connection refused", "[status] says how server away is; [find] finds"},
		{"locked/x", "could not be connected: credentials refused: HTTP 401", "[status] says how server locked is"},
		{"files/x", `there is no tool "files/x"`, "[find]"},
		{"vault/x", `there is no tool "vault/x"`, "[find]"},
		{"quiet/x", `there is no tool "quiet/x"`, "[find]"},
		{"foreign/x", `there is no tool "foreign/x"`, "[find]"},
		{"slower/x", `there is no tool "slower/x"`, "[find]"},
	} {
		_, err := g.Execute(t.Context(), gatewaytest.View, gateway.ExecuteRequest{Name: tt.name, Arguments: json.RawMessage(`{}`)})
		var e *gateway.Error
		if !errors.As(err, &e) || !errors.Is(err, gateway.ErrUnknownTool) {
			t.Errorf("%s: got %v, want an ErrUnknownTool", tt.name, err)
			continue
		}
		if next := e.Next.In(words); !strings.Contains(e.Error(), tt.problem) || !strings.Contains(next, tt.next) {
			t.Errorf("%s: got %q, advice %q", tt.name, e, next)
		}
	}
	if _, err := g.Execute(t.Context(), view.View{}, gateway.ExecuteRequest{Name: "vault/x"}); !strings.Contains(err.Error(), "still being listed") {
		t.Errorf("whoever sees the server is told %q", err)
	}
}

// A packer knows one tool by what its server says of it.
type packer struct{}

func (packer) Identity() uint64 { return 1 }

func (packer) Find(_, description string) []phrase.Phrase {
	if description != "Dispatches a message." {
		return nil
	}
	return []phrase.Phrase{{Text: "shoot off an email", Source: phrase.Pack}}
}

// The pack knows a tool whose description the operator has replaced, also
// after the catalog is opened again.
func TestPackKnowsOverriddenTools(t *testing.T) {
	dir := t.TempDir()
	open := func(p index.Packer) *index.Index {
		t.Helper()
		ix, err := index.Open(dir, index.Options{Pack: p})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ix.Close() })
		return ix
	}
	ix := open(nil)
	g := gateway.New(ix, nil, gateway.Options{Servers: map[string]gateway.Server{
		"post": {Tools: map[string]gateway.Override{"send": {Description: "Our own words."}}},
	}})
	gatewaytest.Store(t, g, map[string][]string{"post": {`{"name":"send","description":"Dispatches a message."}`}})
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if p := open(packer{}).Phrases().List(); len(p) != 1 || p[0].Counted != 1 {
		t.Errorf("%+v", p)
	}
}
