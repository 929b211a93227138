package openai

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tooldex/tooldex/embed/embedtest"
	"github.com/tooldex/tooldex/embed/endpoint"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opened(t *testing.T, o Options) *endpoint.Endpoint {
	t.Helper()
	if o.Model == "" {
		o.Model = "tiny"
	}
	e, err := New(o)
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

func TestSuite(t *testing.T) {
	for name, b := range map[string]embedtest.Behaviour{
		"numbers":       {},
		"base64":        {Base64: true},
		"out of order":  {Shuffle: true},
		"short context": {TooLong: 1000, TooLongStatus: 400, TooLongMessage: "maximum context length is 250 tokens"},
		"llama-server":  {TooLong: 2000, TooLongStatus: 500, TooLongMessage: "input is too large to process. increase the physical batch size"},
		"curt":          {TooLong: 2000, TooLongStatus: 400, TooLongMessage: "bad request"},
	} {
		t.Run(name, func(t *testing.T) {
			embedtest.Test(t, func(t *testing.T) embedtest.Embedder {
				return opened(t, Options{URL: embedtest.NewServer(t, b).URL + "/v1"})
			}, embedtest.Options{})
		})
	}
}

func TestSuiteLive(t *testing.T) {
	address := os.Getenv("TOOLDEX_OPENAI_URL")
	if address == "" {
		t.Skip("TOOLDEX_OPENAI_URL is not set; .ci/embedders starts a server and sets it")
	}
	model := os.Getenv("TOOLDEX_OPENAI_MODEL")
	embedtest.Test(t, func(t *testing.T) embedtest.Embedder {
		return opened(t, Options{URL: address, Model: model, Key: os.Getenv("TOOLDEX_OPENAI_KEY")})
	}, embedtest.Options{Cosine: .999})
	h := opened(t, Options{URL: address, Model: model, Key: os.Getenv("TOOLDEX_OPENAI_KEY")}).Check(t.Context())
	if !h.HasModel || h.Rate == 0 || h.Problem != "" {
		t.Errorf("health: %+v", h)
	}
	t.Logf("health: %+v", h)
}

func TestGone(t *testing.T) {
	embedtest.TestGone(t, opened(t, Options{URL: "http://127.0.0.1:1/v1"}), endpoint.ErrUnavailable)
	hangs := embedtest.NewServer(t, embedtest.Behaviour{Fault: func(_ http.ResponseWriter, r *http.Request, _ embedtest.Request) bool {
		<-r.Context().Done()
		return true
	}})
	embedtest.TestGone(t, opened(t, Options{URL: hangs.URL}), endpoint.ErrUnavailable)
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ url, version, want string }{
		{"http://h/v1", "", "http://h/v1/embeddings"},
		{"http://h/v1/", "", "http://h/v1/embeddings"},
		{"http://h/v1/embeddings", "", "http://h/v1/embeddings"},
		{"http://h", "", "http://h/embeddings"},
		{"http://h/v1?tenant=a", "", "http://h/v1/embeddings?tenant=a"},
		{"https://x.openai.azure.com", "2024-02-01", "https://x.openai.azure.com/openai/deployments/dep/embeddings?api-version=2024-02-01"},
		{"https://x.openai.azure.com/openai/", "2024-02-01", "https://x.openai.azure.com/openai/deployments/dep/embeddings?api-version=2024-02-01"},
		{"https://x.openai.azure.com/openai/deployments/d2", "v", "https://x.openai.azure.com/openai/deployments/d2/embeddings?api-version=v"},
		{"https://x.openai.azure.com/openai/v1", "", "https://x.openai.azure.com/openai/v1/embeddings"},
	} {
		base := mustParse(t, tt.url)
		if got := embeddingsURL(base, Options{Model: "dep", APIVersion: tt.version}); got != tt.want {
			t.Errorf("%s with version %q: %s, want %s", tt.url, tt.version, got, tt.want)
		}
	}
	if !isAzure(mustParse(t, "https://x.openai.azure.com/openai/v1"), "") || isAzure(mustParse(t, "https://azure.com.example"), "") {
		t.Error("Azure's addresses are told wrongly")
	}
}

func TestRequest(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{Dimensions: true})
	e := opened(t, Options{
		URL: s.URL + "/v1", Key: "secret", Headers: map[string]string{"X-Tenant": "a"},
		Endpoint: endpoint.Options{Dimensions: 16, QueryPrefix: "query: "},
	})
	if _, err := e.EmbedQuery(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[1]
	if r.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("X-Tenant") != "a" ||
		r.Dimensions != 16 || !slices.Equal(r.Texts, []string{"query: x"}) {
		t.Errorf("request %+v", r)
	}
}

// OpenAI itself answers nobody without a key: no text is sent there then.
func TestNoKey(t *testing.T) {
	e := opened(t, Options{Model: "text-embedding-3-small"})
	_, err := e.EmbedQuery(t.Context(), "x")
	if err == nil || !strings.Contains(err.Error(), "there is no key, so nothing is sent") || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Errorf("it says %v", err)
	}
}

func TestAzure(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{Base64: true})
	e := opened(t, Options{URL: s.URL, Model: "dep", Key: "secret", APIVersion: "2024-02-01"})
	if _, err := e.EmbedQuery(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[1]
	if r.Path != "/openai/deployments/dep/embeddings" || r.Query != "api-version=2024-02-01" || r.Header.Get("api-key") != "secret" || r.Header.Get("Authorization") != "" {
		t.Errorf("request %+v", r)
	}
}

func TestProbeTellsModelsApart(t *testing.T) {
	id := func(b embedtest.Behaviour) string {
		e := opened(t, Options{URL: embedtest.NewServer(t, b).URL})
		if err := e.Identify(t.Context()); err != nil {
			t.Fatal(err)
		}
		return e.Model()
	}
	if a, b := id(embedtest.Behaviour{}), id(embedtest.Behaviour{Base64: true}); a != b {
		t.Errorf("the same model at two addresses: %q and %q", a, b)
	}
	if a, b := id(embedtest.Behaviour{}), id(embedtest.Behaviour{Seed: 5}); a == b {
		t.Errorf("two models of one name: both %q", a)
	}
}

func TestErrorsSayWhatToChange(t *testing.T) {
	fail := func(code int, message string) func(http.ResponseWriter, *http.Request, embedtest.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ embedtest.Request) bool {
			embedtest.Fail(w, code, message)
			return true
		}
	}
	redirect := func(w http.ResponseWriter, r *http.Request, _ embedtest.Request) bool {
		http.Redirect(w, r, "https://elsewhere.example/v1/embeddings", http.StatusTemporaryRedirect)
		return true
	}
	for name, tt := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request, embedtest.Request) bool
		key   string
		want  []string
	}{
		"no key":      {fail(401, "missing key"), "", []string{"embedding.key_env", "missing key", "401"}},
		"wrong key":   {fail(403, "wrong key"), "secret", []string{"check the key from $MY_KEY", "403"}},
		"no model":    {fail(404, "model not found"), "", []string{"embedding.model", "embedding.url"}},
		"bad setting": {fail(400, "dimensions not supported"), "", []string{"embedding.dimensions"}},
		"no quota":    {fail(429, "insufficient_quota"), "", []string{"quota"}},
		"redirect":    {redirect, "secret", []string{"embedding.url", "elsewhere.example"}},
		"error in a 200": {func(w http.ResponseWriter, _ *http.Request, _ embedtest.Request) bool {
			embedtest.Reply(w, map[string]any{"error": map[string]any{"message": "unknown model"}})
			return true
		}, "", []string{"unknown model", "embedding.model"}},
		"404 in a 200": {func(w http.ResponseWriter, _ *http.Request, _ embedtest.Request) bool {
			embedtest.Reply(w, map[string]any{"error": map[string]any{"message": "unknown model", "code": 404}})
			return true
		}, "", []string{"404", "embedding.model"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := embedtest.NewServer(t, embedtest.Behaviour{Fault: tt.fault})
			e := opened(t, Options{URL: s.URL + "/v1", Key: tt.key, KeySource: "$MY_KEY"})
			_, err := e.EmbedDocuments(t.Context(), []string{"a", "b"})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(tt.want, s.URL) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q says nothing of %q", err, want)
				}
			}
			if tt.key != "" && strings.Contains(err.Error(), tt.key) {
				t.Errorf("%q tells the key", err)
			}
			if n := len(s.Requests()); n > 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// TestUnreadableReplies: each kind of broken reply is an error or is got over
// by asking again, and the other texts of the batch get their vectors.
func TestUnreadableReplies(t *testing.T) {
	write := func(format string, a ...any) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) { fmt.Fprintf(w, format, a...) }
	}
	for name, broken := range map[string]func(w http.ResponseWriter){
		"no JSON":            write("<html>hello</html>"),
		"NaN written out":    write(`{"data":[{"index":0,"embedding":[NaN]}]}`),
		"nothing":            write(""),
		"no data":            write(`{}`),
		"too many":           write(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]},{"index":3,"embedding":[1]}]}`),
		"index outside":      write(`{"data":[{"index":7,"embedding":[1]}]}`),
		"broken base64":      write(`{"data":[{"index":0,"embedding":"!!"}]}`),
		"three bytes":        write(`{"data":[{"index":0,"embedding":"AAAA"}]}`),
		"null":               write(`{"data":[{"index":0,"embedding":null}]}`),
		"base64 of NaN":      write(`{"data":[{"index":0,"embedding":"%s"}]}`, base64.StdEncoding.EncodeToString([]byte{0, 0, 0xc0, 0x7f})),
		"out of range":       write(`{"data":[{"index":0,"embedding":[1e99]}]}`),
		"cut off":            func(w http.ResponseWriter) { w.Header().Set("Content-Length", "1000"); fmt.Fprint(w, `{"data":[`) },
		"connection dropped": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			s := embedtest.NewServer(t, embedtest.Behaviour{Fault: func(w http.ResponseWriter, _ *http.Request, q embedtest.Request) bool {
				if !slices.Contains(q.Texts, "poison") {
					return false
				}
				broken(w)
				return true
			}})
			e := opened(t, Options{URL: s.URL, Endpoint: endpoint.Options{Attempts: 1}})
			vs, err := e.EmbedDocuments(t.Context(), []string{"a", "poison", "b"})
			if err == nil || vs[1] != nil {
				t.Errorf("vector %v, error %v", vs[1], err)
			}
			if connection := name == "connection dropped" || name == "cut off"; !connection && (vs[0] == nil || vs[2] == nil) {
				t.Errorf("the neighbours have no vector: %v", err)
			}
		})
	}
}

func TestHalfABatchFails(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{Mangle: func(texts []string, vs [][]float32) [][]float32 {
		for i, text := range texts {
			if strings.HasPrefix(text, "zero") {
				clear(vs[i])
			}
		}
		return vs
	}})
	e := opened(t, Options{URL: s.URL})
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = []string{"good", "zero"}[i%2] + fmt.Sprint(i)
	}
	vs, err := e.EmbedDocuments(t.Context(), texts)
	if err == nil || !strings.Contains(err.Error(), "50 of 100 texts have no vector") {
		t.Errorf("error %v", err)
	}
	for i, v := range vs {
		if (v == nil) != (i%2 == 1) {
			t.Errorf("text %d: vector %v", i, v)
		}
	}
}

func TestRestartUnderLoad(t *testing.T) {
	var broken atomic.Bool
	s := embedtest.NewServer(t, embedtest.Behaviour{Fault: func(http.ResponseWriter, *http.Request, embedtest.Request) bool {
		if broken.Load() {
			panic(http.ErrAbortHandler)
		}
		return false
	}})
	e := opened(t, Options{URL: s.URL, Endpoint: endpoint.Options{Batch: 2, Parallel: 4}})
	if err := e.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	time.AfterFunc(300*time.Millisecond, func() { broken.Store(false) })
	vs, err := e.EmbedDocuments(t.Context(), make([]string, 40))
	if err != nil || slices.ContainsFunc(vs, func(v []float32) bool { return v == nil }) {
		t.Errorf("a restart of 300 ms during a fill: %v", err)
	}
	if n := s.MostAtOnce(); n > 4 {
		t.Errorf("%d requests at once, want at most 4", n)
	}
}

func TestHealth(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{Model: "other"})
	if h := opened(t, Options{URL: s.URL}).Check(t.Context()); !h.Reachable || h.HasModel || !strings.Contains(h.Problem, "embedding.model") {
		t.Errorf("no such model: %+v", h)
	}
	if h := opened(t, Options{URL: s.URL, Model: "other"}).Check(t.Context()); !h.HasModel || h.Latency <= 0 || h.Problem != "" {
		t.Errorf("health %+v", h)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Model: "m", URL: "nonsense"}, {Model: "m", URL: "http://[::1"}} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v): no error", o)
		}
	}
	if e := opened(t, Options{URL: "http://user:password@h/v1"}); strings.Contains(fmt.Sprint(e.EmbedQuery(t.Context(), "x")), "password") {
		t.Error("an error tells the address's password")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":"AACAPw=="}]}`))
	f.Add([]byte(`{"error":{"code":"x"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		vs, err := decode(raw, 2)
		if err == nil && (len(vs) != 2 || vs[0] == nil || vs[1] == nil) {
			t.Errorf("decode(%q) = %v", raw, vs)
		}
	})
}

func TestVectorKeepsEveryBit(t *testing.T) {
	want := []float32{1, -0.5, math.SmallestNonzeroFloat32, math.MaxFloat32}
	raw := []byte(`"`)
	var b []byte
	for _, x := range want {
		u := math.Float32bits(x)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	raw = append(base64.StdEncoding.AppendEncode(raw, b), '"')
	if got, err := vector(raw); err != nil || !slices.Equal(got, want) {
		t.Errorf("vector(%s) = %v, %v", raw, got, err)
	}
}

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
