package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// exitGrace is how long the end of stdout waits for the process to end, to
// tell how it did, and the other way round.
const exitGrace = time.Second

// A Link is the way to a server over its stdin and stdout, for one session of
// the SDK after the other. It reads and writes in goroutines of its own, so
// that a server which does not read delays nobody beyond their deadline, and
// passes over what is no message instead of ending the session as the SDK's
// own transports do.
type Link struct {
	proc    *Process
	tap     *wire.Tap
	garbage func(text string)
	probe   probe

	writes   chan outgoing
	incoming chan jsonrpc.Message
	ending   chan struct{} // closed when nothing more can come
	closed   chan struct{} // closed when nobody listens any more
	once     sync.Once
	wg       sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	cause  error      // why the connection ended
	eraEnd bool       // it ended while server/discover was unanswered
}

type outgoing struct {
	data []byte
	sink *wire.Sink
	done chan error
}

// Options are the settings of a link.
type Options struct {
	Garbage  func(text string) // called for text that is no MCP
	Patience time.Duration     // with the answer to server/discover, from the first output on; 0 waits for it alone
}

// NewLink returns the link to a process that was just started.
func NewLink(p *Process, t *wire.Tap, o Options) *Link {
	l := &Link{
		proc: p, tap: t, garbage: o.Garbage,
		writes:   make(chan outgoing),
		incoming: make(chan jsonrpc.Message),
		ending:   make(chan struct{}),
		closed:   make(chan struct{}),
	}
	l.probe.patience, l.probe.give = o.Patience, l.pass
	l.wg.Go(l.writeLoop)
	l.wg.Go(l.readLoop)
	return l
}

var _ mcp.Connection = (*conn)(nil)

// A conn is the connection of one session of the SDK.
type conn struct {
	*Link
	known  chan jsonrpc.Message // answers that the server need not be asked for
	closed chan struct{}
	once   sync.Once
}

// Connect returns a connection: the process runs already.
func (l *Link) Connect(context.Context) (mcp.Connection, error) {
	return &conn{Link: l, known: make(chan jsonrpc.Message, 1), closed: make(chan struct{})}, nil
}

// SessionID is empty on stdio.
func (c *conn) SessionID() string { return "" }

// Close makes Read and Write return. The process goes on until stop.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read returns the next message that concerns the SDK.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.known:
		return m, nil
	case m := <-c.incoming:
		return m, nil
	case <-c.ending:
		return nil, io.EOF
	case <-c.closed:
		return nil, io.EOF
	case <-c.Link.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write hands a message to the server.
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		out, reply, err := c.probe.outgoing(r)
		if err != nil {
			return err
		}
		if reply != nil {
			c.known <- reply
			return nil
		}
		m = out
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	w := outgoing{append(data, '\n'), c.tap.Outgoing(ctx, m), make(chan error, 1)}
	select {
	case c.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return io.ErrClosedPipe
	case <-c.Link.closed:
		return io.ErrClosedPipe
	}
	select {
	case err := <-w.done:
		if err != nil {
			ended(c.ending, 2*exitGrace) // why it failed is known then
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return io.ErrClosedPipe
	case <-c.Link.closed:
		return io.ErrClosedPipe
	}
}

func (l *Link) writeLoop() {
	for {
		select {
		case w := <-l.writes:
			if w.sink != nil {
				w.sink.Sent.Store(true)
			}
			n, err := l.proc.stdin.Write(w.data)
			if n == 0 && err != nil && w.sink != nil {
				w.sink.Sent.Store(false)
			}
			w.done <- err
		case <-l.closed:
			return
		}
	}
}

func (l *Link) deliver(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Response); ok {
		if m = l.probe.incoming(r); m == nil {
			return
		}
	}
	if m = l.tap.Incoming(m); m != nil {
		l.pass(m)
	}
}

// pass hands a message to the session of the SDK.
func (l *Link) pass(m jsonrpc.Message) {
	select {
	case l.incoming <- m:
	case <-l.ending:
	case <-l.closed:
	}
}

func (l *Link) readLoop() {
	stopped := make(chan struct{})
	l.wg.Go(func() { l.watchExit(stopped) })
	var stalled atomic.Bool
	large := wire.NewIntake(l.tap, l.tap.Ctx, func() { stalled.Store(true); l.proc.group.kill() })
	r := wire.NewLineReader(&noisy{r: l.proc.stdout, first: l.probe.heard}, 64<<10, large)
	useless := l.tap.Useless()
	for {
		line, id, err := r.Next()
		end, over := err, false
		switch {
		case wire.IsRefused(err):
			l.refused(id, err)
			end = nil
		case err == nil:
			n := l.accept(line, large)
			over = n >= 0 && !useless.Take(n, time.Now())
		}
		large.End()
		if over && r.More() { // else it may be an answer that the server's end has cut off
			end = wire.ErrBabble
		}
		if end == nil {
			continue
		}
		close(stopped)
		switch {
		case stalled.Load():
			l.ended(wire.ErrStalled)
		case end == wire.ErrBabble || end == wire.ErrEndless:
			l.ended(wire.ErrBabble)
		default:
			l.ended(nil)
		}
		return
	}
}

// A noisy reader tells of the first byte.
type noisy struct {
	r     io.Reader
	first func()
}

// Read implements io.Reader.
func (n *noisy) Read(p []byte) (int, error) {
	c, err := n.r.Read(p)
	if c > 0 && n.first != nil {
		n.first()
		n.first = nil
	}
	return c, err
}

// watchExit ends a stdout that a child of the ended server holds open.
func (l *Link) watchExit(stopped <-chan struct{}) {
	select {
	case <-l.proc.exited:
	case <-stopped:
		return
	}
	t := time.NewTimer(exitGrace)
	defer t.Stop()
	select {
	case <-t.C:
		l.proc.stdout.Close()
	case <-stopped:
	}
}

// accept delivers the message or batch of a line, and returns how many bytes
// were of no use, negative if it has an answer.
func (l *Link) accept(line []byte, large *wire.Intake) (useless int) {
	useless = len(line)
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return useless
	}
	var parts []json.RawMessage // none of a log line, which is not worth decoding
	switch line[0] {
	case '{':
		parts = append(parts, line)
	case '[':
		if json.Unmarshal(line, &parts) != nil {
			parts = nil
		}
	}
	good := false
	for _, part := range parts {
		m, err := l.tap.Read(part)
		if err != nil {
			break
		}
		if !good {
			good, useless = true, len(line)/wire.OwnCost
		}
		if r, ok := m.(*jsonrpc.Response); ok {
			if s := l.tap.SinkOf(r.ID); s != nil {
				large.Pass(s, len(line))
				useless = -1
			}
		}
		l.deliver(m)
	}
	if !good {
		l.garbage(string(wire.Clip(line, 200)))
	}
	return useless
}

// refused fails the request that a discarded line answers.
func (l *Link) refused(id jsonrpc.ID, why error) {
	if s := l.tap.SinkOf(id); s != nil {
		s.Fail(why)
		l.deliver(wire.ErrorResponse(id, why.Error()))
		return
	}
	if why == upstream.ErrTooLarge {
		l.garbage("a line over 32 MiB")
	}
}

// ended notes why the connection ended before the SDK can learn that it did.
func (l *Link) ended(cause error) {
	silent := cause == nil
	if silent {
		ended(l.proc.exited, exitGrace)
		cause = l.proc.end()
	} else {
		l.proc.group.kill()
	}
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
		l.eraEnd = silent && l.probe.silent()
	}
	l.mu.Unlock()
	close(l.ending)
}

// Stop ends the process at once and returns when it is gone.
func (l *Link) Stop() {
	l.once.Do(func() { close(l.closed) })
	l.proc.stop()
	l.wg.Wait()
}

// Certain reports whether the server does not know server/discover, as far as
// can be told.
func (l *Link) Certain() bool { return !l.Late() }

// Late reports whether server/discover was answered after the session of the
// SDK had been told that it was not: another one may begin.
func (l *Link) Late() bool { return l.probe.late() }

// Silent reports whether server/discover is unanswered and nothing else was
// tried.
func (l *Link) Silent() bool { return l.probe.silent() }

// Err is why the connection ended, nil while unknown.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// Classify adds what to try next to the error of an attempt to connect.
func (l *Link) Classify(err error) error {
	l.mu.Lock()
	ended := l.eraEnd
	l.mu.Unlock()
	if ended {
		return &wire.OtherEraError{Err: err, Version: wire.Handshake}
	}
	return l.probe.classify(err)
}
