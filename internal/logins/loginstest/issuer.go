// Package loginstest has an authorization server to test logins against.
package loginstest

import (
	"cmp"
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

	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
)

// An Issuer is an authorization server; at /mcp a server that takes its tokens
// and says so in its metadata, and at /api one that only takes them; and at
// /idp/token the identity provider of a company, whose word it takes. Whoever
// opens its address has said yes.
type Issuer struct {
	*httptest.Server

	mu sync.Mutex // guards State
	State
}

// A State is how an Issuer is, which Set changes, and what it has seen.
type State struct {
	Iss      string       // in its answers; "" leaves it out
	Resource string       // that tokens are for
	Refuses  string       // error of its answers and of refreshing
	Lasts    int          // seconds that a token holds
	Bound    bool         // tokens are to be bound to a key
	Unbinds  bool         // though none is bound when it comes
	Nonce    string       // of proofs of such a key; "" wants none
	Needs    string       // scope that the server wants
	Behind   http.Handler // what answers who is let in; nil answers {"ok":true}

	Registered, Refreshed, Revoked int
	Tokens                         map[string][]string // access tokens with their scopes
	Asked                          []url.Values        // of the address that people open
	Forms                          []url.Values        // of the token endpoint
	For                            map[string]string   // whose token an access token was exchanged for
	Granted                        []string            // JWTs by which the identity provider lets in
	Gives                          string              // type of what an exchange gives; "" means an access token

	proofs  map[string]bool       // that were seen, by id
	keys    map[string]string     // thumbprints of those that tokens are bound to
	codes   map[string]url.Values // by code: how it was asked for
	refresh map[string][]string   // refresh tokens with their scopes
}

// New runs an Issuer until the test ends.
func New(t *testing.T) *Issuer {
	t.Helper()
	x := &Issuer{State: State{Lasts: 3600, codes: map[string]url.Values{}, proofs: map[string]bool{}, keys: map[string]string{}, Tokens: map[string][]string{}, For: map[string]string{}, refresh: map[string][]string{}}}
	mux := http.NewServeMux()
	for path, f := range map[string]func(http.ResponseWriter, *http.Request) any{
		"GET /.well-known/oauth-protected-resource/mcp": x.meta,
		"GET /.well-known/oauth-authorization-server":   x.about,
		"POST /register": x.register, "GET /authorize": x.authorize, "POST /token": x.token, "POST /revoke": x.revoke, "POST /idp/token": x.idp,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) {
			x.mu.Lock()
			defer x.mu.Unlock()
			body := x.proved(w, req, f)
			if code, ok := body.(failure); ok {
				body = map[string]string{"error": string(code)}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
			}
			if body != nil {
				answer(t, w, body)
			}
		})
	}
	guarded := func(w http.ResponseWriter, req *http.Request) {
		switch behind, ok := x.admits(w, req); {
		case !ok:
		case behind == nil:
			answer(t, w, map[string]any{"ok": true})
		default:
			behind.ServeHTTP(w, req)
		}
	}
	mux.HandleFunc("/mcp", guarded)
	mux.HandleFunc("/api/", guarded)
	x.Server = httptest.NewServer(mux)
	t.Cleanup(x.Close)
	x.Iss, x.Resource = x.URL, x.URL+"/mcp"
	return x
}

func answer(t *testing.T, w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		t.Error(err)
	}
}

// Set changes how it is.
func (x *Issuer) Set(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f()
}

type failure string

func (x *Issuer) meta(http.ResponseWriter, *http.Request) any {
	return map[string]any{"resource": x.Resource, "authorization_servers": []string{x.URL}, "scopes_supported": []string{"read"}}
}

func (x *Issuer) about(http.ResponseWriter, *http.Request) any {
	return map[string]any{
		"issuer": x.URL, "authorization_endpoint": x.URL + "/authorize", "token_endpoint": x.URL + "/token", "registration_endpoint": x.URL + "/register",
		"revocation_endpoint": x.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_post", "private_key_jwt"}, "authorization_response_iss_parameter_supported": true,
	}
}

func (x *Issuer) register(w http.ResponseWriter, req *http.Request) any {
	x.Registered++
	var m map[string]any
	if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
		return failure("invalid_client_metadata")
	}
	m["client_id"] = fmt.Sprint("client-", x.Registered)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	return m
}

func (x *Issuer) authorize(w http.ResponseWriter, req *http.Request) any {
	q := req.URL.Query()
	x.Asked = append(x.Asked, q)
	back := url.Values{"state": {q.Get("state")}}
	if x.Iss != "" {
		back.Set("iss", x.Iss)
	}
	if x.Refuses != "" {
		back.Set("error", x.Refuses)
	} else {
		code := rand.Text()
		x.codes[code] = q
		back.Set("code", code)
	}
	http.Redirect(w, req, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	return nil
}

func (x *Issuer) token(_ http.ResponseWriter, req *http.Request) any {
	if req.ParseForm() != nil {
		return failure("invalid_request")
	}
	f := req.PostForm
	if _, secret, ok := req.BasicAuth(); ok {
		f.Set("client_secret", secret)
	}
	x.Forms = append(x.Forms, f)
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
		x.Refreshed++
		scopes, ok := x.refresh[f.Get("refresh_token")]
		delete(x.refresh, f.Get("refresh_token")) // which holds once
		if !ok || x.Refuses != "" || f.Get("resource") != x.Resource {
			return failure("invalid_grant")
		}
		return x.issue(scopes, true)
	case "client_credentials", grantPrefix + "token-exchange":
		if f.Get("client_secret") != "s3cret-of-machine" && strings.Count(f.Get("client_assertion"), ".") != 2 {
			return failure("invalid_client")
		}
		return x.exchange(f, x.issue(strings.Fields(f.Get("scope")), false))
	case grantPrefix + "jwt-bearer":
		if !slices.Contains(x.Granted, f.Get("assertion")) || f.Get("client_secret") != "s3cret-of-machine" {
			return failure("invalid_grant")
		}
		return x.issue(strings.Fields(f.Get("scope")), false)
	}
	return failure("unsupported_grant_type")
}

const (
	grantPrefix = "urn:ietf:params:oauth:grant-type:"
	tokenPrefix = "urn:ietf:params:oauth:token-type:"
)

// exchange says of an answer whose token it stands for, if it does for one.
func (x *Issuer) exchange(f url.Values, out map[string]any) any {
	subject := f.Get("subject_token")
	switch {
	case f.Get("grant_type") == "client_credentials":
	case x.Refuses != "" || subject == "" || f.Get("subject_token_type") != tokenPrefix+"access_token":
		return failure(cmp.Or(x.Refuses, "invalid_request"))
	default:
		x.For[out["access_token"].(string)] = subject
		out["issued_token_type"] = cmp.Or(x.Gives, tokenPrefix+"access_token")
	}
	return out
}

// idp exchanges the ID token "id-token" for a JWT that the issuer takes.
func (x *Issuer) idp(_ http.ResponseWriter, req *http.Request) any {
	if req.ParseForm() != nil {
		return failure("invalid_request")
	}
	f := req.PostForm
	x.Forms = append(x.Forms, f)
	switch {
	case x.Refuses != "" || f.Get("subject_token") != "id-token":
		return failure(cmp.Or(x.Refuses, "invalid_request"))
	case f.Get("subject_token_type") != tokenPrefix+"id_token" || f.Get("requested_token_type") != tokenPrefix+"id-jag" || f.Get("audience") != x.URL || f.Get("resource") != x.Resource:
		return failure("invalid_target")
	}
	granted := "granted-" + rand.Text()
	x.Granted = append(x.Granted, granted)
	return map[string]any{"access_token": granted, "token_type": "N_A", "issued_token_type": cmp.Or(x.Gives, tokenPrefix+"id-jag"), "expires_in": 300}
}

func (x *Issuer) issue(scopes []string, refresh bool) map[string]any {
	access := "access-" + rand.Text()
	x.Tokens[access] = scopes
	out := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": x.Lasts, "scope": strings.Join(scopes, " ")}
	if refresh {
		again := "refresh-" + rand.Text()
		x.refresh[again] = scopes
		out["refresh_token"] = again
	}
	return out
}

func (x *Issuer) revoke(_ http.ResponseWriter, req *http.Request) any {
	if req.ParseForm() == nil {
		if _, ok := x.refresh[req.PostForm.Get("token")]; ok {
			x.Revoked++
		}
	}
	return nil
}

// admits reports whether a request has a token that holds, and who answers it;
// it answers itself when there is none.
func (x *Issuer) admits(w http.ResponseWriter, req *http.Request) (behind http.Handler, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	scheme, given, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	scopes, ok := x.Tokens[given]
	at := `resource_metadata="` + x.URL + `/.well-known/oauth-protected-resource/mcp"`
	if req.URL.Path != "/mcp" {
		at = `realm="api"`
	}
	wanted := "Bearer"
	if x.Bound {
		wanted = "DPoP"
	}
	if ok && x.keys[given] != "" {
		key, code := x.proof(req, given)
		if ok = code == "" && key == x.keys[given]; code != "" {
			at += `, error="` + code + `"`
		}
		if code == dpop.CodeNonce {
			w.Header().Set("DPoP-Nonce", x.Nonce)
		}
	}
	switch {
	case !ok || scheme != wanted:
		ok = false
		w.Header().Set("WWW-Authenticate", wanted+" "+at)
		w.WriteHeader(http.StatusUnauthorized)
	case x.Needs != "" && !slices.Contains(scopes, x.Needs):
		w.Header().Set("WWW-Authenticate", wanted+` error="insufficient_scope", scope="`+x.Needs+`", `+at)
		w.WriteHeader(http.StatusForbidden)
		return nil, false
	}
	return x.Behind, ok
}

// Browser opens an address as a browser would, once, and returns the page that
// it ends at.
func Browser(t *testing.T, address string) (page string, status int) {
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
