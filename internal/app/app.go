// Package app makes a running engine from a configuration: the embedder, the
// index over the state folder, the gateway over both, and the servers.
//
// [Open] reads the catalog of the state folder and starts nothing, which is
// all that searching needs. With [Options.Online] the servers are known too;
// they run during [Engine.Run], so that none outlives the work it was started
// for. An [Engine] is closed once, after Run has returned.
//
// Errors of Open wrap one of this package's, by which a caller says what to do
// about them.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/learn"
	"github.com/tooldex/tooldex/gateway/limit"
	"github.com/tooldex/tooldex/gateway/serve/heap"
	"github.com/tooldex/tooldex/gateway/telemetry"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app/access"
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/backup"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/logins"
)

// What keeps an engine from working, in errors that wrap these.
var (
	// ErrEmbedding reports an embedder that cannot be made as configured.
	ErrEmbedding = errors.New("embedding")
	// ErrParams reports a file of ranking parameters that cannot be used.
	ErrParams = errors.New("index.params")
	// ErrState reports a state folder that cannot be opened.
	ErrState = errors.New("state folder")
	// ErrNoTools reports a catalog without tools.
	ErrNoTools = errors.New("no tools are indexed yet")
	// ErrUnreadable reports a catalog whose tools are lost.
	ErrUnreadable = errors.New("no tools can be read")
)

// relistTimeout bounds a listing that nobody waits for.
const relistTimeout = 2 * time.Minute

// Options say what of an engine is needed. The zero value searches.
type Options struct {
	Version  string       // of this program
	Logger   *slog.Logger // nil discards
	Online   bool         // with the servers; they run during Run
	Writing  bool         // the catalog takes changes, without any server
	Managing bool         // its endpoints are changed, which is audited
	Serving  bool         // for long: the index logs, lost tools are listed again, the collector is tuned
	Servers  []string     // only these servers; nil means all
	Logins   string       // state folder with the logins; "" means that of the configuration

	// Calls runs the tools, in place of servers of its own; nil runs none.
	Calls gateway.Caller
	// OnCall is told of calls as they are answered, of meta-tools and those that
	// other processes make, from several goroutines; nil means nobody.
	OnCall func(what string, isError bool, took time.Duration)
	// Load reads the configuration again, whose servers then change while they
	// run; nil leaves them as they are.
	Load func() (*config.Config, error)
	// Claimed is where other processes ask for the servers of this one: see
	// Claim. Open takes it over.
	Claimed *attach.Listener
}

// An Engine is a catalog that can be searched and, when it is online, tools
// that can be run. It is safe for concurrent use.
type Engine struct {
	Config  *config.Config
	Index   *index.Index
	Gateway *gateway.Gateway
	Servers *Upstreams // nil unless Options.Online

	log           *slog.Logger
	version       string
	live          *live
	claimed       *attach.Listener // until it is shared
	sharing       *sharing
	endpoints     *endpoints
	made          *made // nil without a state folder
	Access        *access.Access
	learner       *learn.Learner    // nil unless it learns from use
	auto          *auto             // nil unless a model writes phrases of what is listed
	audit         *audit.Log        // nil unless it is kept
	tracer        *telemetry.Tracer // nil unless a collector is told
	limits        *limit.Limiter
	listings      *listings // of the servers, while they run
	onCall        func(what string, isError bool, took time.Duration)
	closeEmbedder func() error
	release       func() // the state folder

	closing   context.Context // done when Close is called
	stop      context.CancelFunc
	relisting sync.WaitGroup // what Close waits for
}

// Open opens what o asks for of the state folder that cfg names.
func Open(cfg *config.Config, o Options) (*Engine, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{Config: cfg, log: o.Logger, version: o.Version, live: newLive(cfg, o.Load), claimed: o.Claimed, limits: limit.New(cfg.Limits)}
	e.sharing = &sharing{e: e, moved: make(chan struct{}, 1)}
	e.closing, e.stop = context.WithCancel(context.Background())
	if err := e.open(o); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if o.Serving {
		e.warn()
	}
	return e, nil
}

func (e *Engine) open(o Options) error {
	e.release = func() {}
	if e.Config.State != "" && (o.Online || o.Writing || o.Managing) {
		if release, err := backup.Use(e.Config.State); err == nil { // else it is opened, or not, all the same
			e.release = release
		}
	}
	emb, closeEmbedder, err := OpenEmbedder(e.Config)
	if err != nil {
		return err
	}
	e.closeEmbedder = closeEmbedder
	fallback, err := openFallback(e.Config)
	if err != nil {
		return err
	}
	params, err := ReadParams(e.Config.Index.Params)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrParams, err)
	}
	calls := o.Calls // stays nil offline: a nil *Set in it would not be
	if o.Online {
		e.listings = newListings(o.Serving)
		if e.Servers, err = e.newUpstreams(o); err != nil {
			return err
		}
		calls = e.Servers
	}
	packs, err := phrasePacks(e.Config.Phrases)
	if err != nil {
		return err
	}
	options := index.Options{
		Embedder: emb, Fallback: fallback, Sources: sources(e.Config), Params: params, Pack: packs,
		HNSWThreshold: hnswThreshold(e.Config.Index.HNSWThreshold), Offline: !o.Online && !o.Writing,
		WordsOnly: WordsOnly(e.Config), Confirmers: confirmers(e.Config.Phrases),
	}
	if o.Serving { // a short command tells what is in the index's Status
		options.Logger, options.Relist = e.log, e.relist
	}
	if e.Index, err = index.Open(e.Config.State, options); err != nil {
		return fmt.Errorf("open %w %s: %w", ErrState, e.Config.State, err)
	}
	if o.Serving && e.Config.Phrases.Learn != "off" {
		e.learner = learn.New(e.Index.Phrases(), e.log)
	}
	if o.Online || o.Calls != nil || o.Managing {
		if e.audit, err = openAudit(e.Config, e.log); err != nil {
			return err
		}
	}
	if o.Serving {
		e.auto = openAuto(e)
	}
	e.onCall = o.OnCall
	if err := e.openGateway(calls, o.Serving); err != nil {
		return err
	}
	openStored(e)
	return nil
}

// warn logs what of the configuration does not do what it seems to say.
func (e *Engine) warn() {
	for _, name := range e.Config.Broken() {
		e.log.Warn("server disabled", "server", name, "reason", e.Config.DisabledReason(name))
	}
	e.endpoints.warn()
	if len(e.Config.Foreign) > 0 {
		e.log.Info("settings of other clients mean nothing here", "settings", join(e.Config.Foreign), "file", e.Config.Path)
	}
}

// listed stores what a server listed.
func (e *Engine) listed(ctx context.Context, server string, l upstream.Listing) {
	diff, err := e.Gateway.Sync(ctx, server, l)
	if err != nil && !errors.Is(err, context.Canceled) { // nobody waits for it any more
		e.log.Error("catalog not updated", "server", server, "error", err)
	}
	e.listings.add(server, diff, err)
	if e.auto != nil && len(diff.Added)+len(diff.Changed) > 0 {
		e.auto.wake()
	}
}

// stored tells how many tools of a server are in the catalog, and when they
// were listed.
func (e *Engine) stored(server string) (tools int, listed time.Time) {
	for _, st := range e.Index.Status().Servers {
		if st.Name == server {
			return st.Tools + st.Hidden, st.Listed
		}
	}
	return 0, time.Time{}
}

// relist has a server list its tools again, in the background.
func (e *Engine) relist(server string) {
	e.relisting.Go(func() {
		ctx, cancel := context.WithTimeout(e.closing, relistTimeout)
		defer cancel()
		if _, err := e.Servers.Refresh(ctx, server); err != nil && e.closing.Err() == nil {
			e.log.Warn("a server whose tools are lost could not be listed", "server", server, "error", err)
		}
	})
}

// Run runs the servers while f does. It returns when all have stopped. The
// servers do not stop with ctx but after f, which may have calls to end.
func (e *Engine) Run(ctx context.Context, f func(context.Context) error) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- e.Servers.Run(serving) }()
	err := f(ctx)
	stop()
	return errors.Join(err, <-done)
}

// Serve runs the servers and answers clients on ln until ctx ends, and other
// processes that attach. first, if it is not nil, runs before clients on ln are
// answered, and its error is Serve's.
func (e *Engine) Serve(ctx context.Context, ln net.Listener, first func(context.Context) error) error {
	return e.serve(ctx, ln.Addr().String(), func(ctx context.Context) error {
		if first != nil {
			if err := first(ctx); err != nil {
				return errors.Join(err, ln.Close())
			}
		}
		return e.endpoints.host.Serve(ctx, ln)
	})
}

// ServeStdio runs the servers and answers one client of an endpoint over in and
// out, and other processes that attach. The client stays when the endpoint
// changes.
func (e *Engine) ServeStdio(ctx context.Context, endpoint string, in io.Reader, out io.Writer) error {
	if _, err := e.Endpoint(endpoint); err != nil {
		return err // before anything is started
	}
	return e.serve(ctx, "", func(ctx context.Context) error {
		connect := func(ctx context.Context) (io.ReadWriteCloser, error) { return e.endpoints.session(ctx, endpoint) }
		link, err := connect(ctx)
		if err != nil {
			return err
		}
		pipe := attach.Pipe{In: in, Out: out, Connect: connect, Logger: e.log}
		return pipe.Run(ctx, link)
	})
}

func (e *Engine) serve(ctx context.Context, listen string, f func(context.Context) error) error {
	heap.Tune()
	// Before the file is followed: what is served decides what it may ask for.
	e.sharing.listen, e.sharing.longer, e.sharing.began = listen, listen != "", time.Now()
	return e.Run(ctx, func(ctx context.Context) error {
		following, stop := context.WithCancel(ctx)
		var ended sync.WaitGroup
		ended.Go(func() { e.follow(following) })
		ended.Go(func() { followStored(following, e) })
		ended.Go(func() { e.Access.Run(following) })
		ended.Go(func() { logins.Follow(following, e.Servers.logins, e.Servers.Status, e.relist, e.log) })
		if e.learner != nil {
			ended.Go(func() { e.learner.Run(following) })
		}
		if e.auto != nil {
			ended.Go(func() { e.auto.run(following) })
		}
		err := e.share(ctx, f)
		stop()
		ended.Wait()
		return err
	})
}

// NeedTools is an error while the catalog is empty.
func (e *Engine) NeedTools() error {
	st := e.Index.Status()
	switch {
	case st.Tools+st.Hidden > 0:
		return nil
	case st.Problem != "":
		return fmt.Errorf("state folder %s: %w", e.Config.State, ErrUnreadable)
	}
	return fmt.Errorf("state folder %s: %w", e.Config.State, ErrNoTools)
}

// Tools are all tools of the catalog, each with its raw object.
func (e *Engine) Tools() ([]index.Tool, error) {
	hits, _ := e.Index.List(index.Listing{})
	tools := make([]index.Tool, len(hits))
	for i, h := range hits {
		raw, err := e.Index.Raw(h.ID)
		if err != nil {
			return nil, fmt.Errorf("read catalog %s: tool %s: %w", e.Config.State, h.Tool.QualifiedName(), err)
		}
		tools[i] = h.Tool
		tools[i].Raw = raw
	}
	return tools, nil
}

// Prune forgets the stored servers that the configuration does not name and
// returns their names. Disabled ones are named.
func (e *Engine) Prune(ctx context.Context) ([]string, error) {
	var keep []string
	for _, d := range e.Config.Disabled {
		keep = append(keep, d.Name)
	}
	return e.Index.Prune(ctx, keep...)
}

// Close writes what is pending and ends all background work.
func (e *Engine) Close() error {
	e.stop()
	var errs []error
	if e.claimed != nil {
		errs = append(errs, e.claimed.Close())
	}
	if e.Index != nil {
		errs = append(errs, e.Index.Close())
	}
	e.relisting.Wait() // the index asks for no more of them
	errs = append(errs, e.tracer.Close())
	if e.audit != nil {
		errs = append(errs, e.audit.Close())
	}
	e.release()
	if e.closeEmbedder != nil {
		errs = append(errs, e.closeEmbedder())
	}
	return errors.Join(errs...)
}
