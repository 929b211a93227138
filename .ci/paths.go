//go:build ignore

// Paths makes one search and one execute, warm, and writes the coverage of
// each: which functions they pass. Run it by .ci/paths.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/coverage"

	"github.com/tooldex/tooldex/embed/static"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/sample"
)

var calls = []struct{ name, tool, arguments string }{
	{"search", "search_tools", `{"query":"convert a date to another time zone"}`},
	{"execute", "execute_tool", `{"tool_name":"sample/calculate","arguments":{"expression":"6*7"}}`},
}

func main() {
	var err error
	if len(os.Args) == 2 && os.Args[1] == "server" {
		err = serveSample()
	} else {
		err = run(os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serveSample() error {
	s, err := sample.New(sample.Options{})
	if err != nil {
		return err
	}
	return s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
}

// run writes the coverage of each call to a folder of its name in out.
func run(out string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	model, err := static.Open()
	if err != nil {
		return err
	}
	ix, err := index.Open(filepath.Join(out, "state"), index.Options{Embedder: model})
	if err != nil {
		return err
	}
	defer ix.Close()
	server, err := start(ctx, ix)
	if err != nil {
		return err
	}
	if err := ix.Wait(ctx); err != nil {
		return err
	}
	for _, c := range calls {
		for range 3 { // the first ones fill caches
			if err := coverage.ClearCounters(); err != nil {
				return err
			}
			a := server.Call(ctx, c.tool, json.RawMessage(c.arguments))
			if a.IsError {
				return fmt.Errorf("%s: %s", c.name, a.JSON)
			}
			if err := write(filepath.Join(out, c.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// start serves the sample server's tools, a child process, once they are
// listed.
func start(ctx context.Context, ix *index.Index) (*serve.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	listed, ready := make(chan error, 16), make(chan struct{})
	var g *gateway.Gateway
	specs := []mcp.Spec{{Name: "sample", Command: self, Args: []string{"server"}}}
	set, err := mcp.NewSet(specs, mcp.Options{OnList: func(ctx context.Context, name string, l upstream.Listing) {
		<-ready
		_, err := g.Sync(ctx, name, l)
		listed <- err
	}})
	if err != nil {
		return nil, err
	}
	g = gateway.New(ix, set, gateway.Options{})
	close(ready)
	go set.Run(ctx)
	server, err := serve.New(g, serve.Options{Metrics: serve.NewMetrics(ix, set.Status)})
	if err != nil {
		return nil, err
	}
	return server, <-listed
}

func write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	return coverage.WriteCountersDir(dir)
}
