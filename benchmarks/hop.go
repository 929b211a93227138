package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/upstream"
	mcpservers "github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/sample"
)

const (
	hopServer = "sample"
	hopTool   = "calculate"
)

var hopArguments = map[string]any{"expression": "2 * pi * r", "variables": map[string]any{"r": 3}}

// hops measures execute_tool in process against a bare go-sdk call of the same
// tool of the same server, by turns.
func (b *bench) hops(ctx context.Context) error {
	b.step("execute_tool over HTTP")
	s, err := sample.New(sample.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	url := web.URL + "/mcp"
	if err := b.hop(ctx, "http", mcpservers.Spec{Name: hopServer, URL: url}, &mcp.StreamableClientTransport{Endpoint: url}); err != nil {
		return err
	}
	b.step("execute_tool over stdio")
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"-child", sampleChild}
	return b.hop(ctx, "stdio", mcpservers.Spec{Name: hopServer, Command: exe, Args: args},
		&mcp.CommandTransport{Command: exec.CommandContext(ctx, exe, args...)})
}

func (b *bench) hop(ctx context.Context, kind string, spec mcpservers.Spec, direct mcp.Transport) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "benchmarks", Version: "1"}, nil)
	session, err := client.Connect(ctx, direct, nil)
	if err != nil {
		return err
	}
	defer session.Close() // its server goes with it
	ix, err := index.Open("", index.Options{})
	if err != nil {
		return err
	}
	g, stop, err := startGateway(ctx, ix, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	bare := func() error {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: hopTool, Arguments: hopArguments})
		if err == nil && res.IsError {
			err = errors.New("the tool failed")
		}
		return err
	}
	args := object(map[string]any{"tool_name": hopServer + "/" + hopTool, "arguments": hopArguments})
	ours := func() error {
		if a := g.Call(ctx, "execute_tool", args); a.IsError {
			return fmt.Errorf("execute_tool: %s", a.JSON)
		}
		return nil
	}
	return b.compare(kind, bare, ours)
}

func (b *bench) compare(kind string, bare, ours func() error) error {
	var times [2]timings
	for i := range b.o.queries + warmUp {
		for j, f := range []func() error{bare, ours} {
			took, err := timed(f)
			if err != nil {
				return err
			}
			if i >= warmUp {
				times[j] = append(times[j], took)
			}
		}
	}
	alone := row{Name: "execute/" + kind, System: "go-sdk"}
	times[0].fill(&alone)
	through := row{Name: "execute/" + kind, System: "tooldex", Note: "of go-sdk's median:"}
	times[1].fill(&through)
	through.Ratio = through.P50 / alone.P50
	b.rows = append(b.rows, alone, through)
	return nil
}

// startGateway connects a gateway over ix to one server; stop ends both.
func startGateway(ctx context.Context, ix *index.Index, spec mcpservers.Spec) (s *serve.Server, stop func() error, err error) {
	var g *gateway.Gateway
	listed := make(chan error, 1)
	set, err := mcpservers.NewSet([]mcpservers.Spec{spec}, mcpservers.Options{
		OnList: func(ctx context.Context, server string, l upstream.Listing) {
			_, err := g.Sync(ctx, server, l)
			select {
			case listed <- err:
			default:
			}
		},
	})
	if err != nil {
		return nil, nil, errors.Join(err, ix.Close())
	}
	g = gateway.New(ix, set, gateway.Options{})
	if s, err = serve.New(g, serve.Options{}); err != nil {
		return nil, nil, errors.Join(err, ix.Close())
	}
	runCtx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- set.Run(runCtx) }()
	stop = func() error {
		cancel()
		return errors.Join(<-done, ix.Close())
	}
	select {
	case err = <-listed:
	case <-time.After(30 * time.Second):
		err = errors.New("the sample server did not list its tools within 30 s")
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return s, stop, nil
}

// object marshals arguments that always marshal.
func object(v map[string]any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshal arguments: %v", err))
	}
	return data
}
