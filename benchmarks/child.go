package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/tooldex/tooldex/embed/static"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/serve/heap"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/sample"
)

// What a process that the benchmarks start is for: nothing else may be in the
// memory that is measured, and a server over stdio is a process.
const (
	memoryChild  = "memory"
	sampleChild  = "sample"
	webChild     = "web"     // a bare server over HTTP
	gatewayChild = "gateway" // ours over HTTP; its input begins with the URL of its server, or is blank for one over stdio
)

func runChild(ctx context.Context, o options, stdin io.Reader, stdout io.Writer) error {
	switch o.child {
	case memoryChild:
		return measureMemory(ctx, o.dir, stdin, stdout)
	case sampleChild:
		options := sample.Options{Groups: []string{"numbers", "text"}}
		if o.era == handshakeEra {
			options.Discover = sample.DiscoverExit
		}
		s, err := sample.New(options)
		if err != nil {
			return err
		}
		defer s.Close()
		return s.ServeStdio(ctx, stdin, stdout)
	case webChild:
		return serveSample(ctx, o.era, stdin, stdout)
	case gatewayChild:
		return serveGateway(ctx, o, stdin, stdout)
	}
	return fmt.Errorf("unknown child %q", o.child)
}

// memory adds what an index takes in a process of its own: after loading,
// searching and replacing a server, less what the model alone takes.
func (b *bench) memory(ctx context.Context, dir string, c *corpus) error {
	b.step("%d tools: memory", c.n)
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe, "-child", memoryChild, "-dir", dir)
	cmd.Stdin = strings.NewReader(strings.Join(c.queries, "\n"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("measure memory: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
	if err != nil {
		return fmt.Errorf("measure memory: %w", err)
	}
	b.add(row{Name: "memory", System: "tooldex", N: c.n, Bytes: n, Note: "resident, beside the model"})
	return nil
}

// measureMemory does what a serving process does and writes the growth of its
// resident memory.
func measureMemory(ctx context.Context, dir string, stdin io.Reader, stdout io.Writer) error {
	var queries []string
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		queries = append(queries, lines.Text())
	}
	model, err := static.Open()
	if err != nil {
		return err
	}
	for _, q := range queries {
		if _, err := model.EmbedQuery(ctx, q); err != nil {
			return err
		}
	}
	before, err := resident()
	if err != nil {
		return err
	}
	ix, err := index.Open(dir, index.Options{Embedder: model})
	if err != nil {
		return err
	}
	defer ix.Close() // nothing is pending
	if err := ix.Wait(ctx); err != nil {
		return err
	}
	heap.Tune()
	for i := range 1000 {
		if _, err := ix.Search(ctx, index.Query{Text: queries[i%len(queries)]}); err != nil {
			return err
		}
	}
	if err := replaceOne(ctx, ix); err != nil {
		return err
	}
	after, err := resident()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, after-before)
	return err
}

// replaceOne changes the first server.
func replaceOne(ctx context.Context, ix *index.Index) error {
	name := ix.Status().Servers[0].Name
	hits, _ := ix.List(index.Listing{Filter: index.Filter{Servers: []string{name}}})
	var tools []index.Tool
	for _, h := range hits {
		raw, err := ix.Raw(h.ID)
		if err != nil {
			return err
		}
		t, err := index.Decode(name, raw)
		if err != nil {
			return err
		}
		t.Description += " again"
		tools = append(tools, t)
	}
	if _, err := ix.Replace(ctx, name, tools); err != nil {
		return err
	}
	return ix.Wait(ctx)
}

// resident is the process's resident memory in bytes; where the system does
// not say it as Linux does, what Go has from it.
func resident() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64() - s[1].Value.Uint64()), nil
	}
	return residentOf(status)
}

// residentOf reads what Linux says of a process.
func residentOf(status []byte) (int64, error) {
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	var kb int64
	if _, err := fmt.Sscanf(string(rest), "%d kB", &kb); err != nil {
		return 0, fmt.Errorf("read resident memory: %w", err)
	}
	return kb << 10, nil
}

// serveSample serves the sample server over HTTP until stdin ends.
func serveSample(ctx context.Context, era string, stdin io.Reader, stdout io.Writer) error {
	s, err := sample.New(sample.Options{Groups: []string{"numbers", "text"}})
	if err != nil {
		return err
	}
	defer s.Close()
	h := s.Handler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("MCP-Protocol-Version") > era {
			http.Error(w, "unsupported protocol version", http.StatusBadRequest)
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer web.Close()
	if _, err := fmt.Fprintln(stdout, web.Listener.Addr()); err != nil {
		return err
	}
	return awaitEnd(ctx, stdin)
}

func awaitEnd(ctx context.Context, stdin io.Reader) error {
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, stdin)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveGateway serves the catalog of o.dir and one server over HTTP, as the
// program does, until stdin ends.
func serveGateway(ctx context.Context, o options, stdin io.Reader, stdout io.Writer) (err error) {
	in := bufio.NewReader(stdin)
	url, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	spec := mcp.Spec{Name: hopServer, URL: strings.TrimSpace(url)}
	if spec.URL == "" {
		if spec.Command, err = os.Executable(); err != nil {
			return err
		}
		spec.Args = []string{"-child", sampleChild, "-era", o.era}
	}
	model, err := static.Open()
	if err != nil {
		return err
	}
	ix, err := index.Open(o.dir, index.Options{Embedder: model})
	if err != nil {
		return err
	}
	g, stop, err := startGateway(ctx, ix, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := ix.Wait(ctx); err != nil {
		return err
	}
	heap.Tune()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	host := serve.NewHost(serve.HostOptions{})
	host.Put(serve.Default, g)
	go func() { served <- host.Serve(serving, ln) }()
	if _, err := fmt.Fprintln(stdout, ln.Addr()); err != nil {
		return err
	}
	err = awaitEnd(ctx, in)
	cancel()
	return errors.Join(err, <-served)
}
