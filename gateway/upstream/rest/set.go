package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/supervise"
)

// Options are the settings that all APIs of a Set share. The zero value is
// ready to use.
type Options struct {
	// OnList is called with the tools of an API, one call at a time for one
	// API; nil drops them. Its ctx ends with Run's.
	OnList func(ctx context.Context, server string, l upstream.Listing)
	// Stored tells what is known of an API's tools from before: how many there
	// are, and when they were made, zero if never. Nil knows nothing.
	Stored func(server string) (tools int, listed time.Time)

	// Logins keeps the logins to APIs; nil keeps none.
	Logins login.Store

	Logger         *slog.Logger  // nil discards
	DefaultTimeout time.Duration // of a call whose ctx has no deadline; 0 means 30 s
}

// A Set makes the tools of a number of REST APIs and calls them. Its methods
// are safe for concurrent use.
type Set struct {
	o Options

	apis *supervise.Supervisor[Spec, *api]
}

// NewSet checks the specs, all of them, and returns a Set that Run brings to
// life.
func NewSet(specs []Spec, o Options) (*Set, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnList == nil {
		o.OnList = func(context.Context, string, upstream.Listing) {}
	}
	if o.Stored == nil {
		o.Stored = func(string) (int, time.Time) { return 0, time.Time{} }
	}
	if o.DefaultTimeout <= 0 {
		o.DefaultTimeout = 30 * time.Second
	}
	s := &Set{o, supervise.New(func(sp Spec) string { return sp.Name }, func(sp Spec) *api { return newAPI(sp, o) })}
	_, err := s.Apply(specs)
	return s, err
}

// Apply makes specs, which have different names, the APIs of the Set, during
// Run too. Calls under way go on as they began. An error changes nothing.
func (s *Set) Apply(specs []Spec) (supervise.Changes, error) {
	var errs []error
	for _, sp := range specs {
		if err := sp.Check(); err != nil && sp.Disabled == "" {
			errs = append(errs, fmt.Errorf("server %q: %w", sp.Name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return supervise.Changes{}, err
	}
	return s.apis.Apply(specs), nil
}

// Run reads documents as they are needed, and again when they are due, until
// ctx ends. A Set runs once.
func (s *Set) Run(ctx context.Context) error { return s.apis.Run(ctx) }

func (s *Set) named(name string) *api { return s.apis.Named(name) }

// Has reports an API of that name.
func (s *Set) Has(name string) bool { return s.named(name) != nil }

// Call makes one request. Errors are of type *upstream.CallError; the Result
// says even then whether the request may have run. What the API answers is a
// result, failures too.
func (s *Set) Call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	a := s.named(r.Server)
	if a == nil {
		return upstream.Result{}, &upstream.CallError{Server: r.Server, Tool: r.Tool, Err: upstream.ErrUnknownServer}
	}
	if _, ok := ctx.Deadline(); !ok {
		timeout := a.spec.Timeout
		if timeout <= 0 {
			timeout = s.o.DefaultTimeout
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return a.call(ctx, r)
}

// Refresh reads the document of an API now and returns its tools, after OnList
// has had them.
func (s *Set) Refresh(ctx context.Context, server string) (upstream.Listing, error) {
	a := s.named(server)
	if a == nil {
		return upstream.Listing{}, fmt.Errorf("refresh %s: %w", server, upstream.ErrUnknownServer)
	}
	l, err := a.load(ctx)
	if err != nil {
		return upstream.Listing{}, fmt.Errorf("refresh %s: %w", server, err)
	}
	return l, nil
}

// Status describes all APIs, in the order of their specs.
func (s *Set) Status() []upstream.Status {
	apis := s.apis.All()
	all := make([]upstream.Status, 0, len(apis))
	for _, a := range apis {
		all = append(all, a.status())
	}
	return all
}
