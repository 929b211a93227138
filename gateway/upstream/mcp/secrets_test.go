package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

func writeSecret(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSecretsOfHeaders has the file of a token change between calls, and the
// server repeat the token that it refuses.
func TestSecretsOfHeaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	sp, plain := serveHTTP(t, &rawServer{Version: wire.Stateless})
	var mu sync.Mutex
	wants, seen := "Bearer first-token", []string{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got := req.Header.Get("Authorization")
		if !slices.Contains(seen, got) {
			seen = append(seen, got)
		}
		if got != wants {
			http.Error(w, "I do not take "+got, http.StatusUnauthorized)
			return
		}
		plain.Config.Handler.ServeHTTP(w, req)
	}))
	t.Cleanup(front.Close)
	sp.URL, sp.Headers = front.URL, map[string]string{"Authorization": "Bearer ${file:" + path + "}"}
	s := start(t, Options{}, sp)
	_, err := s.Refresh(within(t, hangTime), "raw")
	wantError(t, err, "header Authorization: secret ${file:"+path+"}: no such file or directory")
	writeSecret(t, path, "first-token")
	mustCall(t, s, "raw", "exact")

	writeSecret(t, path, "second-token")
	_, err = s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact"})
	wantError(t, err, "credentials refused", "I do not take Bearer [masked]", "check its token")
	mu.Lock()
	wants = "Bearer second-token"
	mu.Unlock()
	mustCall(t, s, "raw", "exact")
	if want := []string{"Bearer first-token", "Bearer second-token"}; !slices.Equal(seen, want) {
		t.Errorf("the server saw %q, want %q", seen, want)
	}
	writeSecret(t, path, "split\r\nX-Other: 1")
	_, err = s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact"})
	wantError(t, err, "header Authorization: its secret has characters that no header may have")
}

// TestSecretsOfPrograms has a program started anew when what it was started
// with changes, and a command run again when its value is refused.
func TestSecretsOfPrograms(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	writeSecret(t, path, "first-long-key")
	sp := stdioSpec(t, &rawServer{Version: wire.Handshake})
	sp.Env["SOME_KEY"] = "${file:" + path + "}"
	s := start(t, Options{lookAgain: 1}, sp)
	environ := func() string {
		var got struct{ StructuredContent []string }
		if err := json.Unmarshal(mustCall(t, s, "raw", "environ").Raw, &got); err != nil || len(got.StructuredContent) == 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		return strings.Join(got.StructuredContent, " ")
	}
	if text := environ(); !strings.Contains(text, "SOME_KEY=[masked]") {
		t.Errorf("got %s", text)
	}
	before := pid(t, s, "raw")
	if again := pid(t, s, "raw"); again != before {
		t.Errorf("another process, %d after %d, with the same secret", again, before)
	}
	writeSecret(t, path, "a")
	if text := environ(); !strings.Contains(text, "SOME_KEY=a") { // too short to be masked
		t.Errorf("got %s", text)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if after := pid(t, s, "raw"); after == before {
		t.Errorf("the process is still %d", after)
	}
}

// TestCommandsThatAreRefused has a command give a new token once the one
// before is not taken any more.
func TestCommandsThatAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs")
	sp, plain := serveHTTP(t, &rawServer{Version: wire.Stateless})
	var mu sync.Mutex
	taken := 1
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if req.Header.Get("X-Run") != fmt.Sprint("run", taken) {
			http.Error(w, "old", http.StatusUnauthorized)
			return
		}
		plain.Config.Handler.ServeHTTP(w, req)
	}))
	t.Cleanup(front.Close)
	sp.URL = front.URL
	sp.Headers = map[string]string{"X-Run": "run${cmd:echo x >> " + path + "; grep -c x " + path + "}"}
	s := start(t, Options{}, sp)
	mustCall(t, s, "raw", "exact")
	mu.Lock()
	taken = 2
	mu.Unlock()
	mustCall(t, s, "raw", "exact")
	mustCall(t, s, "raw", "exact")
}
