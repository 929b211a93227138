package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over in and out, one JSON message a line,
// until in ends or ctx does. Calls under way then get up to 10 s, and their
// answers are still written. It closes in, not out.
func (g *Gateway) ServeStdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	drain := sync.OnceFunc(g.drain)
	session, err := g.server.Connect(context.WithoutCancel(ctx), &mcp.IOTransport{
		Reader: &drainingReader{ReadCloser: in, drain: drain}, Writer: writerOnly{out}, MaxLineLength: maxBody,
	}, nil)
	if err != nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		drain()
		if err := session.Close(); err != nil {
			g.log.Debug("session not closed", "error", err)
		}
		err = <-ended
	}
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("serve stdio: %w", err)
	}
	return nil
}

// A drainingReader holds back the end of the input until calls under way have
// ended: the SDK cancels them when it sees the end.
type drainingReader struct {
	io.ReadCloser
	drain func()
}

func (r *drainingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && n == 0 {
		r.drain()
	}
	return n, err
}

// writerOnly keeps the SDK from closing the output.
type writerOnly struct{ io.Writer }

func (writerOnly) Close() error { return nil }
