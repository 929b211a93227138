package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// Entries are all tools of a gateway, for who lists them whole.
type Entries struct{ g *Gateway }

// EntriesOf are those of g.
func EntriesOf(g *Gateway) Entries { return Entries{g} }

// In are the tools that v shows, in order of their ids, and the state of the
// catalog that they are of.
func (e Entries) In(v view.View) ([]index.Entry, index.State) { return e.g.ix.Entries(v.Scope) }

// State is that of the catalog: equal as long as its tools are the same.
func (e Entries) State() index.State { return e.g.ix.State() }

// Watch has changed called whenever the catalog may have become another one,
// until stop. It must return at once and must not call stop.
func (e Entries) Watch(changed func()) (stop func()) { return e.g.ix.Watch(changed) }

// Named are the tools that name may mean among those that v shows.
func (e Entries) Named(v view.View, name string) []index.Hit { return e.g.ix.Resolve(name, v.Scope) }

// Object is a tool's object as its server sent it, and the description that
// the operator gives in place of the server's; "" for none.
func (e Entries) Object(of index.Entry) (raw json.RawMessage, description string, err error) {
	raw, err = e.g.ix.Raw(of.ID)
	if err != nil {
		return nil, "", fmt.Errorf("read tool %s: %w", of.Tool.QualifiedName(), err)
	}
	return raw, e.g.operator(of.Tool.Server).Tools[of.Tool.Name].Description, nil
}
