package logins

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/internal/logins/loginstest"
)

// exchanging is how callers' tokens are exchanged at an issuer.
func exchanging(x *loginstest.Issuer) login.Config {
	return login.Config{Type: login.TokenExchange, Issuer: x.URL, ClientID: "tooldex", ClientSecret: "s3cret-of-machine"}
}

// exchanges counts the tokens that were exchanged, and says for whom the last one was.
func exchanges(x *loginstest.Issuer) (n int, last string) {
	x.Set(func() {
		for _, f := range x.Forms {
			if f.Has("subject_token") {
				n, last = n+1, f.Get("subject_token")
			}
		}
	})
	return n, last
}

// A caller's token is exchanged once, another one of the same caller anew, and
// the server sees neither of them.
func TestExchange(t *testing.T) {
	x := loginstest.New(t)
	s := process(t, x, t.TempDir(), exchanging(x))
	seen := map[string]string{} // by whom it is called: with what
	var mu sync.Mutex
	x.Set(func() {
		x.Behind = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			x.Set(func() {
				mu.Lock()
				defer mu.Unlock()
				seen[x.For[given]] = given
			})
			w.Write([]byte("{}"))
		})
	})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			ctx := login.OnBehalfOf(t.Context(), []string{"ada's", "eve's"}[i%2])
			if status, why := s.callOn(ctx, t, x); status != http.StatusOK {
				t.Errorf("got %d, %v", status, why)
			}
		})
	}
	all.Wait()
	if n, _ := exchanges(x); n != 2 || len(seen) != 2 || seen["ada's"] == seen["eve's"] || seen["ada's"] == "" {
		t.Errorf("exchanged %d times for two callers: %v", n, seen)
	}
	form := x.Forms[0]
	if form.Get("resource") != x.Resource || form.Get("scope") != "read" || form.Get("client_id") != "tooldex" || form.Get("requested_token_type") != "urn:ietf:params:oauth:token-type:access_token" {
		t.Errorf("asked with %v", form)
	}
	caller := &login.Subject{}
	ctx := login.OnBehalf(t.Context(), caller)
	for i, token := range []string{"first", "first", "second"} {
		caller.Set(token)
		if status, why := s.callOn(ctx, t, x); status != http.StatusOK {
			t.Errorf("got %d, %v", status, why)
		}
		if n, last := exchanges(x); n != []int{3, 3, 4}[i] || last != token {
			t.Errorf("after call %d: exchanged %d times, the last one %q", i, n, last)
		}
	}
	x.Set(func() { clear(x.Tokens) }) // which the server says before it is due
	if status, why := s.callOn(ctx, t, x); status != http.StatusOK {
		t.Errorf("after a token was taken back: %d, %v", status, why)
	}
	x.Set(func() { x.Needs = "write" })
	if status, why := s.callOn(ctx, t, x); status != http.StatusOK || x.Forms[len(x.Forms)-1].Get("scope") != "read write" {
		t.Errorf("a scope that is missing: %d, %v, asked %v", status, why, x.Forms[len(x.Forms)-1])
	}
}

// What its issuer does not exchange gives no token, and is not told; nor does
// what is no access token, nor nobody's token to a REST API.
func TestNotExchanged(t *testing.T) {
	const secret = "a-token-of-ada-that-nobody-prints"
	x := loginstest.New(t)
	s := process(t, x, t.TempDir(), exchanging(x))
	ada := login.OnBehalfOf(t.Context(), secret)
	refused := func(what, want string) {
		t.Helper()
		_, why := s.callOn(ada, t, x)
		if err := s.Check(ada); err == nil || why == nil || !strings.Contains(why.Error(), want) || !strings.Contains(err.Error(), want) || strings.Contains(why.Error()+err.Error(), secret) {
			t.Errorf("%s: %v, %v", what, why, err)
		}
	}
	x.Set(func() { x.Refuses = "access_denied" })
	refused("a caller who may not", "its token: "+x.URL+"/token: access_denied")
	x.Set(func() { x.Refuses, x.Gives = "", "urn:ietf:params:oauth:token-type:refresh_token" })
	refused("another kind of token", "it gave a token of type urn:ietf:params:oauth:token-type:refresh_token, and was asked for access_token")
	x.Set(func() { x.Gives = "" })
	if status, why := s.callOn(ada, t, x); status != http.StatusOK {
		t.Errorf("after that: %d, %v", status, why)
	}
	api := login.New(login.Options{Server: "billing", URL: x.URL + "/api", API: true, Config: exchanging(x)})
	if err := api.Check(t.Context()); !errors.Is(err, upstream.ErrNoToken) {
		t.Errorf("a REST API without a caller: %v", err)
	}
}

// The tools of a server are listed as tooldex itself, or as nobody.
func TestListAs(t *testing.T) {
	x := loginstest.New(t)
	auth := exchanging(x)
	s := process(t, x, t.TempDir(), auth)
	if status, why := s.call(t, x); status != http.StatusOK || x.Forms[0].Get("grant_type") != "client_credentials" || x.Forms[0].Has("subject_token") {
		t.Errorf("as tooldex: %d, %v, asked %v", status, why, x.Forms)
	}
	if st := States(s.cfg, s.kept)[0]; st.State != "by its callers" || st.Auth != login.TokenExchange || st.Issuer != x.URL {
		t.Errorf("got %+v", st)
	}
	auth.ListAs = login.None
	s = process(t, x, t.TempDir(), auth)
	x.Set(func() { x.Forms = nil })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.URL+"/mcp", http.NoBody)
	if err := errors.Join(err, s.Sign(req)); err != nil || req.Header.Get("Authorization") != "" || len(x.Forms) != 0 {
		t.Errorf("as nobody: %v, %v, asked %v", err, req.Header, x.Forms)
	}
	_, why := s.call(t, x)
	wantWhy(t, why, false, "server notion lists its tools to nobody without a token; set auth.list_as to client_credentials")
	if len(x.Forms) != 0 {
		t.Errorf("asked %v all the same", x.Forms)
	}
}

// What an entry leaves out is said, all of it.
func TestCheckExchange(t *testing.T) {
	for want, auth := range map[string]login.Config{
		"needs issuer or token_url":      {ClientID: "a", ClientSecret: "b"},
		"needs client_id":                {Issuer: "https://id.example"},
		"one of client_secret and priva": {Issuer: "https://id.example", ClientID: "a"},
		`auth.list_as: "them"`:           {Issuer: "https://id.example", ClientID: "a", ClientSecret: "b", ListAs: "them"},
	} {
		auth.Type = login.TokenExchange
		if err := auth.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := (login.Config{ListAs: login.None}).Check(); err == nil || !strings.Contains(err.Error(), "list_as belongs to type token_exchange") {
		t.Errorf("got %v", err)
	}
}

// An ID token is exchanged at the company's identity provider for a JWT that
// another issuer takes; what it gives instead is not shown to that one.
func TestGrantOfIdentityProvider(t *testing.T) {
	x := loginstest.New(t)
	auth := login.Config{
		Type: login.JWTBearer, ClientID: "tooldex", ClientSecret: "s3cret-of-machine", Assertion: "id-token", IDPTokenURL: x.URL + "/idp/token", IDPClientID: "tooldex-at-home",
	}
	if err := auth.Check(); err != nil {
		t.Fatal(err)
	}
	s := process(t, x, t.TempDir(), auth)
	if status, why := s.call(t, x); status != http.StatusOK || len(x.Forms) != 2 {
		t.Fatalf("got %d, %v, asked %v", status, why, x.Forms)
	}
	if home, away := x.Forms[0], x.Forms[1]; home.Get("client_id") != "tooldex-at-home" || home.Has("client_secret") || away.Get("client_id") != "tooldex" || away.Get("assertion") != x.Granted[0] {
		t.Errorf("asked %v", x.Forms)
	}
	for want, change := range map[string]func(){
		"/idp/token: access_denied": func() { x.Refuses = "access_denied" },
		"gave a token of type urn:ietf:params:oauth:token-type:access_token, and was asked for id-jag": func() { x.Gives = "urn:ietf:params:oauth:token-type:access_token" },
	} {
		x.Set(func() { x.Refuses, x.Gives, x.Forms = "", "", nil; change() })
		if _, why := process(t, x, t.TempDir(), auth).call(t, x); why == nil || !strings.Contains(why.Error(), want) || len(x.Forms) != 1 {
			t.Errorf("got %v, want %q, asked %v", why, want, x.Forms)
		}
	}
	for want, wrong := range map[string]login.Config{
		"belongs to type jwt_bearer":                  {Type: login.ClientCredentials, ClientID: "a", ClientSecret: "b", IDPTokenURL: x.URL, IDPClientID: "c"},
		"needs idp_client_id":                         {Type: login.JWTBearer, Assertion: "a", IDPTokenURL: x.URL},
		"beside token_url the issuer":                 {Type: login.JWTBearer, Assertion: "a", IDPTokenURL: x.URL, IDPClientID: "c", TokenURL: x.URL},
		"belong to idp_token_url, which is missing":   {Type: login.JWTBearer, Assertion: "a", IDPSecret: "c"},
		"auth.idp_token_url: it is no http or https ": {Type: login.JWTBearer, Assertion: "a", IDPTokenURL: "id.example", IDPClientID: "c"},
	} {
		if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
