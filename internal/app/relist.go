package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway/serve/heap"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// A Relisting is what listing one server again gave.
type Relisting struct {
	Server    string   `json:"server"`
	Tools     int      `json:"tools"`
	Added     []string `json:"added"`
	Changed   []string `json:"changed"`
	Removed   []string `json:"removed"`
	Unchanged int      `json:"unchanged"`
	Warnings  []string `json:"warnings,omitempty"`
	Error     string   `json:"error,omitempty"`
	Login     bool     `json:"needs_login,omitempty"` // "tooldex auth login" mends the error
}

// listings collect what the servers' lists changed. While serving, which has
// no end, they are not kept.
type listings struct {
	serving bool

	mu    sync.Mutex // guards the fields below
	diffs map[string]index.Diff
	errs  map[string]error
}

func newListings(serving bool) *listings {
	return &listings{serving: serving, diffs: map[string]index.Diff{}, errs: map[string]error{}}
}

// add adds one listing; a server may list twice, at its start and on request.
func (l *listings) add(server string, d index.Diff, err error) {
	if l.serving {
		if err == nil && len(d.Added)+len(d.Changed)+len(d.Removed) > 0 {
			heap.Tune() // a changed catalog moves the limit
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.diffs[server]
	sum.Added = append(sum.Added, d.Added...)
	sum.Changed = append(sum.Changed, d.Changed...)
	sum.Removed = append(sum.Removed, d.Removed...)
	sum.Warnings = d.Warnings
	l.diffs[server], l.errs[server] = sum, err
}

// of is what is collected of one server, whose last listing gave err.
func (l *listings) of(server string, tools int, err error) Relisting {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.diffs[server]
	if err == nil {
		err = l.errs[server]
	}
	r := Relisting{
		Server: server, Tools: tools, Warnings: d.Warnings,
		// Never null in JSON.
		Added: append([]string{}, d.Added...), Changed: append([]string{}, d.Changed...), Removed: append([]string{}, d.Removed...),
	}
	r.Unchanged = max(0, tools-len(d.Added)-len(d.Changed))
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// Relist runs the servers while those that are named list their tools: see
// List.
func (e *Engine) Relist(ctx context.Context, names []string, timeout time.Duration, tick func(done int)) (rows []Relisting, err error) {
	err = e.Run(ctx, func(ctx context.Context) error {
		rows = e.List(ctx, names, timeout, tick)
		return ctx.Err()
	})
	return rows, err
}

// List has the servers that are named list their tools, during Run, all at
// once and each within timeout, and returns a row for each in that order. A
// server that fails is a row too. tick, if it is not nil, is told how many are
// done, one call at a time. While serving the rows do not say what changed.
func (e *Engine) List(ctx context.Context, names []string, timeout time.Duration, tick func(done int)) []Relisting {
	rows := make([]Relisting, len(names))
	var wg sync.WaitGroup
	var mu sync.Mutex // guards done
	done := 0
	for i, name := range names {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			l, err := e.Servers.Refresh(ctx, name)
			rows[i] = e.listings.of(name, len(l.Tools), e.withReason(name, err))
			rows[i].Login = errors.Is(err, upstream.ErrNeedsLogin)
			mu.Lock()
			defer mu.Unlock()
			done++
			if tick != nil {
				tick(done)
			}
		})
	}
	wg.Wait()
	return rows
}

// connectTimeout bounds the start of a server, which may download.
const connectTimeout = 2 * time.Minute

// Connect waits, during Run, until a server is connected and has listed its
// tools.
func (e *Engine) Connect(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if _, err := e.Servers.Refresh(ctx, server); err != nil {
		return errors.New(words.OfServer(server, e.withReason(server, err).Error()))
	}
	return nil
}

// withReason words a failure for where the server's name stands already; to
// a wait that ended it adds what the last failure was.
func (e *Engine) withReason(name string, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return errors.New(strings.TrimPrefix(err.Error(), "refresh "+name+": "))
	}
	for _, st := range e.Servers.Status() {
		if st.Name == name && st.Error != "" {
			return fmt.Errorf("no answer in time; last: %s", st.Error)
		}
	}
	return errors.New("no answer in time")
}

// briefly is how long Embed waits for the built-in model. It takes
// microseconds a tool; while others change the catalog without a pause there
// is no end to wait for.
const briefly = 10 * time.Second

// Embed waits until every tool has its vector and tells tick, a few times a
// second, what is missing. Unless toTheEnd it gives up after a while, which is
// no error.
func (e *Engine) Embed(ctx context.Context, toTheEnd bool, tick func(model string, done, total int)) error {
	return embedAll(ctx, e.Index, toTheEnd, tick)
}

// A waiter makes vectors in the background.
type waiter interface {
	Wait(ctx context.Context) error
	Status() index.Status
}

func embedAll(ctx context.Context, ix waiter, toTheEnd bool, tick func(model string, done, total int)) error {
	if !toTheEnd {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, briefly)
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- ix.Wait(ctx) }()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			if err == nil || !toTheEnd && errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return fmt.Errorf("embed tools: %w", err)
		case <-ticker.C:
			for _, m := range ix.Status().Models {
				if m.Vectors < m.Wanted {
					tick(m.Model, m.Vectors, m.Wanted)
				}
			}
		}
	}
}
