// Package supervise runs what owns tools: a child for each entry of a
// configuration, which may change at any time.
//
// A child whose entry stays is left alone, one whose entry changes is replaced,
// and none that ends takes another one with it.
package supervise

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
)

// A Child is what is made of one entry.
type Child[S any] interface {
	// Entry is what it was made of.
	Entry() S
	// Run is its life, until ctx ends.
	Run(ctx context.Context)
	// Leave tells it that it is replaced or gone, and returns what waits until
	// it may end, at the latest with ctx; nil if it may at once.
	Leave(ctx context.Context) func()
}

// Changes are the names that an Apply concerned, each in order.
type Changes struct {
	Added, Changed, Removed []string
}

// And are the changes of two Supervisors.
func (c Changes) And(d Changes) Changes {
	both := func(a, b []string) []string { return slices.Sorted(slices.Values(slices.Concat(a, b))) }
	return Changes{both(c.Added, d.Added), both(c.Changed, d.Changed), both(c.Removed, d.Removed)}
}

// A Supervisor keeps the children. Its methods are safe for concurrent use.
type Supervisor[S any, C Child[S]] struct {
	name func(S) string
	make func(S) C

	mu     sync.Mutex // guards the fields below
	order  []C        // that of the entries; replaced whole
	byName map[string]*life[C]
	ctx    context.Context // of Run; nil before
	ended  bool            // Run's ctx is done

	running sync.WaitGroup // children, those that are being replaced too
}

// A life is a child that runs once the Supervisor does.
type life[C any] struct {
	child C
	end   context.CancelFunc // nil before it runs
}

// New returns a Supervisor without children, which make makes of entries that
// have names.
func New[S any, C Child[S]](name func(S) string, make func(S) C) *Supervisor[S, C] {
	return &Supervisor[S, C]{name: name, make: make, byName: map[string]*life[C]{}}
}

// Apply makes entries, which have different names, those that there are
// children of, during Run too.
func (s *Supervisor[S, C]) Apply(entries []S) (c Changes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.byName
	s.order, s.byName = make([]C, 0, len(entries)), make(map[string]*life[C], len(entries))
	for _, entry := range entries {
		name := s.name(entry)
		l := before[name]
		switch {
		case l == nil:
			c.Added = append(c.Added, name)
		case !reflect.DeepEqual(l.child.Entry(), entry):
			c.Changed = append(c.Changed, name)
			s.retire(l)
			l = nil
		}
		if l == nil {
			l = &life[C]{child: s.make(entry)}
			s.start(l)
		}
		s.order, s.byName[name] = append(s.order, l.child), l
	}
	for name, l := range before {
		if s.byName[name] == nil {
			c.Removed = append(c.Removed, name)
			s.retire(l)
		}
	}
	for _, names := range [][]string{c.Added, c.Changed, c.Removed} {
		slices.Sort(names)
	}
	return c
}

// start runs a child if the Supervisor runs. The caller holds mu.
func (s *Supervisor[S, C]) start(l *life[C]) {
	if s.ctx == nil || s.ended {
		return
	}
	ctx, end := context.WithCancel(s.ctx)
	l.end = end
	s.running.Go(func() {
		defer end()
		l.child.Run(ctx)
	})
}

// retire ends a child when it may end. The caller holds mu.
func (s *Supervisor[S, C]) retire(l *life[C]) {
	if l.end == nil || s.ended {
		return // it has not run, or ends with all others
	}
	wait := l.child.Leave(s.ctx)
	if wait == nil {
		l.end()
		return
	}
	s.running.Go(func() {
		wait()
		l.end()
	})
}

// Run runs the children until ctx ends, and returns when each has ended. It
// runs once.
func (s *Supervisor[S, C]) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.ctx != nil {
		s.mu.Unlock()
		return errors.New("run upstreams: they have run already")
	}
	s.ctx = ctx
	for _, l := range s.byName {
		s.start(l)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.ended = true // nothing starts any more
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// Named is the child of an entry, the zero C if there is none.
func (s *Supervisor[S, C]) Named(name string) (child C) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byName[name]; l != nil {
		child = l.child
	}
	return child
}

// All are the children in the order of their entries.
func (s *Supervisor[S, C]) All() []C {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order
}
