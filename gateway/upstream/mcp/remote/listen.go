package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// listenMax bounds the pause before a listen stream is opened again, which
// doubles for as long as the streams are shorter than it.
const listenMax = time.Minute

// A listenStream is the body of subscriptions/listen. The SDK opens it once;
// when it ends, as any proxy will end it, the stream opens the next one under
// the SDK's feet and has the tools listed again, as a change may have been
// missed.
type listenStream struct {
	link   *Link
	x      *exchange
	req    *http.Request // as it was sent
	events *eventStream
	opened time.Time
	delay  time.Duration
}

func newListenStream(l *Link, x *exchange, req *http.Request, body io.ReadCloser) *listenStream {
	s := &listenStream{link: l, x: x, req: req, delay: l.o.ListenPause}
	s.take(body)
	return s
}

func (s *listenStream) take(body io.ReadCloser) {
	s.events = newEventStream(s.link.tap, s.x, body)
	s.events.drop, s.events.doubt = true, s.link.o.Doubt
	s.opened = time.Now()
}

// Read implements io.Reader. It ends only with the session.
func (s *listenStream) Read(p []byte) (int, error) {
	for {
		n, err := s.events.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if s.req.Context().Err() != nil || s.events.fail || err == wire.ErrBabble {
			return 0, io.EOF
		}
		if err := s.reopen(); err != nil {
			if s.req.Context().Err() == nil {
				s.link.o.Doubt(fmt.Errorf("watch for changes: %w", err))
			}
			return 0, io.EOF
		}
		s.link.o.Changed()
	}
}

// Close implements io.Closer.
func (s *listenStream) Close() error { return s.events.Close() }

func (s *listenStream) reopen() error {
	s.events.body.Close()
	if time.Since(s.opened) > listenMax {
		s.delay = s.link.o.ListenPause
	}
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	s.delay = min(2*s.delay, listenMax)
	ctx := s.req.Context()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	body, err := s.x.req.GetBody()
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	req := s.req.Clone(ctx)
	req.Body = body
	if l := s.link; l.o.Signer != nil {
		if err := l.o.Signer.Sign(req); err != nil {
			return err
		}
	}
	late := time.AfterFunc(headerTimeout, func() { s.x.cancel(errSilent) })
	resp, err := s.link.base.RoundTrip(req)
	if !late.Stop() && err == nil {
		err = errSilent
		resp.Body.Close()
	}
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return errors.New("HTTP " + resp.Status)
	}
	s.take(resp.Body)
	return nil
}
