package embed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/embed/embedtest"
	"github.com/tooldex/tooldex/embed/endpoint"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opened(t *testing.T, c Config) Embedder {
	t.Helper()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r, ok := e.(*Remote); ok && r.Close() != nil {
			t.Error("Close fails")
		}
	})
	return e
}

func TestSuite(t *testing.T) {
	for _, provider := range []string{Ollama, OpenAI, Builtin} {
		t.Run(provider, func(t *testing.T) {
			embedtest.Test(t, func(t *testing.T) embedtest.Embedder {
				c := Config{Provider: provider}
				if provider != Builtin {
					c.URL, c.Model = embedtest.NewServer(t, embedtest.Behaviour{}).URL, "tiny"
				}
				return opened(t, c)
			}, embedtest.Options{ZeroWithoutWords: provider == Builtin})
		})
	}
}

func TestZeroConfigIsBuiltIn(t *testing.T) {
	e := opened(t, Config{})
	if !strings.HasPrefix(e.Model(), "builtin/static-v1@") {
		t.Errorf("identity %q", e.Model())
	}
	if _, ok := e.(interface {
		EmbedFields(ctx context.Context, tools []map[string]string) ([][]float32, error)
	}); !ok {
		t.Error("the model inside the binary does not read fields")
	}
	if h := Check(t.Context(), e); !h.HasModel || h.Dims != 256 || h.Problem != "" {
		t.Errorf("health %+v", h)
	}
}

func TestNone(t *testing.T) {
	if e := opened(t, Config{Provider: None}); e != nil {
		t.Errorf("%v, want nil", e)
	}
	if h := Check(t.Context(), nil); h.Provider != None {
		t.Errorf("health %+v", h)
	}
}

func TestBadConfig(t *testing.T) {
	t.Setenv("EMPTY", "")
	dir := t.TempDir()
	two := filepath.Join(dir, "two")
	if err := os.WriteFile(two, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		"embedding.provider":   {Provider: "olama"},
		"embedding.model":      {Provider: Builtin, Model: "nomic-embed-text"},
		"nomic-embed-text":     {Provider: Ollama},
		"embedding.keep_alive": {Provider: Ollama, Model: "m", KeepAlive: "long"},
		"embedding.url":        {Provider: OpenAI, Model: "m", URL: "localhost"},
		"text-embedding":       {Provider: OpenAI},
		"EMPTY":                {Provider: OpenAI, Model: "m", KeyEnv: "EMPTY"},
		"no-such-file":         {Provider: OpenAI, Model: "m", KeyFile: filepath.Join(dir, "no-such-file")},
		"holds no key":         {Provider: Ollama, Model: "m", KeyFile: two},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v): error %v, want one about %s", c, err, want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "usual")
	t.Setenv("MINE", "mine")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("filed\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{Provider: OpenAI, Key: "given"}, "Bearer given"},
		{Config{Provider: OpenAI, KeyEnv: "MINE"}, "Bearer mine"},
		{Config{Provider: OpenAI, KeyFile: file}, "Bearer filed"},
		{Config{Provider: OpenAI}, ""}, // the usual key is for OpenAI's own address
		{Config{Provider: Ollama, KeyEnv: "MINE"}, "Bearer mine"},
	} {
		s := embedtest.NewServer(t, embedtest.Behaviour{})
		tt.c.URL, tt.c.Model = s.URL, "tiny"
		if _, err := opened(t, tt.c).EmbedQuery(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if got := s.Requests()[0].Header.Get("Authorization"); got != tt.want {
			t.Errorf("%+v sends %q, want %q", tt.c, got, tt.want)
		}
	}
	if key, source, err := (Config{}).key("OPENAI_API_KEY"); key != "usual" || source != "$OPENAI_API_KEY" || err != nil {
		t.Errorf("key %q from %q, error %v", key, source, err)
	}
}

func TestPrefixes(t *testing.T) {
	for model, want := range map[string]Prefix{
		"nomic-embed-text:v1.5":                   {Query: "search_query: ", Document: "search_document: "},
		"hf.co/nomic-ai/nomic-embed-text-v2-moe":  {Query: "search_query: ", Document: "search_document: "},
		"intfloat/multilingual-e5-small":          {Query: "query: ", Document: "passage: "},
		"intfloat/multilingual-e5-large-instruct": {Query: instruct + " "},
		"BAAI/bge-small-en-v1.5":                  {Query: represent},
		"bge-m3":                                  {},
		"bge-large-zh-v1.5":                       {Query: "为这个句子生成表示以用于检索相关文章："},
		"qwen3-embedding:0.6b":                    {Query: instruct},
		"Qwen/Qwen3-Embedding-8B":                 {Query: instruct},
		"embeddinggemma":                          {Query: "task: search result | query: ", Document: "title: none | text: "},
		"mxbai-embed-large":                       {Query: represent},
		"snowflake-arctic-embed:335m":             {Query: represent},
		"snowflake-arctic-embed2":                 {Query: "query: "},
		"Snowflake/snowflake-arctic-embed-l-v2.0": {Query: "query: "},
		"text-embedding-3-small":                  {},
		"all-minilm":                              {},
	} {
		got := Prefixes(model)
		if got.Query != want.Query || got.Document != want.Document {
			t.Errorf("Prefixes(%q) = %q", model, got)
		}
	}
	for _, k := range known {
		if !strings.HasPrefix(k.prefix.Source, "https://") {
			t.Errorf("%q has no source", k.part)
		}
	}
	q, d := Config{Model: "nomic-embed-text", QueryPrefix: "mine: ", DocumentPrefix: NoPrefix}.prefixes()
	if q != "mine: " || d != "" {
		t.Errorf("overridden prefixes %q, %q", q, d)
	}
}

func TestKeepAlive(t *testing.T) {
	for s, want := range map[string]time.Duration{"10m": 10 * time.Minute, "90": 90 * time.Second, "-1": -time.Second, "0": 0} {
		if d, err := parseKeepAlive(s); err != nil || *d != want {
			t.Errorf("%q: %v, %v", s, d, err)
		}
	}
	if d, err := parseKeepAlive(""); d != nil || err != nil {
		t.Errorf("empty: %v, %v", d, err)
	}
}

func TestOllamaHost(t *testing.T) {
	for host, want := range map[string]string{
		"":                      "",
		"box":                   "http://box:11434",
		"box:1234":              "http://box:1234",
		"0.0.0.0":               "http://127.0.0.1:11434",
		":1234":                 "http://127.0.0.1:1234",
		"http://box":            "http://box:80",
		"https://box/ollama/":   "https://box:443/ollama",
		"[::1]:1234":            "http://[::1]:1234",
		"[::]":                  "http://127.0.0.1:11434",
		` "http://box:11434/" `: "http://box:11434",
	} {
		if got := ollamaHost(host); got != want {
			t.Errorf("OLLAMA_HOST=%q gives %q, want %q", host, got, want)
		}
	}
}

func TestQueriesAreCached(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{})
	e := opened(t, Config{Provider: OpenAI, URL: s.URL, Model: "tiny", QueryCache: 2})
	r := e.(*Remote)
	ask := func(text string) []float32 {
		t.Helper()
		v, err := e.EmbedQuery(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	ask("warm up") // its identity was pending, so it is not kept
	before := len(s.Requests())
	first := ask("a")
	if !slices.Equal(ask("a"), first) || len(s.Requests()) != before+1 {
		t.Errorf("asked twice, sent %d times", len(s.Requests())-before)
	}
	if lookups, hits := r.Queries(); lookups != 3 || hits != 1 {
		t.Errorf("%d lookups, %d hits", lookups, hits)
	}
	ask("b")
	ask("c")
	ask("a")
	if n := len(s.Requests()) - before; n != 4 {
		t.Errorf("%d requests, want 4: the cache holds two", n)
	}
	long := strings.Repeat("x", maxKept+1)
	ask(long)
	ask(long)
	if n := len(s.Requests()) - before; n != 6 {
		t.Errorf("%d requests, want 6: long queries are not kept", n)
	}
}

// TestCacheKnowsTheModel: a vector of the old model does not answer for the
// new one.
func TestCacheKnowsTheModel(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{})
	e := opened(t, Config{Provider: OpenAI, URL: s.URL, Model: "tiny"}).(*Remote)
	var vs [2][]float32
	for i := range vs {
		if err := e.Identify(t.Context()); err != nil {
			t.Fatal(err)
		}
		var err error
		if vs[i], err = e.EmbedQuery(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		s.Behave(embedtest.Behaviour{Seed: 3})
		if h := Check(t.Context(), e); h.Problem != "" {
			t.Fatal(h.Problem)
		}
	}
	if slices.Equal(vs[0], vs[1]) {
		t.Error("the old model's vector after the change")
	}
}

func TestNoCache(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{})
	e := opened(t, Config{Provider: Ollama, URL: s.URL, Model: "tiny", QueryCache: -1})
	for range 3 {
		if _, err := e.EmbedQuery(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests, want 4 with the probe", n)
	}
}

func TestRemoteState(t *testing.T) {
	e := opened(t, Config{Provider: Ollama, URL: "http://127.0.0.1:1", Model: "tiny"}).(*Remote)
	if _, ok := e.Puller(); !ok {
		t.Error("an Ollama server can pull")
	}
	if e.State() != "ok" {
		t.Errorf("state before use %q", e.State())
	}
	embedtest.TestGone(t, e, endpoint.ErrUnavailable)
	if e.State() == "ok" {
		t.Error("state is ok without a server")
	}
	if _, err := e.EmbedQuery(t.Context(), "x"); !errors.Is(err, endpoint.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if _, ok := opened(t, Config{Provider: OpenAI, URL: "http://127.0.0.1:1", Model: "m"}).(*Remote).Puller(); ok {
		t.Error("an OpenAI-compatible server cannot pull")
	}
}
