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

// A View is what one caller sees through one endpoint, and may run. The zero
// value sees and runs everything.
type View struct {
	// Scope says which tools the caller sees; nil shows all. What it hides is
	// answered exactly as what does not exist.
	Scope *index.Scope
	// Runnable says which of those tools the caller may run; nil is all of
	// them. It widens nothing: a tool that Scope hides is not run.
	Runnable *index.Scope
}

// Runs says whether the caller may run a tool.
func (v View) Runs(t *index.Tool) bool { return v.Scope.Sees(t) && v.Runnable.Sees(t) }

// And is what both views show, and let run.
func (v View) And(w View) View { return View{both(v.Scope, w.Scope), both(v.Runnable, w.Runnable)} }

func both(a, b *index.Scope) *index.Scope {
	switch {
	case a == nil:
		return b
	case b == nil || a == b:
		return a
	}
	both := index.NewScope(func(t *index.Tool) bool { return a.Sees(t) && b.Sees(t) })
	if a.IsAlone() || b.IsAlone() {
		return both.Alone()
	}
	return both
}

// Over is f among what the view shows.
func (v View) Over(f index.Filter) index.Filter {
	f.Scope = v.Scope
	return f
}
