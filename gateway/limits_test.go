package gateway_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/limit"
)

// What goes beyond a limit is told which and when to ask again, and another
// principal is not bound by it.
func TestLimits(t *testing.T) {
	g := open(t, gateway.Options{Limits: limit.New(limit.Limits{Principal: limit.Rates{Calls: 1, Searches: 1}})})
	for _, principal := range []string{"token:a", "token:b"} {
		ctx := gateway.From(t.Context(), gateway.Origin{Principal: principal})
		execute := func() error {
			_, err := g.Execute(ctx, gatewaytest.View, gateway.ExecuteRequest{Name: "files/read_file", Arguments: json.RawMessage(`{"path":"a"}`)})
			return err
		}
		search := func() error {
			_, err := g.Search(ctx, gatewaytest.View, gateway.SearchRequest{Text: "read a file"})
			return err
		}
		for _, f := range []func() error{execute, search} {
			if err := f(); err != nil {
				t.Errorf("the first of %s: %v", principal, err)
			}
			var e *gateway.Error
			err := f()
			if !errors.As(err, &e) || !errors.Is(err, gateway.ErrLimit) || e.Again <= 0 {
				t.Errorf("the second of %s: %v, want that it is beyond the limit, and when to ask again", principal, err)
			} else if next := e.Next.In(gateway.Vocabulary{}); !strings.Contains(next, "ask again in") {
				t.Errorf("advice %q", next)
			}
		}
	}
}
