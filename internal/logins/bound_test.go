package logins

import (
	"net/http"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/secret"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/logins/loginstest"
)

// Tokens are bound to a key where the server wants that: of a person, whose
// other processes have it, and after refreshing; and of a machine. A nonce may
// come at any time, and change.
func TestBound(t *testing.T) {
	for name, auth := range map[string]func(x *loginstest.Issuer) login.Config{
		"a person": func(*loginstest.Issuer) login.Config { return login.Config{} },
		"a machine": func(*loginstest.Issuer) login.Config {
			return login.Config{Type: login.ClientCredentials, ClientID: "machine", ClientSecret: "s3cret-of-machine"}
		},
		"a machine with an address": func(x *loginstest.Issuer) login.Config {
			return login.Config{Type: login.ClientCredentials, ClientID: "machine", ClientSecret: "s3cret-of-machine", TokenURL: x.URL + "/token"}
		},
		"a caller": exchanging,
	} {
		for _, nonce := range []string{"", "first"} {
			t.Run(name+" "+nonce, func(t *testing.T) {
				x, state := loginstest.New(t), t.TempDir()
				x.Bound, x.Nonce, x.Lasts = true, nonce, -1 // each token has run out when it comes
				one, two := process(t, x, state, auth(x)), process(t, x, state, auth(x))
				ctx := login.OnBehalfOf(t.Context(), "ada's")
				if auth(x).Type == "" {
					if _, err := one.logIn(t); err != nil {
						t.Fatal(err)
					}
					if jkt := x.Asked[0].Get("dpop_jkt"); len(jkt) != 43 {
						t.Errorf("the code is bound to %q", jkt)
					}
				}
				for i, s := range []side{one, two, two, one} {
					x.Set(func() {
						if nonce != "" && i > 1 {
							x.Nonce += "+"
						}
						if i == 3 {
							x.Lasts = 3600
						}
					})
					if status, why := s.callOn(ctx, t, x); status != http.StatusOK {
						t.Errorf("call %d: got %d, %v", i, status, why)
					}
				}
			})
		}
	}
}

// A token that is not bound is shown as any other, and none is asked for that
// is. When the server takes no other any more, refreshing binds it, and where
// the issuer knows of no such thing somebody is told to log in again.
func TestNotBound(t *testing.T) {
	x, state := loginstest.New(t), t.TempDir()
	s := process(t, x, state, login.Config{})
	if _, err := s.logIn(t); err != nil {
		t.Fatal(err)
	}
	if x.Asked[0].Has("dpop_jkt") {
		t.Error("a server was asked for what it does not speak of")
	}
	x.Set(func() { x.Bound = true })
	if status, why := s.call(t, x); status != http.StatusOK {
		t.Errorf("got %d, %v", status, why)
	}
	kept, err := s.Kept()
	if err != nil || kept.Key == nil {
		t.Errorf("kept without its key: %v", err)
	}
	x.Set(func() { x.Unbinds = true; clear(x.Tokens) })
	_, why := s.call(t, x)
	wantWhy(t, why, true, "server notion needs a login again: tooldex auth login notion")
}

// An API says that it wants bound tokens when it refuses another one: the next
// login has one.
func TestBoundAPI(t *testing.T) {
	x := loginstest.New(t)
	x.Bound, x.Resource = true, ""
	cfg := &config.Config{State: t.TempDir()}
	s := side{Source: login.New(login.Options{Server: "notion", URL: x.URL + "/api/", API: true, Config: login.Config{Issuer: x.URL}, Store: Keeper(cfg, ""), Secrets: &secret.Resolver{}, Mask: mask.New(nil, nil, "")})}
	if _, err := s.logIn(t); err != nil {
		t.Fatal(err)
	}
	x.Set(func() { x.Refuses = "access_denied" }) // to refresh it, which would do
	_, why := s.call(t, x)
	wantWhy(t, why, true, "server notion needs a login again: tooldex auth login notion")
	x.Set(func() { x.Refuses = "" })
	if l, err := s.logIn(t); err != nil || l.Key == nil {
		t.Errorf("got %+v, %v", l, err)
	}
	if status, why := s.call(t, x); status != http.StatusOK {
		t.Errorf("got %d, %v", status, why)
	}
}
