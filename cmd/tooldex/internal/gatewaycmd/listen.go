package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/internal/app"
)

// listen opens addr and says plainly when somebody else has it.
func listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err == nil {
		return ln, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		if s := app.Serving(context.Background(), addr); s != nil && s.Ready {
			return nil, cli.Hint(fmt.Errorf("listen on %s: another tooldex is serving there", addr),
				"connect clients to http://%s/mcp, or choose another port, such as tooldex serve --listen 127.0.0.1:7520", addr)
		}
		return nil, cli.Hint(fmt.Errorf("listen on %s: the port is taken by another program", addr),
			"choose another port, such as tooldex serve --listen 127.0.0.1:7520, or stop the other program")
	}
	return nil, fmt.Errorf("listen on %s: %w", addr, err)
}
