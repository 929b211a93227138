package audit

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Options configure Open. The zero value works.
type Options struct {
	Keep     time.Duration // how long files are kept; 0 means DefaultKeep
	MaxBytes int64         // of a file; 0 means DefaultMaxBytes
	Logger   *slog.Logger  // nil discards
}

// A Log writes events. Its methods are safe for concurrent use.
type Log struct {
	folder string
	key    key
	o      Options
	queue  chan entry
	done   chan struct{} // closed when the last event is written

	mu   sync.RWMutex // guards over, and queue against being closed while it is sent to
	over bool         // the queue is closed

	state struct {
		sync.Mutex       // guards the fields below
		missed     int   // events that are not written, since the last that was
		err        error // why
	}
	file *file // of the writing goroutine; nil until the first event
}

// An entry is an event that waits to be written.
type entry struct {
	event Event
	done  chan error // takes one value when the event is synced; nil is not told
}

// Open returns a log that writes in the folder, which is made if need be. Its
// file begins with the first event.
func Open(folder string, o Options) (*Log, error) {
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	k, err := openKey(folder)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l := &Log{folder: folder, key: k, o: o, queue: make(chan entry, waiting), done: make(chan struct{})}
	go l.run()
	return l, nil
}

// Add has an event written soon. It never waits: when the disk is so slow
// that too many do, the event is lost, which is counted and written.
func (l *Log) Add(e Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.over {
		return
	}
	select {
	case l.queue <- entry{event: e}:
	default:
		l.miss(1, fmt.Errorf("%d events wait to be written", waiting))
	}
}

// Sync writes an event and returns when it is on disk. When ctx ends first it
// may be written nevertheless.
func (l *Log) Sync(ctx context.Context, e Event) error {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	x := entry{event: e, done: make(chan error, 1)}
	if err := l.enqueue(ctx, x); err != nil {
		return err
	}
	select {
	case err := <-x.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Log) enqueue(ctx context.Context, x entry) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.over {
		return ErrClosed
	}
	select {
	case l.queue <- x:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close writes what waits and ends the file.
func (l *Log) Close() error {
	l.mu.Lock()
	if !l.over {
		l.over = true
		close(l.queue)
	}
	l.mu.Unlock()
	<-l.done
	return l.Problem()
}

// Problem is why events are not written; nil while they are.
func (l *Log) Problem() error {
	l.state.Lock()
	defer l.state.Unlock()
	if l.state.missed == 0 {
		return nil
	}
	return fmt.Errorf("audit %s: %d events are lost: %w", l.folder, l.state.missed, l.state.err)
}

// miss counts events that are lost, and logs the first.
func (l *Log) miss(n int, err error) {
	l.state.Lock()
	defer l.state.Unlock()
	if l.state.missed == 0 {
		l.o.Logger.Error("events are not audited", "folder", l.folder, "error", err)
	}
	l.state.missed, l.state.err = l.state.missed+n, err
}

// run writes events until the queue is closed. What was written is synced at
// once when somebody waits for it, else within Delay.
func (l *Log) run() {
	defer close(l.done)
	var due <-chan time.Time // nil: all is synced
	for {
		select {
		case x, ok := <-l.queue:
			if !ok {
				l.end()
				return
			}
			if l.batch(x) {
				due = nil
			} else if due == nil {
				due = time.After(Delay)
			}
		case <-due:
			due = nil
			l.sync()
		}
	}
}

// batch writes x and what else waits. It says whether all is synced.
func (l *Log) batch(x entry) (synced bool) {
	batch := []entry{x}
	for more := true; more && len(batch) < waiting; {
		select {
		case x, ok := <-l.queue:
			if more = ok; ok {
				batch = append(batch, x)
			}
		default:
			more = false
		}
	}
	var asked []chan error
	events := make([]Event, len(batch))
	for i, x := range batch {
		events[i] = x.event
		if x.done != nil {
			asked = append(asked, x.done)
		}
	}
	err := l.write(events)
	if err == nil && len(asked) > 0 {
		err = l.sync()
	}
	for _, done := range asked {
		done <- err
	}
	return len(asked) > 0
}

// write appends events to the file, to the next one when it is full.
func (l *Log) write(events []Event) (err error) {
	defer func() {
		if err != nil {
			l.miss(len(events), err)
		}
	}()
	now := time.Now()
	if x := l.file; x != nil && (x.size >= l.o.MaxBytes || now.Sub(x.born) >= maxAge) {
		l.file = nil
		if err := x.close(now); err != nil {
			return err
		}
	}
	if l.file == nil {
		first := now
		if t := events[0].Time; t.Before(now) { // it has waited
			first = t
		}
		if l.file, err = create(l.folder, l.key, first); err != nil {
			return err
		}
		l.prune(now)
	}
	if missed := l.missed(); missed > 0 {
		if err := l.file.write(Event{Time: now, Kind: lost, Count: missed}); err != nil {
			return err
		}
		l.forget(missed)
	}
	return l.file.write(events...)
}

// prune removes old files, and writes which.
func (l *Log) prune(now time.Time) {
	gone, err := prune(l.folder, now.Add(-l.o.Keep))
	if len(gone) > 0 {
		err = l.file.write(Event{Time: now, Kind: pruned, Files: gone})
	}
	if err != nil {
		l.o.Logger.Warn("old files of the audit", "folder", l.folder, "error", err)
	}
}

func (l *Log) missed() int {
	l.state.Lock()
	defer l.state.Unlock()
	return l.state.missed
}

// forget says that the loss of events is written.
func (l *Log) forget(n int) {
	l.state.Lock()
	defer l.state.Unlock()
	l.state.missed -= n
	l.o.Logger.Warn("events are audited again", "folder", l.folder, "lost", n)
}

// sync has what was written on disk. A file that cannot be is given up: what
// the system says of it afterwards means nothing.
func (l *Log) sync() error {
	if l.file == nil {
		return nil
	}
	err := l.file.sync()
	if err != nil {
		l.miss(1, err)
		_ = l.file.release() // the error that matters is known
		l.file = nil
	}
	return err
}

func (l *Log) end() {
	if l.file == nil {
		return
	}
	if err := l.file.close(time.Now()); err != nil {
		l.miss(1, err)
	}
}
