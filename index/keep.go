package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/index/catalog"
	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/folder"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/spaces"
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

// A keeper keeps memory and disk together.
type keeper struct {
	folder  *folder.Folder
	catalog *catalog.Catalog
	spaces  *spaces.Spaces
	current *atomic.Pointer[snapshot.Snapshot]
}

// tend looks, writes and tidies up until ctx ends.
func (k *keeper) tend(ctx context.Context) {
	poll, flush := time.NewTicker(pollEvery), time.NewTicker(flushEvery)
	defer poll.Stop()
	defer flush.Stop()
	maintain := time.NewTimer(maintainFirst)
	defer maintain.Stop()
	retry := newRetry()
	settled := k.current.Load().Generation()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.catalog.Look():
			k.catalog.Poll(ctx)
			k.catalog.AskForLists(time.Now())
		case <-poll.C:
			k.catalog.Poll(ctx)
			k.catalog.AskForLists(time.Now())
			if retry.due() {
				retry.done(k.catalog.WritePending(ctx) == nil)
			}
			if g := k.current.Load().Generation(); g == settled {
				k.save(savedShare)
				k.collect(ctx, spareVectors+int64(len(k.current.Load().Docs())))
			} else {
				settled = g
			}
		case <-flush.C:
			_ = k.catalog.Flush(ctx) // it is remembered and logged there, and tried again
		case <-maintain.C:
			k.maintain(ctx)
			maintain.Reset(maintainEvery)
		}
	}
}

// save writes what is derived if one part in share of it is not saved; that
// it cannot be written costs time only.
func (k *keeper) save(share int) {
	if err := k.saveDerived(share); err != nil {
		k.folder.Log.Warn("the next start takes longer", "error", err)
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

// maintain tells the store what is in use and lets it forget the rest.
func (k *keeper) maintain(ctx context.Context) {
	if k.folder.ReadOnly() {
		return
	}
	inUse, used := k.spaces.InUse()
	use := store.InUse{Servers: k.catalog.InUse(), Spaces: inUse}
	touched := make(map[store.Key]time.Time, len(use.Servers))
	for key := range use.Servers {
		touched[key] = time.Time{}
	}
	now := time.Now()
	err := errors.Join(k.folder.Store.Touch(ctx, now, touched), k.folder.Store.UseSpaces(ctx, used), k.folder.Store.Maintain(ctx, now, use))
	if err != nil && ctx.Err() == nil {
		k.folder.Log.Warn("store maintenance", "error", err)
	}
	k.collect(ctx, 0)
	k.spaces.AgeFiles(now)
}

// finish writes what is pending when the index closes.
func (k *keeper) finish() error {
	if k.folder.ReadOnly() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err := k.catalog.WritePending(ctx)
	k.save(closeShare)
	k.collect(ctx, 1)
	return errors.Join(err, k.catalog.Flush(ctx))
}

// collect forgets what the store has too much of, and gives the space back,
// once least vectors were stored since the last time.
func (k *keeper) collect(ctx context.Context, least int64) {
	if k.folder.ReadOnly() || !k.spaces.TakeStored(least) {
		return
	}
	_, err := k.folder.Store.Collect(ctx, spareVectors, k.current.Load().Spoken())
	if err == nil {
		_, err = k.folder.Store.Compact(ctx)
	}
	if err != nil && ctx.Err() == nil {
		k.folder.Log.Warn("the store keeps more than it needs", "error", err)
	}
}

// When the file is written: opening one costs the more the less it has.
const (
	savedShare = 20  // one tool in so many is not in it
	closeShare = 100 // the same when the index closes, which cannot happen often
)

// saveDerived writes the file of what is derived if one tool or vector in
// share is not in it. While another process writes it, it waits for the next
// time.
func (k *keeper) saveDerived(share int) error {
	if k.folder.ReadOnly() || !k.dueToSave(share) {
		return nil
	}
	unlock, err := store.TryLock(k.folder.Dir, "derived.lock")
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	d := k.catalog.Draft()
	d.Models = k.spaces.Draft()
	if err := derived.Write(k.folder.DerivedPath(), d); err != nil {
		return fmt.Errorf("write what is derived: %w", err)
	}
	return nil
}

// readDerived reads the file; that it cannot be read costs time only.
func (k *keeper) readDerived() derived.State {
	d, err := derived.Read(k.folder.DerivedPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.folder.Log.Info("the catalog is derived anew", "file", k.folder.DerivedPath(), "error", err)
	}
	return d
}

// dueToSave says whether a new file is worth its while.
func (k *keeper) dueToSave(share int) bool {
	tools, unsaved := k.catalog.Unsaved()
	unsaved = max(unsaved, k.spaces.Unsaved())
	return unsaved > 0 && unsaved*share >= tools
}
