package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// TestCallsThatAreDenied has a connected server answer calls by 401 or 403,
// in plain text and in the protocol's words, until its operator relents.
func TestCallsThatAreDenied(t *testing.T) {
	t.Parallel()
	const refusal = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"scope missing","data":{"scope":"write"}}}`
	for name, c := range map[string]struct {
		status  int
		version string
		body    string
		want    string
		refused bool
	}{
		"401 in text":     {401, wire.Stateless, "who are you?", "HTTP 401 Unauthorized: who are you?: it wants a login: give its token under headers", false},
		"403 in text":     {403, "2025-11-25", "", "HTTP 403 Forbidden: it wants a login", false},
		"403 in messages": {403, wire.Stateless, refusal, "HTTP 403 Forbidden: it wants a login: give its token under headers (scope missing)", true},
		"401 in messages": {401, "2025-11-25", refusal, "HTTP 401 Unauthorized: it wants a login: give its token under headers (scope missing)", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var relents atomic.Bool
			r := &rawServer{Version: c.version}
			spec := deny(t, r, &relents, c.status, c.body)
			s := start(t, Options{}, spec)
			mustCall(t, s, "raw", "echo")
			for range 2 {
				res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact", Retries: 3, Idempotent: true})
				wantError(t, err, "call raw/exact: credentials refused: "+c.want)
				var call *upstream.CallError
				if !errors.Is(err, upstream.ErrUnauthorized) || res.Sent || !errors.As(err, &call) || call.Sent || call.Refused != c.refused {
					t.Fatalf("got %v, sent %v, want ErrUnauthorized, false, refused %v", err, res.Sent, c.refused)
				}
				if st := s.Status()[0]; st.State != upstream.NeedsLogin || st.Why == "" || st.Why != st.Error || st.Since.IsZero() || st.Restarts != 0 {
					t.Fatalf("after the call: %+v", st)
				}
			}
			if l, err := s.Refresh(within(t, hangTime), "raw"); err != nil || len(l.Tools) != len(exactTools) {
				t.Errorf("a server that needs a login for calls does not list: %d tools, %v", len(l.Tools), err)
			}
			if st := s.Status()[0]; st.State != upstream.NeedsLogin {
				t.Errorf("a listing says nothing of calls: %+v", st)
			}
			relents.Store(true)
			mustCall(t, s, "raw", "exact")
			if st := s.Status()[0]; st.State != upstream.Ready || st.Error != "" || st.Why != "" {
				t.Errorf("after a call that the server accepted: %+v", st)
			}
		})
	}
}

// TestListingsThatAreDenied has a connected server refuse to list again, as
// after its token has run out, until its operator relents.
func TestListingsThatAreDenied(t *testing.T) {
	t.Parallel()
	var denies atomic.Bool
	sp, plain := serveHTTP(t, &rawServer{Version: wire.Stateless})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		m, again := peek(req)
		if m.Method == "tools/list" && denies.Load() {
			http.Error(w, "token expired", http.StatusUnauthorized)
			return
		}
		plain.Config.Handler.ServeHTTP(w, again)
	}))
	t.Cleanup(front.Close)
	sp.URL = front.URL
	s := start(t, Options{}, sp)
	refresh := func() error {
		_, err := s.Refresh(within(t, hangTime), "raw")
		return err
	}
	if err := refresh(); err != nil {
		t.Fatal(err)
	}
	denies.Store(true)
	wantError(t, refresh(), "credentials refused: HTTP 401 Unauthorized: token expired")
	if st := s.Status()[0]; st.State != upstream.NeedsLogin || !strings.Contains(st.Why, "token expired") || st.Error != st.Why || st.Tools != len(exactTools) {
		t.Errorf("after the listing: %+v", st)
	}
	denies.Store(false)
	if err := refresh(); err != nil {
		t.Fatal(err)
	}
	if st := s.Status()[0]; st.State != upstream.Ready || st.Error != "" || st.Why != "" {
		t.Errorf("after the next: %+v", st)
	}
}

// TestLoginIsForgottenByTheNextConnection denies a call and then loses its
// session: the connection that follows begins anew.
func TestLoginIsForgottenByTheNextConnection(t *testing.T) {
	t.Parallel()
	var relents atomic.Bool
	r := &rawServer{Version: "2025-11-25", Session: true}
	s := start(t, Options{}, deny(t, r, &relents, 401, ""))
	mustCall(t, s, "raw", "echo")
	_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact"})
	wantError(t, err, "credentials refused")
	if st := s.Status()[0]; st.State != upstream.NeedsLogin {
		t.Fatalf("after the call: %+v", st)
	}
	s.named("raw").life.at().conn.doubt(errors.New("for the test"))
	next(t, waitFor(t, func() bool {
		st := s.Status()[0]
		return st.State == upstream.Ready && st.Error == "" && st.Restarts == 1
	}), "the next connection")
}

// deny serves r, which answers calls of "exact" by status and body, where %s
// is the call's id, until it relents.
func deny(t *testing.T, r *rawServer, relents *atomic.Bool, status int, body string) Spec {
	t.Helper()
	answer := func(w http.ResponseWriter, id string) {
		if body == "" || body[0] != '{' {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, body, id)
	}
	sp, plain := serveHTTP(t, r)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		m, again := peek(req)
		if id := string(m.ID); m.Method == "tools/call" && !relents.Load() && named(m, "exact") {
			answer(w, id)
			return
		}
		plain.Config.Handler.ServeHTTP(w, again)
	}))
	t.Cleanup(front.Close)
	sp.URL = front.URL
	return sp
}

// peek reads the message of a request and returns one that can be read again.
func peek(req *http.Request) (m rawMessage, again *http.Request) {
	body, _ := io.ReadAll(req.Body)
	_ = json.Unmarshal(body, &m)
	again = req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return m, again
}

func named(m rawMessage, tool string) bool {
	var p struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(m.Params, &p) == nil && p.Name == tool
}
