package logins

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// An issuer is an authorization server and, at /mcp, a server that takes its
// tokens. Whoever opens its address has said yes.
type issuer struct {
	*httptest.Server

	mu sync.Mutex // guards the fields below

	// How it is.
	iss      string // in its answers; "" leaves it out
	resource string // in the metadata of the server
	refuses  string // error of its answers and of refreshing
	lasts    int    // seconds that a token holds
	needs    string // scope that the server wants

	// What it has seen.
	registered, refreshed, revoked int
	codes                          map[string]url.Values // by code: how it was asked for
	tokens                         map[string][]string   // access tokens with their scopes
	refresh                        map[string][]string   // likewise
	asked                          []url.Values          // of the address that people open
	forms                          []url.Values          // of the token endpoint
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	x := &issuer{lasts: 3600, codes: map[string]url.Values{}, tokens: map[string][]string{}, refresh: map[string][]string{}}
	mux := http.NewServeMux()
	for path, f := range map[string]func(http.ResponseWriter, *http.Request) any{
		"GET /.well-known/oauth-protected-resource/mcp": x.meta,
		"GET /.well-known/oauth-authorization-server":   x.about,
		"POST /register": x.register, "GET /authorize": x.authorize, "POST /token": x.token, "POST /revoke": x.revoke, "POST /mcp": x.serve,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) {
			x.mu.Lock()
			defer x.mu.Unlock()
			if body := f(w, req); body != nil {
				w.Header().Set("Content-Type", "application/json")
				if code, ok := body.(failure); ok {
					w.WriteHeader(http.StatusBadRequest)
					body = map[string]string{"error": string(code)}
				}
				if err := json.NewEncoder(w).Encode(body); err != nil {
					t.Error(err)
				}
			}
		})
	}
	x.Server = httptest.NewServer(mux)
	t.Cleanup(x.Close)
	x.iss, x.resource = x.URL, x.URL+"/mcp"
	return x
}

// set changes how it is.
func (x *issuer) set(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f()
}

type failure string

func (x *issuer) meta(http.ResponseWriter, *http.Request) any {
	return map[string]any{"resource": x.resource, "authorization_servers": []string{x.URL}, "scopes_supported": []string{"read"}}
}

func (x *issuer) about(http.ResponseWriter, *http.Request) any {
	return map[string]any{
		"issuer": x.URL, "authorization_endpoint": x.URL + "/authorize", "token_endpoint": x.URL + "/token", "registration_endpoint": x.URL + "/register",
		"revocation_endpoint": x.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_post", "private_key_jwt"}, "authorization_response_iss_parameter_supported": true,
	}
}

func (x *issuer) register(w http.ResponseWriter, req *http.Request) any {
	x.registered++
	var m map[string]any
	if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
		return failure("invalid_client_metadata")
	}
	m["client_id"] = fmt.Sprint("client-", x.registered)
	w.WriteHeader(http.StatusCreated)
	return m
}

func (x *issuer) authorize(w http.ResponseWriter, req *http.Request) any {
	q := req.URL.Query()
	x.asked = append(x.asked, q)
	back := url.Values{"state": {q.Get("state")}}
	if x.iss != "" {
		back.Set("iss", x.iss)
	}
	if x.refuses != "" {
		back.Set("error", x.refuses)
	} else {
		code := rand.Text()
		x.codes[code] = q
		back.Set("code", code)
	}
	http.Redirect(w, req, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	return nil
}

func (x *issuer) token(_ http.ResponseWriter, req *http.Request) any {
	if req.ParseForm() != nil {
		return failure("invalid_request")
	}
	f := req.PostForm
	x.forms = append(x.forms, f)
	switch f.Get("grant_type") {
	case "authorization_code":
		asked := x.codes[f.Get("code")]
		delete(x.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if asked == nil || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("resource") != f.Get("resource") || asked.Get("redirect_uri") != f.Get("redirect_uri") {
			return failure("invalid_grant")
		}
		return x.issue(strings.Fields(asked.Get("scope")), true)
	case "refresh_token":
		x.refreshed++
		scopes, ok := x.refresh[f.Get("refresh_token")]
		delete(x.refresh, f.Get("refresh_token")) // which holds once
		if !ok || x.refuses != "" || f.Get("resource") != x.resource {
			return failure("invalid_grant")
		}
		return x.issue(scopes, true)
	case "client_credentials":
		if f.Get("client_secret") != "s3cret-of-machine" && strings.Count(f.Get("client_assertion"), ".") != 2 {
			return failure("invalid_client")
		}
		return x.issue(strings.Fields(f.Get("scope")), false)
	}
	return failure("unsupported_grant_type")
}

func (x *issuer) issue(scopes []string, refresh bool) any {
	access := "access-" + rand.Text()
	x.tokens[access] = scopes
	out := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": x.lasts, "scope": strings.Join(scopes, " ")}
	if refresh {
		again := "refresh-" + rand.Text()
		x.refresh[again] = scopes
		out["refresh_token"] = again
	}
	return out
}

func (x *issuer) revoke(_ http.ResponseWriter, req *http.Request) any {
	if req.ParseForm() == nil {
		if _, ok := x.refresh[req.PostForm.Get("token")]; ok {
			x.revoked++
		}
	}
	return nil
}

// serve is the server that takes the tokens.
func (x *issuer) serve(w http.ResponseWriter, req *http.Request) any {
	scopes, ok := x.tokens[strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")]
	at := `resource_metadata="` + x.URL + `/.well-known/oauth-protected-resource/mcp"`
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", "Bearer "+at)
		w.WriteHeader(http.StatusUnauthorized)
	case x.needs != "" && !slices.Contains(scopes, x.needs):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+x.needs+`", `+at)
		w.WriteHeader(http.StatusForbidden)
	default:
		return map[string]any{"ok": true}
	}
	return nil
}

// browser opens an address as a browser would, once, and returns the page that
// it ends at.
func browser(t *testing.T, address string) (page string, status int) {
	t.Helper()
	client := http.Client{Timeout: 20 * time.Second}
	resp, err := client.Get(address)
	if err != nil {
		t.Error(err)
		return "", 0
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text), resp.StatusCode
}
