package mcp

import (
	"bufio"
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
)

var errBabble = fmt.Errorf("the server never stops writing what nobody asked for: over %d MiB, and over %d KiB a second", uselessBurst>>20, uselessRate>>10)

// exitGrace is how long the end of stdout waits for the process to end, to
// tell how it did, and the other way round.
const exitGrace = time.Second

// A stdioLink is the way to a server over its stdin and stdout, for one
// session of the SDK after the other. It
// reads and writes in goroutines of its own, so that a server which does not
// read delays nobody beyond their deadline, and passes over what is no
// message instead of ending the session as the SDK's own transports do.
type stdioLink struct {
	proc    *process
	tap     *tap
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
	sink *sink
	done chan error
}

func newStdioLink(p *process, t *tap, d dialer) *stdioLink {
	l := &stdioLink{
		proc: p, tap: t, garbage: d.garbage,
		writes:   make(chan outgoing),
		incoming: make(chan jsonrpc.Message),
		ending:   make(chan struct{}),
		closed:   make(chan struct{}),
	}
	l.probe.patience, l.probe.give = d.discoverTimeout, l.pass
	l.wg.Go(l.writeLoop)
	l.wg.Go(l.readLoop)
	return l
}

var _ mcp.Connection = (*stdioConn)(nil)

// A stdioConn is the connection of one session of the SDK.
type stdioConn struct {
	*stdioLink
	known  chan jsonrpc.Message // answers that the server need not be asked for
	closed chan struct{}
	once   sync.Once
}

// Connect returns a connection: the process runs already.
func (l *stdioLink) Connect(context.Context) (mcp.Connection, error) {
	return &stdioConn{stdioLink: l, known: make(chan jsonrpc.Message, 1), closed: make(chan struct{})}, nil
}

// SessionID is empty on stdio.
func (c *stdioConn) SessionID() string { return "" }

// Close makes Read and Write return. The process goes on until stop.
func (c *stdioConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read returns the next message that concerns the SDK.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.known:
		return m, nil
	case m := <-c.incoming:
		return m, nil
	case <-c.ending:
		return nil, io.EOF
	case <-c.closed:
		return nil, io.EOF
	case <-c.stdioLink.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write hands a message to the server.
func (c *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
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
	w := outgoing{append(data, '\n'), c.tap.outgoing(ctx, m), make(chan error, 1)}
	select {
	case c.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return io.ErrClosedPipe
	case <-c.stdioLink.closed:
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
	case <-c.stdioLink.closed:
		return io.ErrClosedPipe
	}
}

func (l *stdioLink) writeLoop() {
	for {
		select {
		case w := <-l.writes:
			if w.sink != nil {
				w.sink.sent.Store(true)
			}
			n, err := l.proc.stdin.Write(w.data)
			if n == 0 && err != nil && w.sink != nil {
				w.sink.sent.Store(false)
			}
			w.done <- err
		case <-l.closed:
			return
		}
	}
}

func (l *stdioLink) deliver(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Response); ok {
		if m = l.probe.incoming(r); m == nil {
			return
		}
	}
	if m = l.tap.incoming(m); m != nil {
		l.pass(m)
	}
}

// pass hands a message to the session of the SDK.
func (l *stdioLink) pass(m jsonrpc.Message) {
	select {
	case l.incoming <- m:
	case <-l.ending:
	case <-l.closed:
	}
}

func (l *stdioLink) readLoop() {
	stopped := make(chan struct{})
	l.wg.Go(func() { l.watchExit(stopped) })
	var stalled atomic.Bool
	large := intake{tap: l.tap, ctx: l.tap.ctx, drop: func() { stalled.Store(true); l.proc.group.kill() }}
	r := lineReader{bufio.NewReaderSize(&noisy{r: l.proc.stdout, first: l.probe.heard}, 64<<10), maxMessage, large.admit}
	useless := allowance{since: time.Now()}
	for {
		line, id, err := r.next()
		end := err
		switch {
		case isRefused(err):
			l.refused(id, err)
			end = nil
		case err == nil:
			if n := l.accept(line, &large); n >= 0 && !useless.take(n, time.Now()) {
				end = errBabble
			}
		}
		large.end()
		if end == nil {
			continue
		}
		close(stopped)
		switch {
		case stalled.Load():
			l.ended(errStalled)
		case end == errBabble || end == errEndless:
			l.ended(errBabble)
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
func (l *stdioLink) watchExit(stopped <-chan struct{}) {
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
func (l *stdioLink) accept(line []byte, large *intake) (useless int) {
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
		m, err := l.tap.read(part)
		if err != nil {
			break
		}
		if !good {
			good, useless = true, len(line)/ownCost
		}
		if r, ok := m.(*jsonrpc.Response); ok {
			if s := l.tap.sinkOf(r.ID); s != nil {
				large.pass(s, len(line))
				useless = -1
			}
		}
		l.deliver(m)
	}
	if !good {
		l.garbage(string(clip(line, 200)))
	}
	return useless
}

// refused fails the request that a discarded line answers.
func (l *stdioLink) refused(id jsonrpc.ID, why error) {
	if s := l.tap.sinkOf(id); s != nil {
		s.fail(why)
		l.deliver(errorResponse(id, why.Error()))
		return
	}
	if why == upstream.ErrTooLarge {
		l.garbage("a line over 32 MiB")
	}
}

// ended notes why the connection ended before the SDK can learn that it did.
func (l *stdioLink) ended(cause error) {
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

func (l *stdioLink) stop() {
	l.once.Do(func() { close(l.closed) })
	l.proc.stop()
	l.wg.Wait()
}

// certain implements link.
func (l *stdioLink) certain() bool { return !l.probe.late() }

func (l *stdioLink) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

func (l *stdioLink) refusedDiscover() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.eraEnd
}
