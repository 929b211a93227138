package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// nested is an array of arrays, n deep.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestBytesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	connections(t, fewEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		s := start(t, Options{}, spec(&rawServer{Version: version}))
		raw := mustCall(t, s, "raw", "bytes").Raw
		if !utf8.Valid(raw) || !json.Valid(raw) || !strings.Contains(string(raw), "a\uFFFDb") {
			t.Errorf("got %q", raw)
		}
		mustCall(t, s, "raw", "exact")
	})
}

func TestDeepNesting(t *testing.T) {
	t.Parallel()
	connections(t, fewEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		deep := `{"name":"deep","inputSchema":{"default":` + nested(20000) + `}}`
		s := start(t, Options{}, spec(&rawServer{Version: version, Tools: []string{exactTools[0], deep, exactTools[1]}}))
		l, err := s.Refresh(within(t, hangTime), "raw")
		if err != nil || len(l.Tools) != 2 || len(l.Warnings) != 1 || l.Warnings[0] != "entry 2 on page 1 of tools/list is nested deeper than 1000" {
			t.Errorf("got %d tools, warnings %.200q, error %v", len(l.Tools), l.Warnings, err)
		}
		_, err = s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "deep"})
		wantError(t, err, "call raw/deep: the answer")
		if errors.Is(err, upstream.ErrNotConnected) {
			t.Error("the call waited for its deadline")
		}
		mustCall(t, s, "raw", "exact")
	})
}

func TestUnknownResultType(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, stdioSpec(t, &rawServer{Version: wire.Stateless}))
	_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "odd type"})
	wantError(t, err, `call raw/odd type: the result is of the unknown type "deferred"`)
	mustCall(t, s, "raw", "ask")
}

func TestManyToolsInOnePage(t *testing.T) {
	t.Parallel()
	tools := make([]string, maxTools+5000)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"t%d"}`, i)
	}
	p, err := decodePage([]byte(`{"tools":[` + strings.Join(tools, ",") + `]}`))
	if err != nil || len(p.tools) != maxTools+1 {
		t.Fatalf("decoded %d tools, error %v", len(p.tools), err)
	}
	var l upstream.Listing
	p.addTo(&l, 1)
	if len(l.Tools) != maxTools || len(l.Warnings) != 1 || l.Warnings[0] != "tools/list is too long: stopped within page 1 with 20000 tools" {
		t.Errorf("got %d tools, warnings %q", len(l.Tools), l.Warnings)
	}
}

// A lockedBuffer is a log of a running Set.
type lockedBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestSecretsThatServersRepeat(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	o := Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	sp := stdioSpec(t, &rawServer{Version: wire.Stateless})
	sp.Env["API_KEY"] = "very-secret-key"
	web := odd(t, &rawServer{Version: wire.Stateless}, "server/discover", func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "bad token "+req.Header.Get("Authorization")+" key "+req.URL.Query().Get("key"))
	})
	web.Name, web.Headers, web.URL = "web", map[string]string{"Authorization": "Bearer very-secret-token"}, web.URL+"/?key=very-secret-query"
	s := start(t, o, sp, web)
	_, leak := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "leak"})
	wantError(t, leak, "bad credentials: [masked]")
	res := mustCall(t, s, "raw", "leak result")
	_, refused := s.Refresh(within(t, hangTime), "web")
	wantError(t, refused, "bad token [masked] key [masked]")
	next(t, waitFor(t, func() bool { return strings.Contains(log.String(), "key is [masked]") }), "line of stderr")
	for what, text := range map[string]string{
		"result": string(res.Raw), "error": leak.Error(), "refusal": refused.Error(), "status": fmt.Sprint(s.Status()), "log": log.String(),
	} {
		if strings.Contains(text, "very-secret") {
			t.Errorf("%s says %s", what, text)
		}
	}
}
