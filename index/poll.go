package index

import (
	"context"
	"errors"
	"time"

	"github.com/tooldex/tooldex/index/store"
)

// How often a process looks at the shared store and writes what it counted.
const (
	pollEvery     = 2 * time.Second
	flushEvery    = 5 * time.Second
	maintainFirst = time.Minute // not while everything else starts
	maintainEvery = time.Hour
	retryAtMost   = time.Minute // between two attempts to write a pending change
	closeWithin   = 15 * time.Second
)

// spareVectors may be stored beyond twice what the tools need.
const spareVectors = 1000

// tend keeps memory and disk together until ctx ends.
func (ix *Index) tend(ctx context.Context) {
	poll, flush := time.NewTicker(pollEvery), time.NewTicker(flushEvery)
	defer poll.Stop()
	defer flush.Stop()
	maintain := time.NewTimer(maintainFirst)
	defer maintain.Stop()
	retry := newRetry()
	settled := ix.snapshot().Generation()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ix.look:
			ix.poll(ctx)
			ix.askForLists(time.Now())
		case <-poll.C:
			ix.poll(ctx)
			ix.askForLists(time.Now())
			if retry.due() {
				retry.done(ix.writePending(ctx))
			}
			if g := ix.snapshot().Generation(); g == settled {
				ix.save(savedShare)
				ix.collect(ctx, spareVectors+int64(len(ix.snapshot().Docs())))
			} else {
				settled = g
			}
		case <-flush.C:
			ix.flush(ctx)
		case <-maintain.C:
			ix.maintain(ctx)
			maintain.Reset(maintainEvery)
		}
	}
}

// save writes what is derived if one part in share of it is not saved; that
// it cannot be written costs time only.
func (ix *Index) save(share int) {
	if err := ix.saveDerived(share); err != nil {
		ix.folder.Log.Warn("the next start takes longer", "error", err)
	}
}

// A retry spaces attempts that fail.
type retry struct {
	wait time.Duration
	at   time.Time
}

func newRetry() *retry { return &retry{wait: pollEvery} }

func (r *retry) due() bool { return !time.Now().Before(r.at) }

func (r *retry) done(ok bool) {
	if ok {
		r.wait = pollEvery
		return
	}
	r.at = time.Now().Add(r.wait)
	r.wait = min(2*r.wait, retryAtMost)
}

// writePending stores the changes that wait, and says whether none is left.
func (ix *Index) writePending(ctx context.Context) bool {
	ix.mu.Lock()
	names := ix.pending()
	ix.mu.Unlock()
	if len(names) == 0 {
		return true
	}
	return ix.write(ctx, names, nil) == nil
}

// poll takes over what other processes have changed. A store that is locked
// or cannot be read is looked at again the next time.
func (ix *Index) poll(ctx context.Context) {
	c, err := ix.folder.Store.Counters(ctx)
	ix.mu.Lock()
	before := ix.counters
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrBusy) {
		_ = ix.fail(err) // it is remembered and logged there
	}
	ix.mu.Unlock()
	if err == nil && c.File != before.File && before.File != 0 {
		if c, err = ix.restore(ctx); err == nil && ix.folder.Store.Made(c.File) {
			err = ix.phrases.storeAgain(ctx)
		}
	}
	if err != nil || c == before {
		return
	}
	if c.File != before.File || c.Generation != before.Generation {
		err = ix.reload(ctx, false)
	}
	if c.Phrased != before.Phrased || c.File != before.File {
		ix.phrases.reload(ctx)
	}
	if c.Recorded != before.Recorded || c.File != before.File {
		ix.reloadMetrics(ctx)
	}
	if err == nil {
		ix.mu.Lock()
		ix.counters = c
		ix.mu.Unlock()
	}
}

// maintain tells the store what is in use and lets it forget the rest.
func (ix *Index) maintain(ctx context.Context) {
	ix.mu.Lock()
	readOnly := ix.folder.ReadOnly()
	spaces, used := ix.embeddings.InUse()
	use := store.InUse{Servers: map[store.Key]bool{}, Spaces: spaces}
	for key := range ix.folder.Ours() {
		use.Servers[key] = true
	}
	for _, sv := range ix.servers {
		use.Servers[sv.key] = true
	}
	ix.mu.Unlock()
	if readOnly {
		return
	}
	touched := make(map[store.Key]time.Time, len(use.Servers))
	for key := range use.Servers {
		touched[key] = time.Time{}
	}
	now := time.Now()
	err := errors.Join(ix.folder.Store.Touch(ctx, now, touched), ix.folder.Store.UseSpaces(ctx, used), ix.folder.Store.Maintain(ctx, now, use))
	if err != nil && ctx.Err() == nil {
		ix.folder.Log.Warn("store maintenance", "error", err)
	}
	ix.collect(ctx, 0)
	ix.embeddings.AgeFiles(now)
}

// finish writes what is pending when the index closes.
func (ix *Index) finish() error {
	ix.mu.Lock()
	readOnly := ix.folder.ReadOnly()
	names := ix.pending()
	ix.mu.Unlock()
	if readOnly {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	var err error
	if len(names) > 0 {
		err = ix.write(ctx, names, nil)
	}
	ix.save(closeShare)
	ix.collect(ctx, 1)
	return errors.Join(err, ix.flush(ctx))
}

// collect forgets what the store has too much of, and gives the space back,
// once least vectors were stored since the last time.
func (ix *Index) collect(ctx context.Context, least int64) {
	if ix.folder.ReadOnly() || !ix.embeddings.TakeStored(least) {
		return
	}
	_, err := ix.folder.Store.Collect(ctx, spareVectors, ix.snapshot().Spoken())
	if err == nil {
		_, err = ix.folder.Store.Compact(ctx)
	}
	if err != nil && ctx.Err() == nil {
		ix.folder.Log.Warn("the store keeps more than it needs", "error", err)
	}
}
