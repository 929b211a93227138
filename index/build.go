package index

import (
	"sync"
	"time"

	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/spaces"
)

// A builder makes the snapshots that are searched, in one goroutine: the
// catalog, the vectors and the parameters send it what has changed. Changes
// that come while it builds become one snapshot.
type builder struct {
	asked    chan struct{}
	stop     chan struct{}
	done     chan struct{}
	watchers watchers

	// What every snapshot is made with.
	threshold    int
	queryTimeout time.Duration
	wordsOnly    string

	mu      sync.Mutex       // guards the fields below
	next    *snapshot.Corpus // a state of the catalog that is not shown yet
	params  Params
	changed bool            // params are not shown yet
	waiting []chan struct{} // closed when what is here is shown
	ended   bool
}

func newBuilder(o *Options) *builder {
	b := &builder{
		asked: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		threshold: o.HNSWThreshold, queryTimeout: o.QueryTimeout, wordsOnly: o.WordsOnly, params: DefaultParams(),
	}
	if o.Params != nil {
		b.params = *o.Params
	}
	return b
}

// show has a state of the catalog searched; shown is closed when it is.
func (b *builder) show(c snapshot.Corpus) (shown <-chan struct{}) {
	return b.ask(func() { b.next = &c })
}

// SetParams has searches rank otherwise; shown is closed when they do.
func (b *builder) setParams(p Params) (shown <-chan struct{}) {
	return b.ask(func() { b.params, b.changed = p, true })
}

// Refresh has the vectors searched that are there by now.
func (b *builder) Refresh() { wake(b.asked) }

// Sync waits until what was asked for before is searched.
func (b *builder) Sync() { <-b.ask(func() {}) }

func (b *builder) ask(change func()) <-chan struct{} {
	shown := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	if b.ended { // nobody searches what an index that is closed would show
		close(shown)
		return shown
	}
	b.waiting = append(b.waiting, shown)
	wake(b.asked)
	return shown
}

// run makes snapshots until end.
func (b *builder) run(es *spaces.Spaces) {
	defer close(b.done)
	for {
		select {
		case <-b.stop:
			return
		case <-b.asked:
		}
		b.mu.Lock()
		next, params, changed, waiting := b.next, b.params, b.changed, b.waiting
		b.next, b.changed, b.waiting = nil, false, nil
		b.mu.Unlock()
		switch {
		case next != nil:
			next.Params, next.Threshold, next.QueryTimeout, next.WordsOnly = params, b.threshold, b.queryTimeout, b.wordsOnly
			es.Show(snapshot.New(*next))
			b.watchers.tell()
		case changed:
			es.SetParams(params)
		}
		es.Refresh()
		for _, shown := range waiting {
			close(shown)
		}
	}
}

// end stops making snapshots. Nobody waits for one any more.
func (b *builder) end() {
	close(b.stop)
	<-b.done
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	for _, shown := range b.waiting {
		close(shown)
	}
	b.waiting = nil
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake
	}
}
