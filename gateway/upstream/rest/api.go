package rest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/queue"
	"github.com/tooldex/tooldex/gateway/upstream/rest/call"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
	"github.com/tooldex/tooldex/gateway/upstream/rest/web"
	"github.com/tooldex/tooldex/gateway/upstream/secret"
)

// longestPause is the longest between two attempts to read a document.
const longestPause = 15 * time.Minute

// An api is one REST API: its document is read by run, or by the first call.
type api struct {
	spec    Spec
	o       Options
	log     *slog.Logger
	mask    mask.Masker
	auth    *call.Authenticator
	login   *login.Source   // nil for none
	clients [2]*http.Client // for public addresses, and for all
	calls   *queue.Queue    // those under way, and those that wait for a place
	loading chan struct{}
	leaving atomic.Bool // another has its name: its tools are dropped

	mu    sync.Mutex // guards the fields below
	have  *loaded    // nil before the document was read
	shown upstream.Status
}

// loaded is what a document gave. It does not change: calls go on with the one
// that they began with.
type loaded struct {
	operations map[string]*openapi.Operation
	base       string
	trusted    bool // base is the operator's word, who may mean a private address
}

func newAPI(sp Spec, o Options) *api {
	secrets := mask.New(sp.Headers, nil, sp.Document)
	a := &api{
		spec: sp, o: o, mask: secrets, log: secrets.Log(o.Logger.With("server", sp.Name)),
		clients: [2]*http.Client{web.Client(false), web.Client(true)},
		calls:   upstream.NewQueue(sp.Concurrency, sp.Queue), loading: make(chan struct{}, 1),
		shown: upstream.Status{Name: sp.Name, State: upstream.Idle, Why: "not needed yet", Since: time.Now(), Transport: "rest"},
	}
	a.auth = &call.Authenticator{Auth: sp.Auth, Client: a.client(sp.Auth.Credentials.TokenURL, true), Secrets: &secret.Resolver{}}
	if t := sp.Login.Type; t != "" && t != login.None {
		a.login = login.New(login.Options{Server: sp.Name, URL: sp.Where(), API: true, Config: sp.Login, Store: o.Logins, Secrets: a.auth.Secrets, Mask: secrets})
	}
	if sp.Disabled != "" {
		a.shown.State, a.shown.Why, a.shown.Error = upstream.Disabled, sp.Disabled, sp.Disabled
	}
	return a
}

// client is the one that may reach an address: a private one when that is
// allowed, or when the operator wrote it.
func (a *api) client(address string, trusted bool) *http.Client {
	u, err := url.Parse(address)
	if a.spec.AllowPrivate || err == nil && trusted && web.NamesPrivate(u.Hostname()) {
		return a.clients[1]
	}
	return a.clients[0]
}

// Entry implements [supervise.Child].
func (a *api) Entry() Spec { return a.spec }

// Leave implements [supervise.Child]: calls under way need no other.
func (a *api) Leave(context.Context) func() {
	a.leaving.Store(true)
	return nil
}

// Run reads the document when it is due until ctx ends.
func (a *api) Run(ctx context.Context) {
	defer func() {
		for _, c := range a.clients {
			c.CloseIdleConnections()
		}
	}()
	if a.spec.Disabled != "" {
		return
	}
	tools, listed := a.o.Stored(a.spec.Name)
	a.change(func(st *upstream.Status) {
		if st.Listed.IsZero() {
			st.Tools, st.Listed = tools, listed
		}
	})
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = 5*time.Second, 2, longestPause
	for ctx.Err() == nil {
		due := time.Until(a.status().Listed.Add(a.spec.refresh()))
		if due <= 0 {
			if _, err := a.load(ctx); err != nil && ctx.Err() == nil {
				due = pauses.NextBackOff()
				a.log.Warn("tools not made", "error", err, "retry", due.Round(time.Millisecond))
				a.change(func(st *upstream.Status) { st.NextTry = time.Now().Add(due) })
			} else {
				pauses.Reset()
				due = a.spec.refresh()
			}
		}
		timer := time.NewTimer(due)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (a *api) change(f func(st *upstream.Status)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.shown.State
	f(&a.shown)
	if a.shown.State != before {
		a.shown.Since = time.Now()
	}
}

func (a *api) status() upstream.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := a.shown
	st.InFlight, st.Warnings = a.calls.Taken(), slices.Clone(a.shown.Warnings)
	return st
}

// load reads the document and hands its tools on, one load at a time.
func (a *api) load(ctx context.Context) (upstream.Listing, error) {
	if a.spec.Disabled != "" {
		return upstream.Listing{}, fmt.Errorf("%w: %s", upstream.ErrDisabled, a.spec.Disabled)
	}
	select {
	case a.loading <- struct{}{}:
		defer func() { <-a.loading }()
	case <-ctx.Done():
		return upstream.Listing{}, context.Cause(ctx)
	}
	a.change(func(st *upstream.Status) {
		if st.State != upstream.Ready && st.State != upstream.NeedsLogin {
			st.State, st.Why = upstream.Connecting, "reading its document"
		}
	})
	have, d, l, err := a.make(ctx)
	if err != nil {
		err = a.mask.Error(err)
		a.change(func(st *upstream.Status) {
			st.Error, st.Failed = err.Error(), true
			if st.State == upstream.Connecting {
				st.State, st.Why = upstream.Backoff, err.Error()
			}
		})
		return l, err
	}
	if a.leaving.Load() {
		return l, upstream.ErrStopped
	}
	a.mu.Lock()
	a.have = have
	a.mu.Unlock()
	a.o.OnList(ctx, a.spec.Name, l)
	again := a.loggedIn()
	a.change(func(st *upstream.Status) {
		if st.State != upstream.NeedsLogin || again {
			st.State, st.Why = upstream.Ready, ""
		}
		st.Error, st.Failed, st.NextTry = "", false, time.Time{}
		st.Protocol, st.Server, st.Tools, st.Listed, st.Warnings = protocol(d), d.Title, len(l.Tools), time.Now(), l.Warnings
	})
	a.log.Info("tools made", "operations", len(l.Tools), "skipped", len(d.Skipped), "warnings", len(d.Warnings))
	return l, nil
}

// loggedIn reports that somebody has logged in, maybe since the API refused a
// request: whoever logs in has its servers listed again.
func (a *api) loggedIn() bool {
	if a.login == nil {
		return false
	}
	l, err := a.login.Kept()
	return err == nil && l != nil && l.Holds()
}

func protocol(d *openapi.Document) string {
	switch {
	case d.Version == "":
		return ""
	case d.Version[0] == '2':
		return "Swagger " + d.Version
	}
	return "OpenAPI " + d.Version
}

// maxWarnings bounds what is said of one document.
const maxWarnings = 50

// make reads the document and adds the single requests, which win over
// operations of their name.
func (a *api) make(ctx context.Context) (*loaded, *openapi.Document, upstream.Listing, error) {
	d := &openapi.Document{}
	have := &loaded{operations: map[string]*openapi.Operation{}, trusted: a.spec.BaseURL != "" || !isAddress(a.spec.Document)}
	if a.spec.Document != "" {
		o := a.spec.Origin
		o.Given = a.spec.Auth.Given()
		var err error
		if d, err = Read(ctx, o); err != nil {
			return nil, nil, upstream.Listing{}, err
		}
		have.base = d.Base
		have.trusted = have.trusted || hostOf(d.Base) == hostOf(a.spec.Document)
	}
	l := upstream.Listing{Instructions: d.About}
	singles := map[string]bool{}
	for _, s := range a.spec.Singles {
		op, err := s.Operation()
		if err != nil {
			return nil, nil, upstream.Listing{}, fmt.Errorf("tools.%s: %w", s.Name, err)
		}
		singles[op.Name], have.operations[op.Name] = true, &op
		l.Tools = append(l.Tools, op.Tool)
	}
	for i := range d.Operations {
		op := &d.Operations[i]
		if singles[op.Name] {
			continue
		}
		l.Tools = append(l.Tools, op.Tool)
		op.Tool = nil // it is in the catalog from here on
		have.operations[op.Name] = op
	}
	l.Warnings = warnings(d)
	return have, d, l, nil
}

func warnings(d *openapi.Document) []string {
	var all []string
	for _, s := range d.Skipped {
		all = append(all, s.Operation+" makes no tool: "+s.Why)
	}
	all = append(all, d.Warnings...)
	if n := len(all) - maxWarnings; n > 0 {
		all = append(all[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more: see tooldex rest check", n))
	}
	return all
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// operation finds what a tool's name stands for, in a document that is read
// now if it was not.
func (a *api) operation(ctx context.Context, tool string) (*loaded, *openapi.Operation, error) {
	a.mu.Lock()
	have := a.have
	a.mu.Unlock()
	if have == nil {
		if _, err := a.load(ctx); err != nil {
			return nil, nil, err
		}
		a.mu.Lock()
		have = a.have
		a.mu.Unlock()
	}
	return have, have.operations[tool], nil
}
