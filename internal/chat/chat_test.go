package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
)

var schema = json.RawMessage(`{"type":"object"}`)

// model asks a server that answers with what f does for the n-th request.
func model(t *testing.T, provider string, f func(n int, w http.ResponseWriter, body string)) (*Model, *atomic.Int32) {
	t.Helper()
	n := new(atomic.Int32) // a connection that is cut tells nobody that its handler has ended
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		want := map[string]string{Ollama: "/api/chat", OpenAI: "/v1/chat/completions"}[provider]
		if r.URL.Path != want || r.Method != http.MethodPost {
			t.Errorf("%s %s, want POST %s", r.Method, r.URL.Path, want)
		}
		if provider == OpenAI && r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		f(int(n.Add(1)), w, string(body))
	}))
	t.Cleanup(s.Close)
	m, err := New(Config{Provider: provider, Model: "tiny", URL: s.URL, Key: map[string]string{OpenAI: "s3cret"}[provider], Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	m.pause = func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) }
	return m, n
}

const (
	openAIReply = `{"choices":[{"message":{"role":"assistant","content":"hello"}}],"usage":{"total_tokens":42}}`
	ollamaReply = `{"message":{"role":"assistant","content":"hello"},"prompt_eval_count":40,"eval_count":2,"done":true}`
)

func TestAsk(t *testing.T) {
	for provider, reply := range map[string]string{OpenAI: openAIReply, Ollama: ollamaReply} {
		m, _ := model(t, provider, func(_ int, w http.ResponseWriter, body string) {
			want := map[string]string{OpenAI: "response_format", Ollama: `"format":{"type":"object"}`}[provider]
			for _, part := range []string{want, `"tiny"`, "be brief", "who?", `"stream":false`} {
				if !strings.Contains(body, part) {
					t.Errorf("%s: no %s in %s", provider, part, body)
				}
			}
			fmt.Fprint(w, reply)
		})
		text, tokens, err := m.Ask(t.Context(), "be brief", "who?", schema)
		if text != "hello" || tokens != 42 || err != nil {
			t.Errorf("%s: %q, %d tokens, %v", provider, text, tokens, err)
		}
	}
}

// An endpoint that knows no schemas is asked without, from then on.
func TestWithoutSchema(t *testing.T) {
	m, n := model(t, OpenAI, func(_ int, w http.ResponseWriter, body string) {
		if strings.Contains(body, "response_format") {
			http.Error(w, `{"error":{"message":"response_format is not supported"}}`, 400)
			return
		}
		fmt.Fprint(w, openAIReply)
	})
	for range 2 {
		if text, _, err := m.Ask(t.Context(), "", "who?", schema); text != "hello" || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if n.Load() != 3 {
		t.Errorf("%d requests, want 3: the second question knows", n.Load())
	}
}

// A model that reasons takes its bound by another name, and is given more.
func TestReasons(t *testing.T) {
	m, n := model(t, OpenAI, func(_ int, w http.ResponseWriter, body string) {
		if strings.Contains(body, `"max_tokens"`) || !strings.Contains(body, "response_format") {
			http.Error(w, `{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`, 400)
			return
		}
		fmt.Fprint(w, openAIReply)
	})
	for range 2 {
		if text, _, err := m.Ask(t.Context(), "", "who?", schema); text != "hello" || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if n.Load() != 3 {
		t.Errorf("%d requests, want 3: the second question knows", n.Load())
	}
}

// Of what is refused, a wrong key is so for every question, a text that is too
// long for one.
func TestHopeless(t *testing.T) {
	for code, want := range map[int]bool{400: false, 401: true, 403: true, 404: true, 413: false, 422: false} {
		m, _ := model(t, Ollama, func(_ int, w http.ResponseWriter, _ string) { w.WriteHeader(code) })
		if _, _, err := m.Ask(t.Context(), "", "who?", schema); !Refused(err) || Hopeless(err) != want {
			t.Errorf("%d: refused %v, hopeless %v", code, Refused(err), Hopeless(err))
		}
	}
}

func TestAsksAgain(t *testing.T) {
	for name, bad := range map[string]func(w http.ResponseWriter){
		"full": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "busy", http.StatusTooManyRequests)
		},
		"broken":    func(w http.ResponseWriter) { http.Error(w, "oops", 500) },
		"no JSON":   func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") },
		"cut":       func(w http.ResponseWriter) { fmt.Fprint(w, openAIReply[:30]) },
		"empty":     func(w http.ResponseWriter) { fmt.Fprint(w, `{"choices":[]}`) },
		"no text":   func(w http.ResponseWriter) { fmt.Fprint(w, `{"choices":[{"message":{"content":null}}]}`) },
		"hangs up":  func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"too short": func(w http.ResponseWriter) { w.Header().Set("Content-Length", "9999"); fmt.Fprint(w, openAIReply[:9]) },
	} {
		m, n := model(t, OpenAI, func(n int, w http.ResponseWriter, _ string) {
			if n < 3 {
				bad(w)
				return
			}
			fmt.Fprint(w, openAIReply)
		})
		if text, _, err := m.Ask(t.Context(), "", "who?", nil); text != "hello" || err != nil || n.Load() != 3 {
			t.Errorf("%s: %q, %v after %d requests", name, text, err, n.Load())
		}
		m, n = model(t, OpenAI, func(_ int, w http.ResponseWriter, _ string) { bad(w) })
		if _, _, err := m.Ask(t.Context(), "", "who?", nil); err == nil || Refused(err) || n.Load() != tries {
			t.Errorf("%s for ever: %v after %d requests", name, err, n.Load())
		}
	}
}

func TestRefused(t *testing.T) {
	for name, bad := range map[string]func(w http.ResponseWriter){
		"server answered 401 Unauthorized: bad key [key] given": func(w http.ResponseWriter) {
			http.Error(w, `{"error":{"message":"bad key s3cret\ngiven"}}`, http.StatusUnauthorized)
		},
		"server answered 404 Not Found: no such model": func(w http.ResponseWriter) { http.Error(w, `{"error":"no such model"}`, 404) },
		"server answered 307 Temporary Redirect":       func(w http.ResponseWriter) { w.Header().Set("Location", "http://evil.example/"); w.WriteHeader(307) },
		"the reply is longer than 1048576 b":           func(w http.ResponseWriter) { fmt.Fprint(w, `{"message":"`, strings.Repeat("x", maxReply)) },
	} {
		m, n := model(t, OpenAI, func(_ int, w http.ResponseWriter, _ string) { bad(w) })
		_, _, err := m.Ask(t.Context(), "", "who?", nil)
		if err == nil || !Refused(err) || n.Load() != 1 || !strings.Contains(err.Error(), strings.Trim(name, `"`)) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v after %d requests, want %s", err, n.Load(), name)
		}
	}
}

// A server that never answers is left when the caller is.
func TestCancelled(t *testing.T) {
	asked, done := make(chan bool, 1), make(chan bool)
	m, _ := model(t, Ollama, func(_ int, _ http.ResponseWriter, _ string) { asked <- true; <-done })
	defer close(done)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, _, err := m.Ask(ctx, "", "who?", nil); ctx.Err() == nil || err == nil {
		t.Errorf("got %v", err)
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		c         Config
		url, fail string
	}{
		{Config{Provider: "x", Model: "m"}, "", `provider "x" is unknown`},
		{Config{Provider: OpenAI}, "", "no model"},
		{Config{Provider: OpenAI, Model: "m"}, "https://api.openai.com/v1/chat/completions", ""},
		{Config{Provider: OpenAI, Model: "m", URL: "http://h:1"}, "http://h:1/v1/chat/completions", ""},
		{Config{Provider: OpenAI, Model: "m", URL: "http://h:1/v1/"}, "http://h:1/v1/chat/completions", ""},
		{Config{Provider: OpenAI, Model: "m", URL: "http://h/v1/chat/completions"}, "http://h/v1/chat/completions", ""},
		{Config{Provider: Ollama, Model: "m"}, "http://127.0.0.1:11434/api/chat", ""},
		{Config{Provider: Ollama, Model: "m", URL: "http://h/api"}, "http://h/api/chat", ""},
	} {
		m, err := New(tt.c)
		if tt.fail != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fail) {
				t.Errorf("%+v: %v", tt.c, err)
			}
		} else if err != nil || m.url != tt.url {
			t.Errorf("%+v: %v", tt.c, err)
		}
	}
}
