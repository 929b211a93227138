package callers

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// An issuer is one of tokens over HTTP, whose keys and answers a test changes.
type issuer struct {
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	keys   []jose.JSONWebKey
	down   bool
	opaque map[string]map[string]any // what introspection says of tokens
}

func newIssuer(t *testing.T, keys ...jose.JSONWebKey) *issuer {
	t.Helper()
	i := &issuer{keys: keys, opaque: map[string]map[string]any{}}
	mux := http.NewServeMux()
	reply := func(pattern string, of func(r *http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			i.mu.Lock()
			defer i.mu.Unlock()
			if i.down {
				http.Error(w, "away", http.StatusBadGateway)
				return
			}
			if err := json.NewEncoder(w).Encode(of(r)); err != nil {
				t.Error(err)
			}
		})
	}
	reply("GET /.well-known/openid-configuration", func(*http.Request) any {
		return map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "introspection_endpoint": i.URL + "/introspect"}
	})
	reply("GET /keys", func(*http.Request) any { return jose.JSONWebKeySet{Keys: i.keys} })
	reply("POST /introspect", func(r *http.Request) any {
		if said := i.opaque[r.FormValue("token")]; said != nil {
			return said
		}
		return map[string]any{"active": false}
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) set(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

// A key signs tokens.
type key struct {
	id      string
	private crypto.Signer
	alg     jose.SignatureAlgorithm
}

func newKey(t *testing.T, id string) key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key{id, private, jose.ES256}
}

func (k key) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.private.Public(), KeyID: k.id, Use: "sig", Algorithm: string(k.alg)}
}

func (k key) sign(t *testing.T, claims map[string]any) string {
	t.Helper()
	return signed(t, k.alg, k.id, k.private, claims)
}

// signed is a token of claims.
func signed(t *testing.T, alg jose.SignatureAlgorithm, id string, with any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: with}, (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", id))
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign([]byte(encoded(t, claims)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// guarded is a world whose callers have tokens of an issuer, and what a token
// has to say there.
func guarded(t *testing.T, i *issuer) (*world, func(changes map[string]any) map[string]any) {
	t.Helper()
	books, mail := owning(t, named("ledger")), owning(t, named("inbox"))
	t.Setenv("INTROSPECTION_SECRET", "s3cret")
	w := begin(t, fmt.Sprintf(`
mcpServers:
  books: {url: %q, start: eager}
  mail: {url: %q, start: eager}
auth:
  oauth:
    issuer: %s
    teams_claim: groups
    introspection: {client_id: tooldex, client_secret_env: INTROSPECTION_SECRET}
  grants:
    - {teams: [finance], endpoints: [default], scope: {include_servers: [books]}, role: use}
    - {principals: ["oidc:%s#root"], role: admin}
`, books.url, mail.url, i.URL, i.URL))
	w.listed(2)
	return w, func(changes map[string]any) map[string]any {
		c := map[string]any{
			"iss": i.URL, "sub": "ada", "aud": "http://" + w.listen + "/mcp", "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"/finance"},
		}
		maps.Copy(c, changes)
		maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
		return c
	}
}

// Of an issuer's tokens those are taken that are meant for the endpoint, hold
// now and are signed by one of its keys; what is refused leads to the metadata.
func TestTokensOfAnIssuer(t *testing.T) {
	k, stranger := newKey(t, "one"), newKey(t, "one")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	r := key{"rsa", rsaKey, jose.RS256}
	i := newIssuer(t, k.public(), r.public())
	w, claims := guarded(t, i)
	der, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	plain := part(encoded(t, claims(nil)))
	unix := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	good := k.sign(t, claims(nil))
	w.until("the keys are fetched", func() bool { return w.as(good).sees() == "books/ledger" })
	parts := strings.Split(good, ".")
	for name, tt := range map[string]struct {
		token string
		want  string
	}{
		"good":                      {good, "books/ledger"},
		"of the other key":          {r.sign(t, claims(nil)), "books/ledger"},
		"another team":              {k.sign(t, claims(map[string]any{"groups": []string{"other"}})), ""},
		"no team":                   {k.sign(t, claims(map[string]any{"groups": nil})), ""},
		"a scope that takes away":   {k.sign(t, claims(map[string]any{"scope": "tooldex:none"})), ""},
		"wrong audience":            {k.sign(t, claims(map[string]any{"aud": "https://other.example/mcp"})), "401"},
		"another endpoint":          {k.sign(t, claims(map[string]any{"aud": "http://" + w.listen + "/servers/x/mcp"})), "401"},
		"no audience":               {k.sign(t, claims(map[string]any{"aud": nil})), "401"},
		"expired":                   {k.sign(t, claims(map[string]any{"exp": unix(-time.Minute)})), "401"},
		"not valid yet":             {k.sign(t, claims(map[string]any{"nbf": unix(time.Hour)})), "401"},
		"another issuer":            {k.sign(t, claims(map[string]any{"iss": "https://evil.example"})), "401"},
		"not signed":                {part(`{"alg":"none"}`) + "." + plain + ".", "401"},
		"not signed, with a name":   {part(`{"alg":"none","kid":"one"}`) + "." + plain + "." + parts[2], "401"},
		"HS256 with the public key": {signed(t, jose.HS256, "rsa", public, claims(nil)), "401"},
		"a stranger's key":          {stranger.sign(t, claims(nil)), "401"},
		"an unknown key":            {signed(t, jose.ES256, "three", k.private, claims(nil)), "401"},
		"changed":                   {parts[0] + "." + part(encoded(t, claims(map[string]any{"sub": "root"}))) + "." + parts[2], "401"},
	} {
		got := w.as(tt.token).sees()
		if ok := got == tt.want || tt.want == "401" && strings.HasPrefix(got, "401"); !ok {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	refused := w.as("").call("/mcp", "list_tools", nil)
	if at := "http://" + w.listen + "/.well-known/oauth-protected-resource/mcp"; !strings.Contains(refused.header.Get("WWW-Authenticate"), at) {
		t.Errorf("without a token: %v", refused.header)
	}
	about := w.as("").send(http.MethodGet, "/.well-known/oauth-protected-resource/mcp", "")
	if !strings.Contains(about.body, `"resource":"http://`+w.listen+`/mcp"`) || !strings.Contains(about.body, i.URL) {
		t.Errorf("metadata: %s", about.text())
	}
}

// Without its issuer the last keys go on, and who has an opaque token is told
// to come again. How keys are rotated is tested where the clock can be moved, in
// gateway/auth/oauth.
func TestIssuerComesAndGoes(t *testing.T) {
	k := newKey(t, "one")
	i := newIssuer(t, k.public())
	w, claims := guarded(t, i)
	said := claims(map[string]any{"active": true})
	i.set(func() { i.opaque["opaque-token-of-ada"] = said })
	w.until("the keys are fetched", func() bool { return w.as(k.sign(t, claims(nil))).sees() == "books/ledger" })
	if got := w.as("opaque-token-of-ada").sees(); got != "books/ledger" {
		t.Errorf("an opaque token: %s", got)
	}
	if got := w.as("opaque-token-of-nobody").sees(); !strings.HasPrefix(got, "401") {
		t.Errorf("an opaque token that the issuer does not know: %s", got)
	}
	i.set(func() { i.down = true })
	if got := w.as(k.sign(t, claims(nil))).sees(); got != "books/ledger" {
		t.Errorf("with the issuer away: %s", got)
	}
	away := w.as("another-opaque-token").call("/mcp", "list_tools", nil)
	if away.status != http.StatusServiceUnavailable || away.header.Get("Retry-After") == "" {
		t.Errorf("introspection with the issuer away: %s", away.text())
	}
	if got := w.as(newKey(t, "two").sign(t, claims(nil))).sees(); !strings.HasPrefix(got, "401") {
		t.Errorf("an unknown key with the issuer away: %s", got)
	}
}

// A token's scopes cap its grants: a client that lacks one is told to step up.
func TestStepUp(t *testing.T) {
	k := newKey(t, "one")
	w, claims := guarded(t, newIssuer(t, k.public()))
	less := w.as(k.sign(t, claims(map[string]any{"scope": "tooldex:discover"})))
	w.until("the keys are fetched", func() bool { return less.sees() == "books/ledger" })
	got := less.call("/mcp", "execute_tool", map[string]any{"tool_name": "books/ledger", "arguments": map[string]any{}})
	if c := got.header.Get("WWW-Authenticate"); got.status != http.StatusForbidden || !strings.Contains(c, "insufficient_scope") || !strings.Contains(c, "tooldex:use") {
		t.Errorf("running a tool: %s %s", got.text(), c)
	}
	for path, want := range map[string]map[string]int{"/metrics": {"ada": http.StatusForbidden, "root": http.StatusOK}} {
		for sub, status := range want {
			if got := w.as(k.sign(t, claims(map[string]any{"sub": sub}))).send(http.MethodGet, path, ""); got.status != status {
				t.Errorf("%s as %s: %s", path, sub, got.text())
			}
		}
	}
}
