package logins

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/keep"
	"github.com/tooldex/tooldex/internal/logins/loginstest"
)

// A side is tooldex towards one server, as a process has it.
type side struct {
	*login.Source
	cfg  *config.Config
	kept *keep.Keeper
}

// process is another process over the state folder.
func process(t *testing.T, x *loginstest.Issuer, state string, auth login.Config) side {
	t.Helper()
	cfg := &config.Config{State: state, Servers: []config.Server{{Spec: mcp.Spec{Name: "notion", URL: x.URL + "/mcp", Auth: auth}}}}
	kept := Keeper(cfg, "")
	source, err := At(cfg, kept, "notion")
	if err != nil {
		t.Fatal(err)
	}
	return side{source, cfg, kept}
}

// logIn logs in with a browser that does what it is told.
func (s side) logIn(t *testing.T) (*login.Login, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return s.Login(ctx, nil, func(address string, _ func(string) error) { go loginstest.Browser(t, address) })
}

// call makes a request as an upstream does: again when that may help.
func (s side) call(t *testing.T, x *loginstest.Issuer) (status int, why error) {
	t.Helper()
	return s.callOn(t.Context(), t, x)
}

func (s side) callOn(ctx context.Context, t *testing.T, x *loginstest.Issuer) (status int, why error) {
	t.Helper()
	for try := 0; ; try++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.URL+"/mcp", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sign(req); err != nil {
			return 0, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return resp.StatusCode, nil
		}
		again, why := s.Refused(req, resp)
		if !again || try > 1 || try == 1 && !dpop.WantsNonce(resp) {
			return resp.StatusCode, why
		}
	}
}

func wantWhy(t *testing.T, err error, login bool, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) || errors.Is(err, upstream.ErrNeedsLogin) != login || login && !errors.Is(err, upstream.ErrUnauthorized) {
		t.Errorf("got %v, want %q, login %v", err, text, login)
	}
}

// Somebody logs in once, other processes have the token, and nothing of it can
// be read on disk; logging out takes it back.
func TestLogin(t *testing.T) {
	x, state := loginstest.New(t), t.TempDir()
	one, two := process(t, x, state, login.Config{}), process(t, x, state, login.Config{})
	status, why := one.call(t, x)
	if status != http.StatusUnauthorized {
		t.Errorf("got %d", status)
	}
	wantWhy(t, why, true, "server notion needs a login: tooldex auth login notion")
	for range 2 {
		l, err := one.logIn(t)
		if err != nil {
			t.Fatal(err)
		}
		if status, why := two.call(t, x); status != http.StatusOK {
			t.Errorf("got %d, %v", status, why)
		}
		text, err := os.ReadFile(filepath.Join(state, "logins", "notion.login"))
		if err != nil || bytes.Contains(text, []byte(l.Access)) || bytes.Contains(text, []byte("notion")) {
			t.Errorf("on disk: %q, %v", text, err)
		}
	}
	if x.Registered != 1 {
		t.Errorf("registered %d times for two logins", x.Registered)
	}
	if q := x.Asked[0]; q.Get("resource") != x.Resource || q.Get("scope") != "read" || q.Get("code_challenge_method") != "S256" || len(q.Get("state")) < 20 {
		t.Errorf("asked with %v", q)
	}
	if st := States(one.cfg, one.kept)[0]; st.State != "logged in" || !st.Renews || st.Issuer != x.URL {
		t.Errorf("got %+v", st)
	}
	moved := process(t, x, state, login.Config{ClientID: "another"})
	if status, _ := moved.call(t, x); status != http.StatusUnauthorized {
		t.Errorf("the token of one client is given for another: %d", status)
	}
	if was, left, err := two.Logout(t.Context()); !was || left != nil || err != nil || x.Revoked != 1 {
		t.Errorf("got %v, %v, %v, revoked %d", was, left, err, x.Revoked)
	}
	if status, _ := one.call(t, x); status != http.StatusUnauthorized {
		t.Errorf("after logging out: %d", status)
	}
}

// Processes that find a token run out refresh it once between them.
func TestOneRefresh(t *testing.T) {
	x, state := loginstest.New(t), t.TempDir()
	x.Lasts = -1 // it has run out when it comes
	one, two := process(t, x, state, login.Config{}), process(t, x, state, login.Config{})
	if _, err := one.logIn(t); err != nil {
		t.Fatal(err)
	}
	x.Set(func() { x.Lasts = 3600 })
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if status, why := []side{one, two}[i%2].call(t, x); status != http.StatusOK {
				t.Errorf("got %d, %v", status, why)
			}
		})
	}
	all.Wait()
	if x.Refreshed != 1 {
		t.Errorf("refreshed %d times", x.Refreshed)
	}
	x.Set(func() { clear(x.Tokens) }) // taken back before their time
	if status, why := one.call(t, x); status != http.StatusOK || x.Refreshed != 2 {
		t.Errorf("got %d, %v, refreshed %d times", status, why, x.Refreshed)
	}
	x.Set(func() { clear(x.Tokens); x.Refuses = "access_denied" })
	for _, s := range []side{one, two} {
		status, why := s.call(t, x)
		wantWhy(t, why, true, "server notion needs a login again: tooldex auth login notion")
		if status != http.StatusUnauthorized || x.Refreshed != 3 {
			t.Errorf("got %d, refreshed %d times", status, x.Refreshed)
		}
	}
	if st := States(one.cfg, one.kept)[0]; st.State != "needs a login" || !strings.Contains(st.Why, "invalid_grant") {
		t.Errorf("got %+v", st)
	}
	x.Set(func() { x.Refuses = "" })
	if _, err := two.logIn(t); err != nil {
		t.Fatal(err)
	}
	if status, why := one.call(t, x); status != http.StatusOK {
		t.Errorf("got %d, %v", status, why)
	}
}

// What comes back to this machine and is not the answer that is waited for.
func TestWrongAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(x *loginstest.Issuer)
		want   string
	}{
		"another issuer":   {func(x *loginstest.Issuer) { x.Iss = "https://evil.example" }, "the answer is of https://evil.example and not of"},
		"no issuer":        {func(x *loginstest.Issuer) { x.Iss = "" }, "the answer does not say that it is of"},
		"refused":          {func(x *loginstest.Issuer) { x.Refuses = "access_denied" }, "refused the login: access_denied"},
		"another resource": {func(x *loginstest.Issuer) { x.Resource = "https://evil.example/mcp" }, "are those of https://evil.example/mcp, not of"},
	} {
		t.Run(name, func(t *testing.T) {
			x := loginstest.New(t)
			tt.change(x)
			s := process(t, x, t.TempDir(), login.Config{})
			if _, err := s.logIn(t); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if len(x.Tokens) > 0 || States(s.cfg, s.kept)[0].State != "not logged in" {
				t.Errorf("there are tokens: %v, %+v", x.Tokens, States(s.cfg, s.kept))
			}
		})
	}
	t.Run("another state", func(t *testing.T) {
		x := loginstest.New(t)
		s := process(t, x, t.TempDir(), login.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := s.Login(ctx, nil, func(address string, _ func(string) error) {
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			back := u.Query().Get("redirect_uri")
			for _, wrong := range []string{back + "?code=x&state=guessed", back + "?code=x", back + "?state=" + u.Query().Get("state"), strings.TrimSuffix(back, "callback") + "?code=x&state=" + u.Query().Get("state")} {
				if page, status := loginstest.Browser(t, wrong); status != http.StatusBadRequest && status != http.StatusNotFound {
					t.Errorf("%s is answered %d %s", wrong, status, page)
				}
			}
			go loginstest.Browser(t, address)
		})
		if err != nil {
			t.Errorf("the wait ended with %v", err)
		}
	})
}

// A browser on another machine cannot come back: where it ended is pasted, and
// looked at as closely.
func TestPasted(t *testing.T) {
	x := loginstest.New(t)
	s := process(t, x, t.TempDir(), login.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	_, err := s.Login(ctx, nil, func(address string, ended func(string) error) {
		resp, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		end := resp.Header.Get("Location")
		for wrong, want := range map[string]string{
			address: "not where the browser ends", "hello": "not where the browser ends", "": "not where the browser ends",
			strings.Replace(end, "state=", "state=x", 1): "the end of another login",
		} {
			if err := ended(wrong); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v", wrong, err)
			}
		}
		if err := ended("  " + end + "\n"); err != nil {
			t.Errorf("%s: %v", end, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, why := s.call(t, x); status != http.StatusOK {
		t.Errorf("got %d, %v", status, why)
	}
}

// A scope that is missing is asked for at the next login, beside those that
// were granted.
func TestStepUp(t *testing.T) {
	x, state := loginstest.New(t), t.TempDir()
	s := process(t, x, state, login.Config{})
	if _, err := s.logIn(t); err != nil {
		t.Fatal(err)
	}
	x.Set(func() { x.Needs = "write" })
	status, why := s.call(t, x)
	wantWhy(t, why, true, "server notion needs a login with more rights (write): tooldex auth login notion")
	if st := States(s.cfg, s.kept)[0]; status != http.StatusForbidden || !slices.Equal(st.Wanted, []string{"write"}) || st.State != "logged in" {
		t.Errorf("got %d, %+v", status, st)
	}
	if _, err := s.logIn(t); err != nil {
		t.Fatal(err)
	}
	if got := x.Asked[1].Get("scope"); got != "read write" {
		t.Errorf("asked for %q", got)
	}
	if status, why := s.call(t, x); status != http.StatusOK {
		t.Errorf("got %d, %v", status, why)
	}
}

// A machine proves itself by a secret or a key, and asks for a scope that is
// missing by itself, once.
func TestMachine(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, auth := range map[string]login.Config{
		"secret": {Type: login.ClientCredentials, ClientID: "machine", ClientSecret: "s3cret-of-machine"},
		"key":    {Type: login.ClientCredentials, ClientID: "machine", PrivateKey: "${file:" + path + "}"},
	} {
		t.Run(name, func(t *testing.T) {
			x := loginstest.New(t)
			s := process(t, x, t.TempDir(), auth)
			if err := auth.Check(); err != nil {
				t.Fatal(err)
			}
			if status, why := s.call(t, x); status != http.StatusOK {
				t.Fatalf("got %d, %v", status, why)
			}
			x.Set(func() { x.Needs = "write" })
			if status, why := s.call(t, x); status != http.StatusOK || len(x.Forms) != 2 || x.Forms[1].Get("scope") != "read write" {
				t.Errorf("got %d, %v, asked %v", status, why, x.Forms)
			}
			if name == "secret" != (x.Forms[0].Get("client_assertion") == "") {
				t.Errorf("asked %v", x.Forms[0])
			}
			if _, err := s.logIn(t); err == nil {
				t.Error("a person logged in where a machine does")
			}
		})
	}
	x := loginstest.New(t)
	s := process(t, x, t.TempDir(), login.Config{Type: login.ClientCredentials, ClientID: "machine", ClientSecret: "wrong"})
	status, why := s.call(t, x)
	wantWhy(t, why, false, "server notion gets no token: "+x.URL+"/token: invalid_client")
	if status != http.StatusUnauthorized || len(x.Forms) != 1 {
		t.Errorf("got %d, asked %d times", status, len(x.Forms))
	}
}
