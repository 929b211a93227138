package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over in and out, one JSON message a line,
// until in ends or ctx does. Lines that are no messages are answered with an
// error and skipped; a line over 16 MiB ends the session. Calls under way then get up to 10 s, and their
// answers are still written. It closes in, not out.
func (g *Gateway) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	// The session outlives ctx, so that answers can be written after its end.
	locked := &lockedWriter{w: out}
	session, err := g.server.Connect(context.WithoutCancel(ctx), stdioTransport{
		&mcp.IOTransport{Reader: newMessageReader(in, locked), Writer: locked, MaxLineLength: maxBody},
	}, nil)
	if err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		g.drain()
		if err := session.Close(); err != nil {
			g.log.Debug("session not closed", "error", err)
		}
		err = <-ended
	}
	if err != nil && !clientGone(err) && ctx.Err() == nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	return nil
}

// clientGone says that the client has closed its end, which is how it leaves.
func clientGone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE)
}

type stdioTransport struct{ *mcp.IOTransport }

func (t stdioTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &stdioConn{Connection: c, open: map[jsonrpc.ID]bool{}, changed: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// A stdioConn holds back the end of the input until every request read has
// its response written: the SDK cancels what is under way when it sees the
// end.
type stdioConn struct {
	mcp.Connection
	changed chan struct{} // holds a value after open has shrunk

	closeOnce sync.Once
	closed    chan struct{}

	mu   sync.Mutex // guards open
	open map[jsonrpc.ID]bool
}

func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		c.awaitResponses(ctx)
		return msg, err
	}
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	return msg, nil
}

func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if r, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	return err
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
