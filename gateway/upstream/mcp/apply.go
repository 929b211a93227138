package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Changes are the servers that an Apply concerned, each in name order.
type Changes struct {
	Added, Changed, Removed []string
}

// Apply makes specs the servers of the Set, during Run too. A server whose
// spec is the same is left alone. One whose spec is another is replaced: new
// calls go to the new one at once, while calls under way on the old one, as on
// one that specs does not name, may go on for a minute. An error changes
// nothing.
func (s *Set) Apply(specs []Spec) (Changes, error) {
	if err := checkAll(specs); err != nil {
		return Changes{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var c Changes
	before := s.byName
	s.servers, s.byName = make([]*server, 0, len(specs)), make(map[string]*server, len(specs))
	for _, sp := range specs {
		srv := before[sp.Name]
		switch {
		case srv == nil:
			c.Added = append(c.Added, sp.Name)
		case reflect.DeepEqual(srv.spec, sp):
			s.servers, s.byName[sp.Name] = append(s.servers, srv), srv
			continue
		default:
			c.Changed = append(c.Changed, sp.Name)
			s.retire(srv)
		}
		srv = newServer(sp, s.o, s.gateOf(sp))
		s.servers, s.byName[sp.Name] = append(s.servers, srv), srv
		s.start(srv)
	}
	for name, srv := range before {
		if s.byName[name] == nil {
			c.Removed = append(c.Removed, name)
			s.retire(srv)
		}
	}
	for _, names := range [][]string{c.Added, c.Changed, c.Removed} {
		slices.Sort(names)
	}
	return c, nil
}

func checkAll(specs []Spec) error {
	var errs []error
	named := map[string]bool{}
	for _, sp := range specs {
		if err := sp.Check(); err != nil && sp.Disabled == "" {
			errs = append(errs, err)
		}
		if named[sp.Name] {
			errs = append(errs, fmt.Errorf("server %q: configured twice: rename one", sp.Name))
		}
		named[sp.Name] = true
	}
	return errors.Join(errs...)
}

// start runs a server if the Set runs. The caller holds mu.
func (s *Set) start(srv *server) {
	if s.ctx == nil || s.ended {
		return
	}
	var ctx context.Context
	ctx, srv.end = context.WithCancel(s.ctx)
	s.running.Go(func() {
		defer srv.end()
		srv.run(ctx)
	})
}

// retire ends a server that takes no new calls, when those under way have
// ended. The caller holds mu.
func (s *Set) retire(srv *server) {
	if srv.end == nil || s.ended {
		return // it has not run, or ends with all others
	}
	srv.leaving.Store(true)
	ctx := s.ctx
	s.running.Go(func() {
		srv.awaitCalls(ctx)
		srv.end()
	})
}

// awaitCalls returns when no call is under way, at the latest after
// retireTime, and lets none begin after that. Calls that only wait for a
// server which is not connected wait no longer.
func (s *server) awaitCalls(ctx context.Context) {
	if s.life.at().conn == nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, retireTime)
	defer cancel()
	for range s.calls.Places() {
		if _, err := s.calls.Enter(within, ""); err != nil {
			return
		}
	}
}
