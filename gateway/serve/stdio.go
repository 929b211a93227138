package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over in and out, one JSON message a line,
// until in ends or ctx does. Lines that are no messages are answered with an
// error and skipped; a line over 16 MiB ends the session. Calls under way then
// get up to 10 s, and their answers are still written, unless the client does
// not read them within 2 s. It closes in, not out.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	locked := &lockedWriter{w: out}
	t := stdioTransport{out: locked, batches: &batches{}, inputEnded: make(chan struct{}), patience: cmp.Or(s.unreadTimeout, unreadTimeout)}
	t.IOTransport = &mcp.IOTransport{Reader: newMessageReader(in, locked, t.batches), Writer: locked, MaxLineLength: maxBody}
	// The session outlives ctx, so that answers can be written after its end.
	session, err := s.server.Connect(context.WithoutCancel(ctx), t, nil)
	if err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-t.inputEnded:
		err = s.awaitEnd(ended)
	case <-ctx.Done():
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		if err := s.Drain(last); err != nil {
			s.log.Warn("calls abandoned", "error", err)
		}
		cancel()
		go func() { // waits for answers that the client does not read
			if err := session.Close(); err != nil {
				s.log.Debug("session not closed", "error", err)
			}
		}()
		err = s.awaitEnd(ended)
	}
	if err != nil && !clientGone(err) && ctx.Err() == nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	return nil
}

// awaitEnd waits until the last answers are written. A write that blocks as
// the client does not read cannot be ended; the process ends beside it.
func (s *Server) awaitEnd(ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-time.After(shutdownTimeout):
		s.log.Warn("answers lost: the client does not read them")
		return nil
	}
}

// clientGone says that the client has closed its end, which is how it leaves.
func clientGone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE)
}

type stdioTransport struct {
	*mcp.IOTransport
	out        io.Writer
	batches    *batches
	inputEnded chan struct{}
	patience   time.Duration // with a client that reads no answer
}

func (t stdioTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &stdioConn{
		Connection: c, t: t, open: map[jsonrpc.ID]*openRequest{},
		changed: make(chan struct{}, 1), closed: make(chan struct{}),
	}, nil
}

// A stdioConn holds back the end of the input until every request read has
// its response written: the SDK cancels what is under way when it sees the
// end. Of a request that the client has cancelled it drops the response.
type stdioConn struct {
	mcp.Connection
	t       stdioTransport
	changed chan struct{} // holds a value after open has shrunk

	closeOnce sync.Once
	endOnce   sync.Once
	closed    chan struct{}

	mu   sync.Mutex // guards open and pile
	open map[jsonrpc.ID]*openRequest
	pile pile
}

type openRequest struct {
	cancelled bool
	stays     bool // open until the session ends, as a subscription does
	size      int  // of its parameters, in bytes
}

func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := jsonrpc.Message(nil), c.awaitReader(ctx)
	if err == nil {
		msg, err = c.Connection.Read(ctx)
	}
	if err != nil {
		if err != errUnread {
			c.awaitResponses(ctx)
		}
		c.endOnce.Do(func() { close(c.t.inputEnded) })
		return msg, err
	}
	if r, ok := msg.(*jsonrpc.Request); ok {
		c.note(r)
	}
	return msg, nil
}

// note keeps which requests are open and which of them were cancelled.
func (c *stdioConn) note(r *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.IsCall() {
		id, _ := json.Marshal(r.ID.Raw()) // a text or a number encodes
		r.Extra = &mcp.RequestExtra{Header: http.Header{requestHeader: {string(id)}}}
		if c.open[r.ID] == nil { // the SDK refuses an id in use
			c.open[r.ID] = &openRequest{size: len(r.Params), stays: r.Method == "subscriptions/listen"}
			c.pile.bytes += len(r.Params)
		}
		return
	}
	c.pile.told(len(r.Params))
	if r.Method != "notifications/cancelled" {
		return
	}
	var params struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(r.Params, &params) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(params.ID); err == nil && c.open[id] != nil {
		c.open[id].cancelled = true
	}
}

func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	r, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.Connection.Write(ctx, msg)
	}
	c.mu.Lock()
	o := c.open[r.ID]
	c.pile.writing++
	c.mu.Unlock()
	err := c.respond(ctx, withCode(r), o != nil && o.cancelled)
	c.mu.Lock()
	c.pile.written(o)
	delete(c.open, r.ID)
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return err
}

// respond writes a response, or keeps it for the batch that it belongs to.
func (c *stdioConn) respond(ctx context.Context, r *jsonrpc.Response, cancelled bool) error {
	encode := func() ([]byte, error) { return jsonrpc.EncodeMessage(r) }
	if cancelled {
		encode = nil
	}
	line, ofBatch, err := c.t.batches.answered(r.ID, encode)
	switch {
	case err != nil:
		return err
	case len(line) > 0:
		_, err := c.t.out.Write(line)
		return err
	case ofBatch || cancelled:
		return nil
	}
	return c.Connection.Write(ctx, r)
}

// withCode gives an error a code where the SDK has none, which is 0 on the
// wire.
func withCode(r *jsonrpc.Response) *jsonrpc.Response {
	if r.Error == nil || errors.As(r.Error, new(*jsonrpc.Error)) {
		return r
	}
	return &jsonrpc.Response{ID: r.ID, Extra: r.Extra, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: r.Error.Error()}}
}

func (c *stdioConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// awaitResponses returns when no request is open, at the latest after
// drainTimeout.
func (c *stdioConn) awaitResponses(ctx context.Context) {
	timeout := time.NewTimer(drainTimeout)
	defer timeout.Stop()
	for {
		c.mu.Lock()
		n := len(c.open)
		for _, o := range c.open {
			if o.stays {
				n--
			}
		}
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.changed:
		case <-c.closed:
			return
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
