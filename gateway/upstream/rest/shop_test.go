package rest

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
)

// A shop is a small REST API that answers in every way.
type shop struct {
	*httptest.Server
	calls  atomic.Int64
	tokens atomic.Int64
	hold   chan struct{} // slow replies wait for it
	begun  chan struct{} // a slow reply has begun
}

func newShop(t *testing.T) *shop {
	s := &shop{hold: make(chan struct{}), begun: make(chan struct{}, 10)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", s.echo)
	mux.HandleFunc("GET /who", s.echo)
	mux.HandleFunc("GET /kinds/{kind}", s.kinds)
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		s.begun <- struct{}{}
		select {
		case <-s.hold:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "late") // it may be gone
	})
	mux.HandleFunc("GET /trickle", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{") // the rest never comes
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /early", func(w http.ResponseWriter, _ *http.Request) { // the body is not read
		w.Header().Set("Connection", "close")
		http.Error(w, "no room", http.StatusInsufficientStorage)
	})
	mux.HandleFunc("GET /endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("GET /flaky", s.flaky)
	mux.HandleFunc("POST /flaky", s.flaky)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		f, head, err := r.FormFile("photo")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		data, _ := io.ReadAll(f) // in memory
		_, _ = fmt.Fprintf(w, "%s %s %x %s", head.Filename, head.Header.Get("Content-Type"), data, r.FormValue("note"))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// echo answers what it got.
func (s *shop) echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a short one is an answer, too
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]string{
		"query": r.URL.RawQuery, "key": r.Header.Get("X-Key"), "cookie": r.Header.Get("Cookie"), "body": string(body),
		"auth": r.Header.Get("Authorization"), "fixed": r.Header.Get("X-Fixed"), "type": r.Header.Get("Content-Type"),
	})
}

func (s *shop) kinds(w http.ResponseWriter, r *http.Request) {
	switch kind := r.PathValue("kind"); kind {
	case "gzip":
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"packed":true}`)
		_ = z.Close()
	case "bomb":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 40 {
			_, _ = z.Write(make([]byte, 1<<20))
		}
		_ = z.Close()
	case "brotli":
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "x")
	case "none":
		w.WriteHeader(http.StatusNoContent)
	case "image":
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write([]byte{0, 1, 2})
	case "pdf":
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = io.WriteString(w, "%PDF")
	case "lie":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "<html>")
	case "latin":
		w.Header().Set("Content-Type", "application/json; charset=iso-8859-1")
		_, _ = w.Write([]byte("{\"a\":\"caf\xe9\"}"))
	case "deep":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000))
	case "huge":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"a":%q}`, strings.Repeat("x", 3<<20))
	case "here":
		http.Redirect(w, r, "/who?moved=1", http.StatusFound)
	case "there":
		http.Redirect(w, r, "http://other.example/who", http.StatusFound)
	case "loop":
		http.Redirect(w, r, "/kinds/loop", http.StatusFound)
	case "cut":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
	default:
		http.Error(w, "no "+kind, http.StatusNotFound)
	}
}

// flaky fails as often as the query says: 429 with Retry-After, 503, or the
// end of the connection.
func (s *shop) flaky(w http.ResponseWriter, r *http.Request) {
	n := s.calls.Add(1)
	if n > 1 {
		_, _ = fmt.Fprintf(w, "at last, %d", n)
		return
	}
	switch r.URL.Query().Get("how") {
	case "429":
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	case "later":
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	case "503":
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		panic(http.ErrAbortHandler)
	}
}

// token gives tokens by client credentials.
func (s *shop) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id != "robot" || secret != "robot-secret" || r.FormValue("grant_type") != "client_credentials" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"who is that"}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"access_token":"token-number-%d","token_type":"Bearer","expires_in":%s}`, s.tokens.Add(1), r.FormValue("audience"))
}

const shopDocument = `
openapi: 3.1.0
info: {title: Shop}
paths:
  /echo:
    post:
      operationId: echo
      parameters: [{name: q, in: query, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {type: object, properties: {a: {type: string}}}}}}
  /who: {get: {operationId: who}}
  /kinds/{kind}: {get: {operationId: kinds, parameters: [{name: kind, in: path, required: true, schema: {type: string}}]}}
  /slow: {get: {operationId: slow}}
  /trickle: {get: {operationId: trickle}}
  /early: {post: {operationId: early, requestBody: {content: {text/plain: {schema: {type: string}}}}}}
  /endless: {get: {operationId: endless}}
  /flaky:
    get: {operationId: flaky, parameters: [{name: how, in: query, schema: {type: string}}]}
    post: {operationId: flakyPost}
  /upload:
    post:
      operationId: upload
      requestBody: {content: {multipart/form-data: {schema: {type: object, properties: {photo: {type: string, format: binary}, note: {type: string}}}}}}
`

// spec is that of the shop, as change leaves it.
func (s *shop) spec(t *testing.T, change func(*Spec)) Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(path, []byte(shopDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	sp := Spec{Name: "shop", Origin: Origin{Document: path, BaseURL: s.URL}}
	if change != nil {
		change(&sp)
	}
	return sp
}

// open is a Set of one API that runs during the test.
func open(t *testing.T, sp Spec, o Options) *Set {
	t.Helper()
	set, err := NewSet([]Spec{sp}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- set.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return set
}

// answer is what a call gives: the text of its content, and whether it is an
// error.
func answer(t *testing.T, set *Set, tool, arguments string) (text string, isError bool, res upstream.Result) {
	t.Helper()
	res, err := set.Call(t.Context(), upstream.Request{Server: "shop", Tool: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	t.Cleanup(res.Release)
	return said(t, res)
}

func said(t *testing.T, res upstream.Result) (string, bool, upstream.Result) {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(res.Raw, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("%s: %v", res.Raw, err)
	}
	return r.Content[0].Text, r.IsError, res
}

func TestCallsOfTheShop(t *testing.T) {
	shop := newShop(t)
	set := open(t, shop.spec(t, func(sp *Spec) { sp.Headers = map[string]string{"X-Fixed": "yes"} }), Options{})
	for _, c := range []struct {
		tool, arguments string
		want            string // part of the text
		isError         bool
	}{
		{"echo", `{"q":"a b","a":"x"}`, `"body":"{\"a\":\"x\"}"`, false},
		{"echo", `{}`, `"fixed":"yes"`, false},
		{"upload", `{"photo":"data:image/png;name=p.png;base64,AAEC","note":"hi"}`, "p.png image/png 000102 hi", false},
		{"kinds", `{"kind":"gzip"}`, `{"packed":true}`, false},
		{"kinds", `{"kind":"none"}`, "204 No Content", false},
		{"kinds", `{"kind":"lie"}`, "<html>", false},
		{"kinds", `{"kind":"latin"}`, `{"a":"café"}`, false},
		{"kinds", `{"kind":"deep"}`, "[[[[", false},
		{"early", `{"body":"` + strings.Repeat("x", 1<<20) + `"}`, "507 Insufficient Storage: no room", true},
		{"kinds", `{"kind":"here"}`, `"query":"moved=1"`, false},
		{"kinds", `{"kind":"there"}`, "302 Found: it leads to http://other.example/who, which is not followed", true},
		{"kinds", `{"kind":"loop"}`, "302 Found: it leads to /kinds/loop", true},
		{"kinds", `{"kind":"gone"}`, "404 Not Found: no gone", true},
		{"kinds", `{"kind":".."}`, `argument kind: ".." would be another path`, true},
		{"kinds", `{"kind":"huge"}`, `{"a":"xxx`, false},
	} {
		text, isError, _ := answer(t, set, c.tool, c.arguments)
		if !strings.Contains(text, c.want) || isError != c.isError {
			t.Errorf("%s %s: got %.300s, error %v", c.tool, c.arguments, text, isError)
		}
	}
	for kind, want := range map[string]string{
		"image": `{"content":[{"data":"AAEC","mimeType":"image/png","type":"image"}]}`,
		"pdf":   `{"content":[{"resource":{"blob":"JVBERg==","mimeType":"application/pdf","uri":"` + shop.URL + `/kinds/pdf"},"type":"resource"}]}`,
	} {
		if res, err := set.Call(t.Context(), upstream.Request{Server: "shop", Tool: "kinds", Arguments: json.RawMessage(`{"kind":"` + kind + `"}`)}); err != nil || string(res.Raw) != want {
			t.Errorf("%s: got %s, %v", kind, res.Raw, err)
		}
	}
	for tool, want := range map[string]error{"kinds bomb": upstream.ErrTooLarge, "endless": upstream.ErrTooLarge, "kinds cut": upstream.ErrGone, "kinds brotli": upstream.ErrGone} {
		name, kind, _ := strings.Cut(tool, " ")
		arguments := "{}"
		if kind != "" {
			arguments = `{"kind":"` + kind + `"}`
		}
		res, err := set.Call(t.Context(), upstream.Request{Server: "shop", Tool: name, Arguments: json.RawMessage(arguments)})
		if !errors.Is(err, want) || !res.Sent {
			t.Errorf("%s: got %v, sent %v", tool, err, res.Sent)
		}
	}
	if room.TryAcquire(64 << 20) {
		t.Error("a large reply that is not released takes no room")
		room.Release(64 << 20)
	}
}

func TestWhatIsNoCall(t *testing.T) {
	shop := newShop(t)
	set := open(t, shop.spec(t, nil), Options{})
	for _, c := range []struct {
		server, tool string
		want         string
	}{
		{"other", "x", "call other/x: no such server"},
		{"shop", "gone", "call shop/gone: its document has no such operation any more"},
	} {
		res, err := set.Call(t.Context(), upstream.Request{Server: c.server, Tool: c.tool})
		if err == nil || err.Error() != c.want || res.Sent {
			t.Errorf("got %v", err)
		}
	}
	shop.Close()
	res, err := set.Call(t.Context(), upstream.Request{Server: "shop", Tool: "who", Retries: 1})
	if !errors.Is(err, upstream.ErrNotConnected) || res.Sent {
		t.Errorf("got %v, sent %v", err, res.Sent)
	}
}

func TestCancelAndTimeout(t *testing.T) {
	shop := newShop(t)
	set := open(t, shop.spec(t, func(sp *Spec) { sp.Timeout = 50 * time.Millisecond }), Options{})
	_, err := set.Call(context.Background(), upstream.Request{Server: "shop", Tool: "slow"}) // without a deadline of its own
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	// A reply that begins and does not end.
	res, err := set.Call(context.Background(), upstream.Request{Server: "shop", Tool: "trickle"})
	if !errors.Is(err, context.DeadlineExceeded) || !res.Sent {
		t.Errorf("got %v, sent %v", err, res.Sent)
	}
	shop = newShop(t)
	set = open(t, shop.spec(t, func(sp *Spec) { sp.Concurrency, sp.Queue = 1, 1 }), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := set.Call(ctx, upstream.Request{Server: "shop", Tool: "slow"})
		done <- err
	}()
	<-shop.begun
	short, stop := context.WithTimeout(ctx, time.Millisecond)
	defer stop()
	if _, err := set.Call(short, upstream.Request{Server: "shop", Tool: "slow"}); err == nil || !strings.Contains(err.Error(), "waiting for one of 1 calls under way") {
		t.Errorf("got %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		tool, how  string
		idempotent bool
		retries    int
		want       string
		calls      int64
	}{
		{"flaky", "429", true, 1, "at last, 2", 2},
		{"flaky", "503", true, 1, "at last, 2", 2},
		{"flaky", "503", false, 3, "503 Service Unavailable", 1},
		{"flaky", "429", false, 3, "429 Too Many Requests (Retry-After: 0)", 1},
		{"flaky", "later", true, 3, "429 Too Many Requests (Retry-After: 3600)", 1},
		{"flaky", "503", true, 0, "503 Service Unavailable", 1},
		{"flakyPost", "", true, 1, "at last, 2", 2},
		{"flakyPost", "", false, 3, "", 1},
	} {
		shop := newShop(t)
		set := open(t, shop.spec(t, nil), Options{})
		arguments := fmt.Sprintf(`{"how":%q}`, c.how)
		if c.tool == "flakyPost" {
			arguments = "{}"
		}
		res, err := set.Call(t.Context(), upstream.Request{Server: "shop", Tool: c.tool, Arguments: json.RawMessage(arguments), Idempotent: c.idempotent, Retries: c.retries})
		if c.want == "" {
			if !errors.Is(err, upstream.ErrGone) || !res.Sent {
				t.Errorf("%+v: got %v", c, err)
			}
		} else if text, _, _ := said(t, res); err != nil || text != c.want {
			t.Errorf("%+v: got %q, %v", c, text, err)
		}
		if n := shop.calls.Load(); n != c.calls {
			t.Errorf("%+v: %d requests", c, n)
		}
	}
}
