package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/config"
)

// claimAgain is how often a process that serves looks whether the place of its
// configuration has become free.
const claimAgain = 5 * time.Second

// Claim takes the place where other processes of this version and
// configuration look for who serves; nil when another has it, or when there is
// none. A process that serves for longer than one client is given the place by
// one that does not.
func Claim(ctx context.Context, cfg *config.Config, version string, longer bool) (*attach.Listener, error) {
	p, ok := Place(cfg, version)
	if !ok {
		return nil, nil
	}
	ln, err := p.Listen()
	if longer && errors.Is(err, attach.ErrTaken) {
		yielding := p.Yield(ctx)
		if errors.As(yielding, new(*attach.SilentError)) {
			return nil, yielding
		}
		if yielding == nil {
			ln, err = p.Listen()
		}
	}
	if errors.Is(err, attach.ErrTaken) {
		return nil, nil
	}
	return ln, err
}

// sharing lets other processes of this version and configuration use the
// servers of this one.
type sharing struct {
	e      *Engine
	server *attach.Server
	longer bool // than one client
	listen string
	began  time.Time
	moved  chan struct{} // has a value when the configuration has changed
}

// share answers other processes until ctx ends, on the place that was claimed
// or becomes free.
func (e *Engine) share(ctx context.Context, f func(context.Context) error) error {
	s := e.sharing
	var yield func()
	if !s.longer {
		yield = func() { e.log.Info("another process serves new clients from now on") }
	}
	s.server = attach.NewServer(attach.Service{
		Session: func(endpoint string) (attach.Session, error) {
			s, err := e.Endpoint(endpoint)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, conn io.ReadWriteCloser) error {
				ctx, left := e.Access.Visit(ctx, endpoint, conn) // only processes of the same user are let in
				defer left()
				return s.ServeStdio(ctx, conn, conn)
			}, nil
		},
		About: s.about, Status: func() any { return e.Status(e.version) },
		Call: s.call, Yield: yield, Logger: e.log,
	})
	if e.claimed != nil {
		s.server.Use(e.claimed)
		e.claimed = nil // the server closes it
	}
	looking, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.keepPlace(looking)
		s.server.Close()
	}()
	err := f(ctx)
	stop()
	<-done
	return err
}

// keepPlace moves to the place of the configuration when that changes, and
// takes it when it becomes free.
func (s *sharing) keepPlace(ctx context.Context) {
	look := time.NewTicker(claimAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.moved:
		case <-look.C:
		}
		p, ok := Place(s.e.live.config(), s.e.version)
		if at, listens := s.server.Place(); !ok || listens && at == p || !listens && !s.longer {
			continue // one that was asked to leave does not come back
		}
		ln, err := p.Listen()
		switch {
		case err == nil:
			s.server.Use(ln)
		case errors.Is(err, attach.ErrTaken):
			s.server.Leave() // who asks there has another configuration
		default:
			s.e.log.Debug("other processes cannot attach", "error", err)
		}
	}
}

func (s *sharing) about() attach.About {
	return attach.About{PID: os.Getpid(), Version: s.e.version, Config: absolute(s.e.Config.Path), Since: s.began, Listen: s.listen}
}

// absolute is a path as other processes understand it.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// A remoteCall is a call of a tool by another process of the user.
type remoteCall struct {
	Server, Tool string
	Arguments    json.RawMessage
	Idempotent   bool
	Retries      int
	Timeout      time.Duration
}

// A remoteResult is what came of it. Of a failure Cause is the word of
// [causes].
type remoteResult struct {
	Raw      json.RawMessage
	Protocol string
	Sent     bool
	Refused  bool
	Error    string
	Cause    string
}

// causes are the words by which failures go from one process to another.
var causes = map[string]error{
	"unknown server": upstream.ErrUnknownServer, "not connected": upstream.ErrNotConnected, "disabled": upstream.ErrDisabled,
	"queue full": upstream.ErrQueueFull, "gone": upstream.ErrGone, "unauthorized": upstream.ErrUnauthorized, "login": upstream.ErrNeedsLogin,
	"too large": upstream.ErrTooLarge, "no room": upstream.ErrNoRoom, "stopped": upstream.ErrStopped, "no token": upstream.ErrNoToken,
}

// call runs a tool for another process.
func (s *sharing) call(ctx context.Context, request json.RawMessage) any {
	var r remoteCall
	if err := json.Unmarshal(request, &r); err != nil {
		return remoteResult{Error: "read the request: " + err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	began := time.Now()
	res, err := s.e.Servers.Call(ctx, upstream.Request{
		Server: r.Server, Tool: r.Tool, Arguments: r.Arguments, Idempotent: r.Idempotent, Retries: r.Retries,
	})
	defer res.Release()
	var answer struct{ IsError bool }
	ok := err == nil && json.Unmarshal(res.Raw, &answer) == nil && !answer.IsError
	took := time.Since(began)
	s.e.Index.Record((&tool.Tool{Server: r.Server, Name: r.Tool}).ID(), ok, took)
	if s.e.onCall != nil {
		s.e.onCall(r.Server+"/"+r.Tool, !ok, took)
	}
	out := remoteResult{Raw: res.Raw, Protocol: res.Protocol, Sent: res.Sent}
	if err != nil {
		out.Error = err.Error()
		var call *upstream.CallError
		if errors.As(err, &call) {
			out.Refused, out.Error = call.Refused, call.Err.Error()
		}
		for word, cause := range causes {
			if errors.Is(err, cause) && (out.Cause == "" || cause == upstream.ErrNeedsLogin) { // which is unauthorized, too
				out.Cause = word
			}
		}
	}
	return out
}

// Remote runs tools on the servers of the process that serves at a place.
type Remote struct{ Place attach.Place }

// Call implements [gateway.Caller].
func (c Remote) Call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	ask := remoteCall{Server: r.Server, Tool: r.Tool, Arguments: r.Arguments, Idempotent: r.Idempotent, Retries: r.Retries}
	if end, ok := ctx.Deadline(); ok {
		ask.Timeout = time.Until(end)
	}
	var got remoteResult
	if err := c.Place.Call(ctx, ask, &got); err != nil {
		sent := !errors.Is(err, attach.ErrNobody)
		return upstream.Result{Sent: sent}, &upstream.CallError{Server: r.Server, Tool: r.Tool, Sent: sent, Err: err}
	}
	res := upstream.Result{Raw: got.Raw, Protocol: got.Protocol, Sent: got.Sent}
	if got.Error == "" {
		return res, nil
	}
	err := errors.New(got.Error)
	if cause := causes[got.Cause]; cause != nil {
		err = remoteError{got.Error, cause}
	}
	return res, &upstream.CallError{Server: r.Server, Tool: r.Tool, Sent: got.Sent, Refused: got.Refused, Err: err}
}

// A remoteError is one of upstream's in the words of the other process.
type remoteError struct {
	text  string
	cause error
}

func (e remoteError) Error() string { return e.text }
func (e remoteError) Unwrap() error { return e.cause }

// Attached opens a session at an endpoint of the process that serves cfg;
// attach.ErrNobody when there is none, an attach.EndpointError when it does not
// serve the endpoint.
func Attached(ctx context.Context, cfg *config.Config, version, endpoint string) (io.ReadWriteCloser, error) {
	p, ok := Place(cfg, version)
	if !ok {
		return nil, fmt.Errorf("%w: there is no state folder", attach.ErrNobody)
	}
	return p.Session(ctx, endpoint)
}
