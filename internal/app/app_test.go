package app

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/sample"
)

// written loads a configuration of these lines with a state folder of its own.
func written(t *testing.T, lines string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "tooldex.yaml")
	text := fmt.Sprintf("state: %q\n%s", filepath.Join(dir, "state"), lines)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func opened(t *testing.T, cfg *config.Config, o Options) *Engine {
	t.Helper()
	e, err := Open(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// numbers is the address of a server with the tools of that group.
func numbers(t *testing.T) string {
	t.Helper()
	s, err := sample.New(sample.Options{Groups: []string{"numbers"}, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() { web.Close(); s.Close() })
	return web.URL + "/mcp"
}

// What one engine lists the next one finds, without a server.
func TestEngine(t *testing.T) {
	t.Setenv("TOOLDEX_TEST_UNSET", "")
	os.Unsetenv("TOOLDEX_TEST_UNSET")
	cfg := written(t, fmt.Sprintf("mcpServers: {numbers: {url: %q}, broken: {command: x, env: {A: \"${TOOLDEX_TEST_UNSET}\"}}}", numbers(t)))

	online, err := Open(cfg, Options{Online: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := online.NeedTools(); !errors.Is(err, ErrNoTools) {
		t.Errorf("an empty folder: %v", err)
	}
	rows, err := online.Relist(t.Context(), append(cfg.Names(), cfg.Broken()...), time.Minute, nil)
	if err != nil || len(rows) != 2 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if r := rows[0]; r.Error != "" || r.Tools == 0 || len(r.Added) != r.Tools || r.Changed == nil {
		t.Errorf("numbers: got %+v", r)
	}
	if r := rows[1]; r.Error == "" || r.Tools != 0 {
		t.Errorf("broken: got %+v", r)
	}
	if err := errors.Join(online.Embed(t.Context(), true, func(string, int, int) {}), online.Close()); err != nil {
		t.Fatal(err)
	}

	e := opened(t, cfg, Options{})
	res, err := e.Index.Search(t.Context(), index.Query{Text: "how far apart are two places", Limit: 3})
	if err != nil || len(res.Hits) == 0 || res.Hits[0].Tool.Name != "distance_between_points" {
		t.Errorf("got %+v, %v", res.Hits, err)
	}
	tools, err := e.Tools()
	if err != nil || len(tools) != rows[0].Tools || len(tools[0].Raw) == 0 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	st := e.Status("v1")
	if !slices.Equal(st.Configured, []string{"numbers"}) || len(st.Disabled) != 1 || st.Index.Tools != len(tools) || st.Version != "v1" {
		t.Errorf("got %+v", st)
	}
}

// Whoever opens an engine in vain learns which part is at fault.
func TestOpenSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		change func(*config.Config)
		want   error
	}{
		{func(c *config.Config) { c.Embedding.Provider = "nosuch" }, ErrEmbedding},
		{func(c *config.Config) { c.Index.Params = file }, ErrParams},
		{func(c *config.Config) { c.State = file }, ErrState},
	} {
		cfg := written(t, "")
		k.change(cfg)
		e, err := Open(cfg, Options{})
		if !errors.Is(err, k.want) {
			t.Errorf("got %v, want %v", err, k.want)
		}
		if e != nil {
			t.Errorf("%v: an engine that nobody closes", k.want)
		}
	}
}

// churning is an index whose vectors are never complete.
type churning struct{}

func (churning) Status() index.Status { return index.Status{} }

func (churning) Wait(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("wait for vectors: %w", ctx.Err())
}

// A catalog that others change without a pause does not hold anybody up who
// was not told to wait.
func TestEmbedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := embedAll(t.Context(), churning{}, false, nil); err != nil {
			t.Errorf("got %v, want to go on", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := embedAll(ctx, churning{}, true, nil); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil {
			t.Errorf("asked to wait: got %v", err)
		}
	})
}

func TestHNSWThreshold(t *testing.T) {
	for configured, want := range map[int]int{-1: 0, 0: -1, 5000: 5000} {
		if got := hnswThreshold(configured); got != want {
			t.Errorf("%d: got %d, want %d", configured, got, want)
		}
	}
}
