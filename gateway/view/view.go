// Package view says what one caller sees of the catalog.
//
// A View is data: the gateway's operations take one and obey it, and a surface
// is given one and nothing else, so that none can forget a rule. The package
// therefore lies below the gateway, which asks it, and knows of tools only.
package view

import "github.com/tooldex/tooldex/index"

// A View is what one caller sees through one endpoint. The zero value sees
// everything.
type View struct {
	// Visible says whether the caller sees a tool; nil says yes to all. It is
	// pure and fast: a search asks it once for each tool of the catalog. What
	// it refuses is answered exactly as what does not exist.
	Visible func(*index.Tool) bool
}

// Over is f among what the view shows.
func (v View) Over(f index.Filter) index.Filter {
	f.Scope = v.Visible
	return f
}
