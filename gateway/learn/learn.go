// Package learn makes phrases of what callers do: the query of a search that
// is followed, in the same session and within [Window], by a successful
// execution of one of its rows is what somebody says who needs that tool. Where
// there is no session, the same principal takes its place.
//
// A [Learner] keeps what it sees in memory and hands it on in batches, so that
// the index changes seldom; what was not handed on when the process is killed
// is lost. It stores what people asked for: it is off unless an operator
// turns it on.
package learn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
)

const (
	// Window is how long after a search an execution belongs to it.
	Window = 10 * time.Minute
	// Every is how often what was learned is handed on.
	Every = time.Hour

	mostSessions = 1000 // that are remembered
	mostSearches = 8    // of one session
	mostRows     = 10   // of one search
	mostPending  = 5000 // phrases that wait to be handed on
	mostOfTool   = 50   // of these
)

// Phrases take what was learned. [index.Phrases] are such.
type Phrases interface {
	Add(ctx context.Context, more map[string][]phrase.Phrase) (added int, err error)
	Remove(ctx context.Context, match func(phrase.Phrase) bool, ids ...string) (removed int, err error)
	Of(id string) (index.ToolPhrases, bool)
}

var _ Phrases = (*index.Phrases)(nil)

// A Learner watches searches and executions. It is safe for concurrent use.
type Learner struct {
	phrases Phrases
	log     *slog.Logger

	mu       sync.Mutex // guards the fields below
	sessions *lru.Cache[caller, *[]search]
	pending  map[string][]phrase.Phrase // by id of the tool
	waiting  int                        // how many these are
}

// A search is a query with the tools that it found.
type search struct {
	query string
	at    time.Time
	rows  []string // ids, without those that were executed since
}

// New makes a learner that hands on to phrases.
func New(phrases Phrases, log *slog.Logger) *Learner {
	sessions, err := lru.New[caller, *[]search](mostSessions)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Learner{phrases: phrases, log: log, sessions: sessions, pending: map[string][]phrase.Phrase{}}
}

// Searched takes note of what a session searched for. A query that is too
// long for a phrase, or none, teaches nothing.
func (l *Learner) Searched(ctx context.Context, query string, found []index.Hit) {
	from := callerOf(ctx)
	text, err := phrase.Clean(query)
	if from == (caller{}) || err != nil || len(found) == 0 {
		return
	}
	s := search{query: text, at: time.Now()}
	for _, h := range found[:min(len(found), mostRows)] {
		s.rows = append(s.rows, h.ID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all, ok := l.sessions.Get(from)
	if !ok {
		all = new([]search)
		l.sessions.Add(from, all)
	}
	*all = append(*all, s)
	*all = slices.Delete(*all, 0, max(0, len(*all)-mostSearches))
}

// Executed takes note of a tool that a session has executed with success. It
// belongs to the last search that found it, once.
func (l *Learner) Executed(ctx context.Context, id string) {
	from := callerOf(ctx)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	all, ok := l.sessions.Get(from)
	if !ok {
		return
	}
	for i := len(*all) - 1; i >= 0; i-- {
		s := &(*all)[i]
		if now.Sub(s.at) > Window {
			return
		}
		if at := slices.Index(s.rows, id); at >= 0 {
			s.rows = slices.Delete(s.rows, at, at+1)
			l.keep(id, phrase.Phrase{Text: s.query, Source: phrase.Use, Count: 1, Time: now.UTC().Truncate(time.Second), By: []string{hash(from.principal)}})
			return
		}
	}
}

// A caller is whose searches and executions belong together: a session, or a
// principal without one. Nobody's do where neither is known.
type caller struct {
	principal string // "" is the operator
	session   any
}

func callerOf(ctx context.Context) caller {
	o := gateway.OriginOf(ctx)
	return caller{o.Principal, o.Session}
}

// hash is what is stored of a principal, to count how many there were.
func hash(principal string) string {
	sum := sha256.Sum256([]byte(principal))
	return hex.EncodeToString(sum[:8])
}

// keep adds uses to those that wait. The caller holds mu.
func (l *Learner) keep(id string, p phrase.Phrase) {
	for i, q := range l.pending[id] {
		if phrase.Key(q.Text) == phrase.Key(p.Text) {
			l.pending[id][i] = phrase.Confirmed(q, p)
			return
		}
	}
	if l.waiting < mostPending && len(l.pending[id]) < mostOfTool {
		l.pending[id] = append(l.pending[id], p)
		l.waiting++
	}
}

// Run hands on what was learned, every hour and when ctx ends.
func (l *Learner) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.Flush(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			l.Flush(last)
			return
		}
	}
}

// Flush hands on what was learned, and forgets phrases of use that nobody has
// confirmed for too long. What cannot be stored waits for the next time, as
// far as there is room for it, unless its tool is gone.
func (l *Learner) Flush(ctx context.Context) {
	l.mu.Lock()
	batch := l.pending
	l.pending, l.waiting = map[string][]phrase.Phrase{}, 0
	l.mu.Unlock()
	for id, list := range batch {
		if _, err := l.phrases.Add(ctx, map[string][]phrase.Phrase{id: list}); err != nil {
			l.log.Warn("what was learned from use is not stored", "tool", id, "error", err)
			l.putBack(id, list)
		}
	}
	now := time.Now()
	if _, err := l.phrases.Remove(ctx, func(p phrase.Phrase) bool { return p.Expired(now) }); err != nil {
		l.log.Warn("old phrases of use are not forgotten", "error", err)
	}
}

// putBack lets what could not be stored wait, unless the tool is gone: then
// nothing will ever store it.
func (l *Learner) putBack(id string, list []phrase.Phrase) {
	if _, there := l.phrases.Of(id); !there {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range list {
		l.keep(id, p)
	}
}
