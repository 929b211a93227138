package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/arguments"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

func open(t *testing.T, o gateway.Options) *gateway.Gateway {
	t.Helper()
	g := gateway.New(gatewaytest.Open(t), gatewaytest.Done, o)
	gatewaytest.Fill(t, g)
	return g
}

// Callers tell failures apart by type, and put the advice into their words.
func TestErrorsAreTyped(t *testing.T) {
	g := open(t, gateway.Options{})
	words := gateway.Vocabulary{Search: "[find]", Categories: "[kinds]", List: "[all]", Similar: "[like]", Labels: "[labels]"}
	execute := func(name, args string) error {
		_, err := g.Execute(t.Context(), gatewaytest.View, gateway.ExecuteRequest{Name: name, Arguments: json.RawMessage(args)})
		return err
	}
	_, noQuery := g.Search(t.Context(), gatewaytest.View, gateway.SearchRequest{})
	for _, tt := range []struct {
		err        error
		is         error
		tool, next string
	}{
		{execute("zzz", `{}`), gateway.ErrUnknownTool, "", "find tools with [find]"},
		{execute("vault/read_secret", `{}`), gateway.ErrUnknownTool, "", "find tools with [find]"},
		{execute("files/raed_file", `{}`), gateway.ErrUnknownTool, "", "nearest names: files/read_file, files/write_file; or find tools with [find]"},
		{execute("search", `{}`), gateway.ErrAmbiguousName, "", "call again with one of these names"},
		{execute("files/read_file", `{}`), nil, "files/read_file", "signature: files/read_file(path: string)"},
		{noQuery, nil, "", "the query has to say what the tool must do; to browse use [all] or [kinds]"},
	} {
		var e *gateway.Error
		if !errors.As(tt.err, &e) || tt.is != nil && !errors.Is(tt.err, tt.is) {
			t.Errorf("got %v, want a gateway.Error that is %v", tt.err, tt.is)
			continue
		}
		if next := e.Next.In(words); e.Tool != tt.tool || next != tt.next {
			t.Errorf("%v: about %q, advice %q; want %q, %q", e, e.Tool, next, tt.tool, tt.next)
		}
	}
	if err := execute("files/read_file", `{}`); !errors.As(err, new(*arguments.Error)) {
		t.Errorf("got %v, want one of the arguments", err)
	}
}

// What the view hides is nowhere; the zero view sees everything.
func TestViews(t *testing.T) {
	g := open(t, gateway.Options{})
	for _, tt := range []struct {
		view  view.View
		total int
	}{{gatewaytest.View, 9}, {view.View{}, 10}} {
		list, err := g.List(t.Context(), tt.view, gateway.ListRequest{})
		if err != nil || list.Total != tt.total {
			t.Errorf("listed %d tools, %v; want %d", list.Total, err, tt.total)
		}
		kinds, err := g.Categories(t.Context(), tt.view, gateway.CategoriesRequest{})
		if err != nil || kinds.Total != tt.total {
			t.Errorf("counted %d tools, %v; want %d", kinds.Total, err, tt.total)
		}
	}
}

// Every execution is told, with the server's name.
func TestExecuted(t *testing.T) {
	var told string
	g := open(t, gateway.Options{Executed: func(server string, ok bool, _ time.Duration) {
		if ok {
			told = server
		}
	}})
	x, err := g.Execute(t.Context(), gatewaytest.View, gateway.ExecuteRequest{Name: "files/search", Arguments: json.RawMessage(`{}`)})
	if err != nil || len(x.Result.Content) != 1 || x.Result.Content[0].Text() != "done" || told != "files" {
		t.Errorf("got %+v, %v, told of %q", x, err, told)
	}
}

// An emptied catalog has lost the tools that it still finds, as when another
// process stored a shorter list.
type emptied struct{ *index.Index }

func (emptied) Raw(id string) (json.RawMessage, error) {
	return nil, fmt.Errorf("read tool %s: %w", id, index.ErrGone)
}

func TestExecuteOfToolThatIsGone(t *testing.T) {
	ix := gatewaytest.Open(t)
	gatewaytest.Fill(t, gateway.New(ix, gatewaytest.Done, gateway.Options{}))
	g := gateway.New(emptied{ix}, gatewaytest.Done, gateway.Options{})
	_, err := g.Execute(t.Context(), gatewaytest.View, gateway.ExecuteRequest{Name: "files/search", Arguments: json.RawMessage(`{}`)})
	var e *gateway.Error
	if !errors.As(err, &e) || !errors.Is(err, gateway.ErrUnknownTool) || e.Error() != "files/search: server files no longer has this tool: it is gone from the catalog" {
		t.Fatalf("got %v", err)
	}
	if next := e.Next.In(gateway.Vocabulary{Search: "[find]"}); next != "it did not run; [find] finds what there is now" {
		t.Errorf("advice %q", next)
	}
}
