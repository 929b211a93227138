package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/tooldex/tooldex/gateway/upstream/supervise"
)

// Apply makes specs the servers of the Set, during Run too. A server whose
// spec is the same is left alone. One whose spec is another is replaced: new
// calls go to the new one at once, while calls under way on the old one, as on
// one that specs does not name, may go on for a minute. An error changes
// nothing.
func (s *Set) Apply(specs []Spec) (supervise.Changes, error) {
	if err := checkAll(specs); err != nil {
		return supervise.Changes{}, err
	}
	return s.servers.Apply(specs), nil
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

// Leave implements [supervise.Child]: calls under way may end.
func (s *server) Leave(ctx context.Context) func() {
	s.leaving.Store(true)
	return func() { s.awaitCalls(ctx) }
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
