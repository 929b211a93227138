package learn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
)

// catalog is an index in memory of two tools, with their ids.
func catalog(t *testing.T, o ...index.Options) (ix *index.Index, send, purge index.Hit) {
	t.Helper()
	ix, err := index.Open("", append(o, index.Options{})[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	var tools []index.Tool
	for _, raw := range []string{`{"name":"dispatch_message"}`, `{"name":"purge"}`} {
		tl, err := index.Decode("post", json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tl)
	}
	if _, err := ix.Replace(t.Context(), "post", tools); err != nil {
		t.Fatal(err)
	}
	return ix, ix.Resolve("post/dispatch_message", nil)[0], ix.Resolve("post/purge", nil)[0]
}

func learned(t *testing.T, ix *index.Index, h index.Hit) string {
	t.Helper()
	p, _ := ix.Phrases().Of(h.ID)
	s := ""
	for _, q := range p.Phrases {
		s += fmt.Sprintf("%s ×%d %s. ", q.Text, q.Count, q.Source)
	}
	return s
}

// A query teaches the tool that was executed after it in its session, once a
// search, within the window; nothing else does.
func TestLearner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ix, send, purge := catalog(t)
		l := New(ix.Phrases(), slog.New(slog.DiscardHandler))
		a, b := gateway.From(t.Context(), gateway.Origin{Session: "a"}), gateway.From(t.Context(), gateway.Origin{Session: "b"})
		found := []index.Hit{purge, send}
		l.Executed(a, send.ID) // before any search
		l.Searched(a, "shoot off an email", found)
		l.Executed(b, purge.ID) // another session
		l.Executed(t.Context(), purge.ID)
		l.Executed(a, send.ID)
		l.Executed(a, send.ID) // again, after the same search
		l.Searched(a, "Shoot off an EMAIL", found)
		l.Searched(a, "tidy up", []index.Hit{purge})
		l.Executed(a, send.ID)
		l.Searched(b, "too late", found)
		l.Searched(b, string(make([]byte, 200)), found) // no phrase
		time.Sleep(Window + time.Second)
		l.Executed(b, send.ID)
		if got := learned(t, ix, send); got != "" {
			t.Errorf("before it is handed on: %s", got)
		}
		l.Flush(t.Context())
		if got := learned(t, ix, send); got != "shoot off an email ×2 use. " {
			t.Errorf("learned %s", got)
		}
		if got := learned(t, ix, purge); got != "" {
			t.Errorf("learned for a tool that nobody executed: %s", got)
		}
	})
}

// It is handed on every hour, and when the process ends; what nobody confirms
// is forgotten.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ix, send, purge := catalog(t)
		l := New(ix.Phrases(), slog.New(slog.DiscardHandler))
		a := gateway.From(t.Context(), gateway.Origin{Session: "a"})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { l.Run(ctx); close(ended) }()
		use := func(query string, h index.Hit) {
			l.Searched(a, query, []index.Hit{h})
			l.Executed(a, h.ID)
		}
		use("shoot off an email", send)
		time.Sleep(Every + time.Second)
		if got := learned(t, ix, send); got != "shoot off an email ×1 use. " {
			t.Errorf("after an hour: %q", got)
		}
		use("tidy up", purge)
		stop()
		<-ended
		if got := learned(t, ix, purge); got != "tidy up ×1 use. " {
			t.Errorf("at the end: %q", got)
		}
		old := phrase.Phrase{Text: "long ago", Source: phrase.Use, Count: 5, Time: time.Now().Add(-91 * 24 * time.Hour)}
		if _, err := ix.Phrases().Add(t.Context(), map[string][]phrase.Phrase{send.ID: {old}}); err != nil {
			t.Fatal(err)
		}
		l.Flush(t.Context())
		if got := learned(t, ix, send); got != "shoot off an email ×1 use. " {
			t.Errorf("after 91 days: %q", got)
		}
	})
}

// Where several share what is learned, a phrase counts once three of them have
// confirmed it, however often one does; a principal without a session is known
// by its name, and nobody's is nobody's.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ix, send, purge := catalog(t, index.Options{Confirmers: 3})
		l := New(ix.Phrases(), slog.New(slog.DiscardHandler))
		use := func(o gateway.Origin) {
			ctx := gateway.From(t.Context(), o)
			l.Searched(ctx, "shoot off an email", []index.Hit{send})
			l.Executed(ctx, send.ID)
		}
		counted := func() int {
			l.Flush(t.Context())
			p, _ := ix.Phrases().Of(send.ID)
			return p.Counted
		}
		for session := range 4 {
			use(gateway.Origin{Principal: "token:a", Session: session})
		}
		use(gateway.Origin{Principal: "oidc:b"})
		if n := counted(); n != 0 {
			t.Errorf("confirmed by two, and %d count", n)
		}
		if p, _ := ix.Phrases().Of(send.ID); len(p.Phrases) != 1 || !p.Phrases[0].Waits || p.Phrases[0].Count != 5 || len(p.Phrases[0].By) != 2 {
			t.Errorf("what waits is not shown: %+v", p)
		}
		use(gateway.Origin{})
		if n := counted(); n != 0 {
			t.Errorf("nobody confirmed, and %d count", n)
		}
		use(gateway.Origin{Principal: "cert:c"})
		if n := counted(); n != 1 {
			t.Errorf("confirmed by three, and %d count", n)
		}
		l.Searched(gateway.From(t.Context(), gateway.Origin{Principal: "oidc:b"}), "tidy up", []index.Hit{purge})
		l.Executed(gateway.From(t.Context(), gateway.Origin{Principal: "token:a"}), purge.ID)
		l.Flush(t.Context())
		if got := learned(t, ix, purge); got != "" {
			t.Errorf("one searched, another executed: %s", got)
		}
	})
}

// A session that is never done is bounded, as is what waits.
func TestBounds(t *testing.T) {
	ix, send, _ := catalog(t)
	l := New(ix.Phrases(), slog.New(slog.DiscardHandler))
	for s := range mostSessions + 10 {
		ctx := gateway.From(t.Context(), gateway.Origin{Session: s})
		l.Searched(ctx, fmt.Sprint("query ", s), []index.Hit{send})
		l.Executed(ctx, send.ID)
	}
	if l.waiting != mostOfTool || len(l.pending[send.ID]) != mostOfTool || l.sessions.Len() != mostSessions {
		t.Errorf("%d wait, %d sessions", l.waiting, l.sessions.Len())
	}
	l.Flush(t.Context())
	p, _ := ix.Phrases().Of(send.ID)
	if len(p.Phrases) != phrase.MostStored || p.Counted != phrase.Most {
		t.Errorf("%d phrases, %d count", len(p.Phrases), p.Counted)
	}
}

// A full disk stores nothing.
type full struct {
	Phrases
	err error
}

func (f *full) Add(ctx context.Context, more map[string][]phrase.Phrase) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.Phrases.Add(ctx, more)
}

// What cannot be stored waits and is counted with what comes after it; what
// was learned of a tool that has gone is dropped.
func TestFailedFlush(t *testing.T) {
	ix, send, purge := catalog(t)
	disk := &full{ix.Phrases(), errors.New("no space left on device")}
	l := New(disk, slog.New(slog.DiscardHandler))
	a := gateway.From(t.Context(), gateway.Origin{Session: "a"})
	use := func(query string, h index.Hit) {
		l.Searched(a, query, []index.Hit{h})
		l.Executed(a, h.ID)
	}
	use("shoot off an email", send)
	use("tidy up", purge)
	gone := purge
	gone.ID = "gone"
	use("what was that", gone)
	l.Flush(t.Context())
	if got := learned(t, ix, send); got != "" || l.waiting != 2 {
		t.Errorf("nothing is stored, and 2 wait: %q, %d", got, l.waiting)
	}
	use("shoot off an email", send)
	for i := range mostOfTool + 5 {
		use(fmt.Sprint("query ", i), purge)
	}
	l.Flush(t.Context())
	if l.waiting != 1+mostOfTool || len(l.pending[purge.ID]) != mostOfTool {
		t.Errorf("%d wait, %d of one tool", l.waiting, len(l.pending[purge.ID]))
	}
	disk.err = nil
	l.Flush(t.Context())
	if got := learned(t, ix, send); got != "shoot off an email ×2 use. " || l.waiting != 0 {
		t.Errorf("after there is room again: %q, %d wait", got, l.waiting)
	}
}
