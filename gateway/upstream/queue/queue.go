// Package queue lets calls wait for one of a number of places, in turn: each
// caller's calls keep their order, and callers take turns (round robin), so
// that one who calls much does not keep the others waiting.
//
// A [Queue] is bounded. When it is full, a caller that has fewer calls in it
// than another takes the place of that one's last; so nobody is kept out
// either.
package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
)

var (
	// ErrFull reports a call that had no room to wait, or has it no longer.
	ErrFull = errors.New("queue full")
	// ErrClosed reports a call that waited when the queue was closed.
	ErrClosed = errors.New("queue closed")
)

// A Queue gives places to calls. It is safe for concurrent use.
type Queue struct {
	places, most int

	mu      sync.Mutex         // guards the fields below
	taken   int                // places
	waiting int                // calls
	turns   []string           // callers with calls that wait; the first is next
	of      map[string][]*call // that wait, in their order, by caller
	closed  bool
}

// A call waits for a place.
type call struct {
	in chan error // takes one value: nil for a place
}

// New makes a queue with places, for which at most so many calls wait. Both are
// positive.
func New(places, most int) *Queue {
	return &Queue{places: places, most: most, of: map[string][]*call{}}
}

// Enter waits for a place until ctx ends, whose cause is then its error.
// Whoever has one calls leave once.
func (q *Queue) Enter(ctx context.Context, caller string) (leave func(), err error) {
	c, err := q.line(caller)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return q.leave, nil
	}
	select {
	case err := <-c.in:
		if err != nil {
			return nil, err
		}
		return q.leave, nil
	case <-ctx.Done():
		if !q.withdraw(caller, c) && <-c.in == nil {
			q.leave() // the place came at the same moment
		}
		return nil, context.Cause(ctx)
	}
}

// line takes a place, or lines up for one.
func (q *Queue) line(caller string) (*call, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken < q.places {
		q.taken++
		return nil, nil
	}
	if q.closed {
		return nil, ErrClosed
	}
	if q.waiting >= q.most && !q.displace(caller) {
		return nil, ErrFull
	}
	c := &call{in: make(chan error, 1)}
	if len(q.of[caller]) == 0 {
		q.turns = append(q.turns, caller)
	}
	q.of[caller] = append(q.of[caller], c)
	q.waiting++
	return c, nil
}

// displace sends away the last call of whoever has most, if that leaves it
// with no fewer than caller will have. The caller of it holds mu.
func (q *Queue) displace(caller string) bool {
	busiest := slices.MaxFunc(q.turns, func(a, b string) int { return len(q.of[a]) - len(q.of[b]) })
	calls := q.of[busiest]
	if len(calls)-1 < len(q.of[caller])+1 {
		return false
	}
	last := calls[len(calls)-1]
	q.remove(busiest, len(calls)-1)
	last.in <- ErrFull
	return true
}

// remove takes a call out of the line. The caller holds mu.
func (q *Queue) remove(caller string, i int) {
	q.waiting--
	q.of[caller] = slices.Delete(q.of[caller], i, i+1)
	if len(q.of[caller]) == 0 {
		delete(q.of, caller)
		at := slices.Index(q.turns, caller)
		q.turns = slices.Delete(q.turns, at, at+1)
	}
}

// withdraw takes a call out of the line, unless it is out of it.
func (q *Queue) withdraw(caller string, c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.of[caller], c)
	if i >= 0 {
		q.remove(caller, i)
	}
	return i >= 0
}

// leave hands a place to the next call in turn.
func (q *Queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 {
		q.taken--
		return
	}
	caller := q.turns[0]
	next := q.of[caller][0]
	q.turns = append(q.turns[1:], caller) // whose turn comes again after the others'
	q.remove(caller, 0)
	next.in <- nil
}

// Close sends all away that wait, and lets nobody wait from now on.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, calls := range q.of {
		for _, c := range calls {
			c.in <- ErrClosed
		}
	}
	q.waiting, q.turns, q.of = 0, nil, map[string][]*call{}
}

// Places is how many calls may have one at once.
func (q *Queue) Places() int { return q.places }

// Taken is how many calls have a place.
func (q *Queue) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}

// Waiting is how many calls wait.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
