// Package limit bounds how much is asked of a gateway: calls and searches a
// minute, and calls at once, for each principal, each endpoint and each server.
//
// A rate is a token bucket (golang.org/x/time/rate) that holds a minute's worth:
// whoever was quiet may do a minute's work at once. The state is in memory, of
// one process, and bounded: what was used least is forgotten first.
package limit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Rates bound one principal, endpoint or server. Zero fields bound nothing.
type Rates struct {
	Calls      int `yaml:"calls_per_minute"`
	Searches   int `yaml:"searches_per_minute"`
	Concurrent int `yaml:"concurrent"` // calls under way at once
}

// Limits are the bounds of each principal, of each endpoint, and of each
// server. A server is not searched: its Searches bound nothing.
type Limits struct {
	Principal Rates `yaml:"per_principal"`
	Endpoint  Rates `yaml:"per_endpoint"`
	Server    Rates `yaml:"per_server"`
}

// A Use is one thing that is asked for.
type Use struct {
	Principal string // "" is the operator
	Endpoint  string // "" is none
	Server    string // whose tool is called; "" for a search
}

// Exceeded is the error of a Use that goes beyond a limit.
type Exceeded struct {
	Limit string        // in words
	After time.Duration // when it may be asked for again, at the earliest
}

func (e *Exceeded) Error() string { return "the limit is reached: " + e.Limit }

// A Limiter counts uses. It is safe for concurrent use.
type Limiter struct {
	limits atomic.Pointer[Limits]

	mu      sync.Mutex                   // guards the counts in buckets
	buckets *lru.Cache[subject, *bucket] // of those who used something
}

// A subject is whom a limit bounds.
type subject struct{ kind, name string }

// A bucket is what a subject has used.
type bucket struct {
	calls, searches *rate.Limiter // nil until a rate bounds them
	underWay        int
}

// most is how many subjects are remembered.
const most = 20_000

// aWhile is when to ask again for a place that another call has.
const aWhile = time.Second

// New makes a limiter.
func New(l Limits) *Limiter {
	buckets, err := lru.New[subject, *bucket](most)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	x := &Limiter{buckets: buckets}
	x.Set(l)
	return x
}

// Set puts other limits in force, for what begins from now on.
func (x *Limiter) Set(l Limits) { x.limits.Store(&l) }

// Search counts a search. Its error is an *Exceeded, and nothing is counted.
func (x *Limiter) Search(u Use) error {
	_, err := x.take(u, false)
	return err
}

// Call counts a call until done is called, once. Its error is an *Exceeded, and
// nothing is counted.
func (x *Limiter) Call(u Use) (done func(), err error) { return x.take(u, true) }

func (x *Limiter) take(u Use, call bool) (done func(), err error) {
	l := x.limits.Load()
	if *l == (Limits{}) {
		return func() {}, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var used []*bucket
	for _, s := range []struct {
		subject
		rates Rates
	}{{subject{"principal", u.Principal}, l.Principal}, {subject{"endpoint", u.Endpoint}, l.Endpoint}, {subject{"server", u.Server}, l.Server}} {
		if s.rates == (Rates{}) || s.name == "" && s.kind != "principal" {
			continue
		}
		b := x.bucket(s.subject)
		if err := b.room(s.kind, s.rates, call); err != nil {
			return nil, err
		}
		used = append(used, b)
	}
	for _, b := range used { // now that all have room
		b.use(call)
	}
	return func() { x.leave(used) }, nil
}

func (x *Limiter) leave(under []*bucket) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range under {
		b.underWay--
	}
}

func (x *Limiter) bucket(s subject) *bucket {
	b, ok := x.buckets.Get(s)
	if !ok {
		b = &bucket{}
		x.buckets.Add(s, b)
	}
	return b
}

// room says whether there is room for one more call or search.
func (b *bucket) room(kind string, r Rates, call bool) error {
	tokens, perMinute, what := &b.searches, r.Searches, "searches"
	if call {
		tokens, perMinute, what = &b.calls, r.Calls, "calls"
		if r.Concurrent > 0 && b.underWay >= r.Concurrent {
			return &Exceeded{fmt.Sprintf("%d calls at once for one %s", r.Concurrent, kind), aWhile}
		}
	}
	if perMinute <= 0 {
		*tokens = nil
		return nil
	}
	if *tokens == nil || (*tokens).Burst() != perMinute { // one of another rate begins full
		*tokens = rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)
	}
	if missing := 1 - (*tokens).Tokens(); missing > 0 {
		wait := time.Duration(missing / float64((*tokens).Limit()) * float64(time.Second))
		return &Exceeded{fmt.Sprintf("%d %s a minute for one %s", perMinute, what, kind), wait}
	}
	return nil
}

// use takes the room.
func (b *bucket) use(call bool) {
	tokens := b.searches
	if call {
		tokens = b.calls
		b.underWay++
	}
	if tokens != nil {
		tokens.Allow()
	}
}
