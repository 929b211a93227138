// Package view says what one caller sees of the catalog.
//
// A View is data: the gateway's operations take one and obey it, and a surface
// is given one and nothing else, so that none can forget a rule. The package
// therefore lies below the gateway, which asks it, and knows of tools only.
//
// A Rule is what an operator writes of the tools that an endpoint shows; Of
// makes a View of rules.
package view

import "github.com/tooldex/tooldex/index"

// A View is what one caller sees through one endpoint. The zero value sees
// everything.
type View struct {
	// Scope says which tools the caller sees; nil shows all. What it hides is
	// answered exactly as what does not exist.
	Scope *index.Scope
}

// Over is f among what the view shows.
func (v View) Over(f index.Filter) index.Filter {
	f.Scope = v.Scope
	return f
}
