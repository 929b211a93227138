package native

import (
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

const (
	maxProbes = 1000 // that wait to be told
	maxProbed = 4096 // bytes of the name in one
	probeWait = 250 * time.Millisecond
)

// A Probe is a call by a name under which an endpoint serves nothing.
type Probe struct {
	Time   time.Time
	Name   string // as it was called
	View   view.View
	Origin gateway.Origin
	Tools  []string // qualified names of the tools that it may mean, which the caller is not shown
}

// Probes finds out which of the names that callers tried are of tools. It does
// so later than the call, all at once, so that the time of an answer tells
// nothing.
type Probes struct {
	tools *Tools
	shown bool // what the view shows is served by its native name
	tell  func(p Probe)
	lost  func(n int)

	telling sync.Mutex // guards tell and lost, which are called under it

	mu      sync.Mutex // guards the fields below
	waiting []Probe
	dropped int
	due     *time.Timer // nil unless something waits
}

// NewProbes tells which names of t's tools were tried. Where the view's tools
// are shown natively, other names of these are no secret. lost is told how many
// probes there was no room for. Both are called from one goroutine at a time.
func NewProbes(t *Tools, shown bool, tell func(Probe), lost func(n int)) *Probes {
	return &Probes{tools: t, shown: shown, tell: tell, lost: lost}
}

// Note keeps a probe to be looked at; it takes as long for every name.
func (ps *Probes) Note(p Probe) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(ps.waiting) >= maxProbes || len(p.Name) > maxProbed {
		ps.dropped++
	} else {
		ps.waiting = append(ps.waiting, p)
	}
	if ps.due == nil {
		ps.due = time.AfterFunc(probeWait, ps.Flush)
	}
}

// Flush tells of what waits.
func (ps *Probes) Flush() {
	ps.telling.Lock()
	defer ps.telling.Unlock()
	ps.mu.Lock()
	waiting, dropped := ps.waiting, ps.dropped
	ps.waiting, ps.dropped, ps.due = nil, 0, nil
	ps.mu.Unlock()
	for _, p := range waiting {
		if p.Tools = ps.named(p); len(p.Tools) > 0 {
			ps.tell(p)
		}
	}
	if dropped > 0 {
		ps.lost(dropped)
	}
}

// named are the tools that p may mean and that its caller is not shown.
func (ps *Probes) named(p Probe) (names []string) {
	add := func(t *index.Tool) {
		if !ps.shown || !p.View.Scope.Sees(t) {
			names = append(names, t.QualifiedName())
		}
	}
	if r, ok := ps.tools.list(view.View{}).find(p.Name); ok {
		add(r.Tool)
		return names
	}
	for _, h := range ps.tools.entries.Named(view.View{}, p.Name) {
		add(&h.Tool)
	}
	return names
}
