package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/embed/embedtest"
	"github.com/tooldex/tooldex/embed/endpoint"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opened(t *testing.T, o Options) *Embedder {
	t.Helper()
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
	embedtest.Test(t, func(t *testing.T) embedtest.Embedder {
		s := embedtest.NewServer(t, embedtest.Behaviour{Model: "tiny"})
		return opened(t, Options{URL: s.URL, Model: "tiny"})
	}, embedtest.Options{})
}

func TestSuiteLive(t *testing.T) {
	address := os.Getenv("TOOLDEX_OLLAMA_URL")
	if address == "" {
		t.Skip("TOOLDEX_OLLAMA_URL is not set; .ci/embedders starts a server and sets it")
	}
	model := os.Getenv("TOOLDEX_OLLAMA_MODEL")
	embedtest.Test(t, func(t *testing.T) embedtest.Embedder {
		return opened(t, Options{URL: address, Model: model})
	}, embedtest.Options{Cosine: .999})
	h := opened(t, Options{URL: address, Model: model}).Check(t.Context())
	if !h.HasModel || h.Version == "" || h.Rate == 0 || h.Problem != "" {
		t.Errorf("health: %+v", h)
	}
	t.Logf("health: %+v", h)
	missing := opened(t, Options{URL: address, Model: "no-such-model"})
	if _, err := missing.EmbedQuery(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "ollama pull no-such-model") {
		t.Errorf("a model the server has not: %v", err)
	}
}

func TestGone(t *testing.T) {
	embedtest.TestGone(t, opened(t, Options{URL: "http://127.0.0.1:1", Model: "tiny"}), endpoint.ErrUnavailable)
}

func TestRequest(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{})
	forever := -time.Second
	e := opened(t, Options{
		URL: s.URL, Model: "tiny", KeepAlive: &forever, Headers: map[string]string{"X-Proxy": "yes"},
		Endpoint: endpoint.Options{Dimensions: 16, QueryPrefix: "q: ", DocumentPrefix: "d: "},
	})
	v, err := e.EmbedQuery(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if len(v) != 16 {
		t.Errorf("%d dimensions, want the 16 asked for, which this server ignores", len(v))
	}
	if _, err := e.EmbedDocuments(t.Context(), []string{"two"}); err != nil {
		t.Fatal(err)
	}
	rs := s.Requests()
	if len(rs) != 3 || rs[1].Texts[0] != "q: one" || rs[2].Texts[0] != "d: two" {
		t.Errorf("requests %+v", rs)
	}
	r := rs[2]
	if fmt.Sprint(r.KeepAlive) != "-1" || r.Dimensions != 16 || r.Header.Get("X-Proxy") != "yes" {
		t.Errorf("request %+v", r)
	}
	if got, want := e.Model(), "ollama/tiny@aaaaaaaaaaaa;d=16;p="; !strings.HasPrefix(got, want) {
		t.Errorf("identity %q, want %q…", got, want)
	}
}

func TestDigestTellsModelsApart(t *testing.T) {
	a := embedtest.NewServer(t, embedtest.Behaviour{Model: "tiny"})
	b := embedtest.NewServer(t, embedtest.Behaviour{Model: "tiny", Digest: "sha256:" + strings.Repeat("b", 64)})
	ids := map[string]bool{}
	for _, s := range []*embedtest.Server{a, b} {
		e := opened(t, Options{URL: s.URL, Model: "tiny:latest"})
		if err := e.Identify(t.Context()); err != nil {
			t.Fatal(err)
		}
		ids[e.Model()] = true
	}
	if len(ids) != 2 {
		t.Errorf("identities %v", ids)
	}
}

func TestMissingModel(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{Model: "tiny"})
	e := opened(t, Options{URL: s.URL, Model: "nomic-embed-text"})
	_, err := e.EmbedQuery(t.Context(), "x")
	if err == nil || !strings.Contains(err.Error(), `ollama pull nomic-embed-text`) {
		t.Errorf("error %v, want one that says how to get the model", err)
	}
	h := e.Check(t.Context())
	if !h.Reachable || h.HasModel || h.Version == "" || h.Problem == "" {
		t.Errorf("health %+v", h)
	}
	if len(s.Requests()) != 0 {
		t.Errorf("embedding requests for a model that is not there: %v", s.Requests())
	}
}

func TestPull(t *testing.T) {
	var asked string
	s := embedtest.NewServer(t, embedtest.Behaviour{Fault: func(w http.ResponseWriter, r *http.Request, q embedtest.Request) bool {
		if r.URL.Path != "/api/pull" {
			return false
		}
		asked = q.Model
		if q.Model == "absent" {
			embedtest.Reply(w, map[string]string{"error": "pull model manifest: file does not exist"})
			return true
		}
		for i := range 3 {
			embedtest.Reply(w, map[string]any{"status": "pulling", "completed": i * 50, "total": 100})
		}
		return true
	}})
	var seen []string
	e := opened(t, Options{URL: s.URL, Model: "tiny"})
	err := e.Pull(t.Context(), func(status string, done, total int64) {
		seen = append(seen, fmt.Sprint(status, done, "/", total))
	})
	if got := strings.Join(seen, " "); err != nil || got != "pulling0/100 pulling50/100 pulling100/100" || asked != "tiny" {
		t.Errorf("pull of %q: %q, error %v", asked, got, err)
	}
	err = opened(t, Options{URL: s.URL, Model: "absent"}).Pull(t.Context(), func(string, int64, int64) {})
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("error %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Model: "m", URL: "not an address"}, {Model: "m", URL: "://"}} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v): no error", o)
		}
	}
	if e := opened(t, Options{Model: "m"}); e.Model() != "ollama/m@pending" {
		t.Errorf("identity %q", e.Model())
	}
}

// TestNaN: Ollama 500s on NaN, and a proxy may write it out; either costs one
// text only.
func TestNaN(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{Fault: func(w http.ResponseWriter, _ *http.Request, q embedtest.Request) bool {
		for _, text := range q.Texts {
			if strings.HasPrefix(text, "written") {
				fmt.Fprint(w, `{"embeddings":[[NaN,1]]}`)
				return true
			}
			if strings.HasPrefix(text, "refused") {
				embedtest.Fail(w, http.StatusInternalServerError, "json: unsupported value: NaN")
				return true
			}
		}
		return false
	}})
	e := opened(t, Options{URL: s.URL, Model: "tiny", Endpoint: endpoint.Options{Attempts: 1}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	vs, err := e.EmbedDocuments(ctx, []string{"good", "written", "good too", "refused", "good again"})
	if err == nil || !strings.Contains(err.Error(), "2 of 5 texts") {
		t.Errorf("error %v", err)
	}
	for i, want := range []bool{true, false, true, false, true} {
		if (vs[i] != nil) != want {
			t.Errorf("text %d: vector %v", i, vs[i])
		}
	}
}

func TestSameModel(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"nomic-embed-text", "nomic-embed-text:latest", true},
		{"Nomic-Embed-Text:latest", "nomic-embed-text", true},
		{"nomic-embed-text:v1.5", "nomic-embed-text", false},
		{"host:5000/x/m", "host:5000/x/m:latest", true},
	} {
		if got := sameModel(tt.a, tt.b); got != tt.want {
			t.Errorf("sameModel(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

func TestHealthIsJSON(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{Model: "tiny"})
	h := opened(t, Options{URL: s.URL, Model: "tiny"}).Check(t.Context())
	if !h.Reachable || !h.HasModel || h.Dims != 32 || h.Rate <= 0 || h.Problem != "" {
		t.Errorf("health %+v", h)
	}
	if _, err := json.Marshal(h); err != nil {
		t.Error(err)
	}
}
