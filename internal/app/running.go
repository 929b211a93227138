package app

import (
	"context"
	"errors"
	"sync"

	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/config"
)

// Running is the process that serves cfg, to run tools there; an error when there
// is none, an attach.SilentError when it does not answer.
func Running(ctx context.Context, cfg *config.Config, version string) (*Remote, error) {
	p, ok := Place(cfg, version)
	if !ok {
		return nil, attach.ErrNobody
	}
	if _, err := p.About(ctx); err != nil {
		return nil, err
	}
	return &Remote{p}, nil
}

// A Neighbour is a place of a state folder with who serves there, or why that is
// not known.
type Neighbour struct {
	Place attach.Place
	About attach.About
	Err   error
}

// Neighbours asks at all places of a state folder who serves there.
func Neighbours(ctx context.Context, state string) []Neighbour {
	if state == "" {
		return nil
	}
	var out []Neighbour
	for _, p := range attach.All(state) {
		out = append(out, Neighbour{Place: p})
	}
	var all sync.WaitGroup // one that does not answer takes a second
	for i := range out {
		all.Go(func() { out[i].About, out[i].Err = out[i].Place.About(ctx) })
	}
	all.Wait()
	return out
}

// StatusOf is the status of the process of this version that serves mine, or that
// serves the configuration at path as it was before the file was changed; nil
// when there is none.
func StatusOf(ctx context.Context, found []Neighbour, mine attach.Place, path, version string) *Status {
	for _, at := range []func(n *Neighbour) bool{
		func(n *Neighbour) bool { return n.Place == mine },
		func(n *Neighbour) bool { return n.About.Config == absolute(path) && n.About.Version == version },
	} {
		for _, n := range found {
			var st Status
			if n.Err == nil && at(&n) && n.Place.Status(ctx, &st) == nil {
				return &st
			}
		}
	}
	return nil
}

// Beside adds to the status of an engine that serves nobody who else there is.
func (st *Status) Beside(ctx context.Context, found []Neighbour, mine attach.Place) {
	for _, n := range found {
		var silent *attach.SilentError
		switch {
		case errors.As(n.Err, &silent):
			st.Silent = append(st.Silent, Silent{*silent, n.Place == mine})
		case n.Err == nil && n.Place != mine:
			st.Others = append(st.Others, n.About)
		}
	}
	if len(st.Silent) == 0 { // else it may be that one's, and is waited for once more
		st.Serving = Serving(ctx, st.Listen)
	}
}
