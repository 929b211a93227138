package app

import (
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A Shown endpoint is what one shows to whoever may see it all.
type Shown struct {
	Name string
	View view.View
}

// Shown are the endpoints that are served, the default one first.
func (e Managed) Shown() (out []Shown) {
	e.endpoints.mu.Lock()
	defer e.endpoints.mu.Unlock()
	for _, x := range e.endpoints.defined(e.live.config()) {
		if x.Enabled && x.Problem == "" {
			out = append(out, Shown{x.Name, viewOf(e.Gateway, x)})
		}
	}
	return out
}

// Count is how many tools a view shows.
func (e Managed) Count(v view.View) int {
	_, n := e.Index.List(index.Listing{Filter: v.Over(index.Filter{}), Limit: 1})
	return n
}
