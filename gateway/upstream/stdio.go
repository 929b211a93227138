package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxGarbage bounds what a server may write on stdout between two messages,
// in bytes, before it is taken for one that speaks no MCP.
const maxGarbage = 64 << 20

// exitGrace is how long the end of stdout waits for the process to end, to
// tell how it did, and the other way round.
const exitGrace = time.Second

var _ mcp.Connection = (*stdioLink)(nil)

// A stdioLink is the connection to a server over its stdin and stdout. It
// reads and writes in goroutines of its own, so that a server which does not
// read delays nobody beyond their deadline, and passes over what is no
// message instead of ending the session as the SDK's own transports do.
type stdioLink struct {
	proc     *process
	tap      *tap
	garbage  func(text string)
	patience time.Duration // for an answer to server/discover

	writes   chan outgoing
	incoming chan jsonrpc.Message
	ending   chan struct{} // closed when nothing more can come
	closed   chan struct{} // closed when nobody listens any more
	once     sync.Once
	wg       sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	discover jsonrpc.ID // of the unanswered server/discover, else not valid
	timer    *time.Timer
	cause    error      // why the connection ended
	eraEnd   bool       // it ended while server/discover was unanswered
	given    jsonrpc.ID // of a server/discover that we answered ourselves
	late     bool       // the server answered it as well, later
}

type outgoing struct {
	data []byte
	sink *sink
	done chan error
}

func newStdioLink(p *process, t *tap, d dialer) *stdioLink {
	l := &stdioLink{
		proc: p, tap: t, garbage: d.garbage, patience: d.discoverTimeout,
		writes:   make(chan outgoing),
		incoming: make(chan jsonrpc.Message),
		ending:   make(chan struct{}),
		closed:   make(chan struct{}),
	}
	l.wg.Go(l.writeLoop)
	l.wg.Go(l.readLoop)
	return l
}

// Connect returns the link itself: the process runs already.
func (l *stdioLink) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// SessionID is empty on stdio.
func (l *stdioLink) SessionID() string { return "" }

// Read returns the next message that concerns the SDK.
func (l *stdioLink) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.incoming:
		return m, nil
	case <-l.ending:
		return nil, io.EOF
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write hands a message to the server.
func (l *stdioLink) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	w := outgoing{append(data, '\n'), l.tap.outgoing(ctx, m), make(chan error, 1)}
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "server/discover" {
		l.await(r.ID)
	}
	select {
	case l.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closed:
		return io.ErrClosedPipe
	}
	select {
	case err := <-w.done:
		if err != nil {
			ended(l.ending, 2*exitGrace) // why it failed is known then
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closed:
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

// await answers server/discover itself when the server does not: it is a
// method that older servers may simply ignore, and restarting one could mean
// another download of it.
func (l *stdioLink) await(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.discover = id
	l.timer = time.AfterFunc(l.patience, func() {
		if l.answered(id) {
			l.mu.Lock()
			l.given = id
			l.mu.Unlock()
			l.deliver(notSupported(id))
		}
	})
}

// knowsDiscover reports whether the server answered server/discover after we
// had given up on it, as one that is slow to start does.
func (l *stdioLink) knowsDiscover() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late
}

func (l *stdioLink) noteLate(r *jsonrpc.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Error == nil && l.given.IsValid() && r.ID == l.given {
		l.late = true
	}
}

func notSupported(id jsonrpc.ID) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound, Message: "server/discover was not answered in time"}}
}

// answered reports whether id is the unanswered server/discover, which it no
// longer is afterwards.
func (l *stdioLink) answered(id jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !id.IsValid() || l.discover != id {
		return false
	}
	l.discover = jsonrpc.ID{}
	l.timer.Stop()
	return true
}

func (l *stdioLink) deliver(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Response); ok && !l.answered(r.ID) {
		l.noteLate(r)
	}
	if m = l.tap.incoming(m); m == nil {
		return
	}
	select {
	case l.incoming <- m:
	case <-l.ending:
	case <-l.closed:
	}
}

func (l *stdioLink) readLoop() {
	stopped := make(chan struct{})
	l.wg.Go(func() { l.watchExit(stopped) })
	r := bufio.NewReaderSize(l.proc.stdout, 64<<10)
	skipped := 0
	for {
		line, id, err := readLine(r, maxMessage)
		switch {
		case err == errLong:
			l.tooLong(id)
		case err != nil:
			close(stopped)
			l.ended(nil)
			return
		case l.accept(line):
			skipped = 0
		default:
			if skipped += len(line) + 1; skipped > maxGarbage {
				close(stopped)
				l.ended(fmt.Errorf("the server wrote %d MiB on stdout that are no MCP", skipped>>20))
				return
			}
		}
	}
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

// accept delivers the message or batch of a line, and reports whether it is
// one.
func (l *stdioLink) accept(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return true
	}
	parts := []json.RawMessage{line}
	if line[0] == '[' && json.Unmarshal(line, &parts) != nil {
		parts = nil
	}
	good := false
	for _, part := range parts {
		m, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			break
		}
		good = true
		l.deliver(m)
	}
	if !good {
		l.garbage(string(clip(line, 200)))
	}
	return good
}

func (l *stdioLink) tooLong(id jsonrpc.ID) {
	if s := l.tap.sinkOf(id); s != nil {
		s.fail(ErrTooLarge)
		l.deliver(errorResponse(id, ErrTooLarge.Error()))
		return
	}
	l.garbage("a line over 32 MiB")
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
		l.eraEnd = silent && l.discover.IsValid()
	}
	l.mu.Unlock()
	close(l.ending)
}

// Close makes Read and Write return. The process is ended by stop.
func (l *stdioLink) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.mu.Lock()
		if l.timer != nil {
			l.timer.Stop()
		}
		l.mu.Unlock()
	})
	return nil
}

func (l *stdioLink) stop() {
	l.Close()
	l.proc.stop()
	l.wg.Wait()
}

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
