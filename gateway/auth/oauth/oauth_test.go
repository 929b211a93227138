package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tooldex/tooldex/gateway/auth"
)

const resource = "https://tools.example.com/mcp"

// An issuer is a real one over HTTP, whose keys and answers a test changes.
type issuer struct {
	t *testing.T
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	keys   []jose.JSONWebKey
	down   bool
	opaque map[string]map[string]any // what introspection says of tokens
	asked  int                       // for keys
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{t: t, opaque: map[string]map[string]any{}}
	mux := http.NewServeMux()
	reply := func(f func(r *http.Request) any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			i.mu.Lock()
			defer i.mu.Unlock()
			if i.down {
				http.Error(w, "away", http.StatusBadGateway)
				return
			}
			if err := json.NewEncoder(w).Encode(f(r)); err != nil {
				t.Error(err)
			}
		}
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", reply(func(*http.Request) any {
		return map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "introspection_endpoint": i.URL + "/introspect"}
	}))
	mux.HandleFunc("GET /keys", reply(func(*http.Request) any {
		i.asked++
		return jose.JSONWebKeySet{Keys: i.keys}
	}))
	mux.HandleFunc("POST /introspect", reply(func(r *http.Request) any {
		if user, password, _ := r.BasicAuth(); user != "tooldex" || password != "s3cret" {
			return map[string]any{"error": "invalid_client"}
		}
		if said := i.opaque[r.FormValue("token")]; said != nil {
			return said
		}
		return map[string]any{"active": false}
	}))
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

func newRSA(t *testing.T, id string) key {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key{id, private, jose.RS256}
}

func newEC(t *testing.T, id string) key {
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

// sign makes a token of claims.
func sign(t *testing.T, alg jose.SignatureAlgorithm, id string, with any, claims map[string]any) string {
	t.Helper()
	opts := (&jose.SignerOptions{}).WithType("at+jwt")
	if id != "" {
		opts = opts.WithHeader("kid", id)
	}
	return signedBy(t, jose.SigningKey{Algorithm: alg, Key: with}, opts, claims)
}

func signedBy(t *testing.T, k jose.SigningKey, opts *jose.SignerOptions, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(k, opts)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (k key) sign(t *testing.T, claims map[string]any) string {
	return sign(t, k.alg, k.id, k.private, claims)
}

// claims are good ones with changes; nil removes a claim.
func (i *issuer) claims(changes map[string]any) map[string]any {
	c := map[string]any{
		"iss": i.URL, "sub": "ada", "aud": []string{"account", resource}, "exp": time.Now().Add(time.Hour).Unix(),
		"nbf": time.Now().Unix(), "groups": []string{"/finance-team", "platform"},
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// running is a verifier of the issuer that knows its keys.
func (i *issuer) running(t *testing.T) *Verifier {
	t.Helper()
	v := New(Config{Issuer: i.URL, TeamsClaim: "groups", ClientID: "tooldex", ClientSecret: "s3cret"}, nil)
	if err := v.keys.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

// follow has the verifier keep the keys, as it does while serving.
func follow(t *testing.T, v *Verifier) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); v.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
}

func TestJWT(t *testing.T) {
	i, k, e := newIssuer(t), newRSA(t, "one"), newEC(t, "two")
	i.keys = []jose.JSONWebKey{k.public(), e.public()}
	v := i.running(t)
	stranger := newRSA(t, "one") // of the same name
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	good, err := json.Marshal(i.claims(nil))
	if err != nil {
		t.Fatal(err)
	}
	signed := strings.Split(k.sign(t, i.claims(nil)), ".")
	hour := time.Hour
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for name, tt := range map[string]struct{ token, want string }{
		"good":                       {k.sign(t, i.claims(nil)), ""},
		"good, of another kind":      {e.sign(t, i.claims(nil)), ""},
		"audience as text":           {k.sign(t, i.claims(map[string]any{"aud": resource})), ""},
		"wrong audience":             {k.sign(t, i.claims(map[string]any{"aud": "https://other.example.com/mcp"})), "audience"},
		"another endpoint":           {k.sign(t, i.claims(map[string]any{"aud": "https://tools.example.com/servers/finance/mcp"})), "audience"},
		"no audience":                {k.sign(t, i.claims(map[string]any{"aud": nil})), "audience"},
		"expired":                    {k.sign(t, i.claims(map[string]any{"exp": at(-time.Second)})), "expired"},
		"without an end":             {k.sign(t, i.claims(map[string]any{"exp": nil})), "expired"},
		"not yet valid":              {k.sign(t, i.claims(map[string]any{"nbf": at(time.Minute)})), "not valid yet"},
		"not valid for long":         {k.sign(t, i.claims(map[string]any{"nbf": at(hour)})), "not"},
		"another issuer":             {k.sign(t, i.claims(map[string]any{"iss": "https://evil.example.com"})), "not its token"},
		"no subject":                 {k.sign(t, i.claims(map[string]any{"sub": nil})), "subject"},
		"none":                       {part(`{"alg":"none"}`) + "." + part(string(good)) + ".", "not signed"},
		"None":                       {part(`{"alg":"None","kid":"one"}`) + "." + part(string(good)) + "." + signed[2], "not signed"},
		"HS256 with the public key":  {sign(t, jose.HS256, "one", public, i.claims(nil)), "not signed"},
		"HS256 with its DER":         {sign(t, jose.HS256, "one", der, i.claims(nil)), "not signed"},
		"a stranger's key":           {stranger.sign(t, i.claims(nil)), "not signed"},
		"another kind's name":        {sign(t, jose.RS256, "two", k.private, i.claims(nil)), "not signed"},
		"unknown key":                {sign(t, jose.RS256, "three", k.private, i.claims(nil)), "not signed"},
		"changed":                    {signed[0] + "." + part(strings.Replace(string(good), "ada", "eve", 1)) + "." + signed[2], "not signed"},
		"cut":                        {signed[0] + "." + signed[1] + ".", "not signed"},
		"garbage":                    {"a.b.c", "not signed"},
		"key in the header":          {embedded(t, stranger, i.claims(nil)), "not signed"},
		"teams of the wrong type":    {k.sign(t, i.claims(map[string]any{"groups": 7})), ""},
		"audience of the wrong type": {k.sign(t, i.claims(map[string]any{"aud": 7})), ""},
	} {
		p, until, err := v.Verify(t.Context(), tt.token, resource)
		switch {
		case name == "audience of the wrong type":
			if err == nil {
				t.Errorf("%s: accepted", name)
			}
		case tt.want == "":
			if err != nil || p.Name != "oidc:"+i.URL+"#ada" || until.IsZero() || p.Most != auth.Admin {
				t.Errorf("%s: %+v until %v, %v", name, p, until, err)
			}
		case !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want) || p != nil:
			t.Errorf("%s: %+v, %v; want %q", name, p, err, tt.want)
		case strings.Contains(err.Error(), signed[1]) || strings.Contains(err.Error(), "ada"):
			t.Errorf("%s: the error tells of the token: %v", name, err)
		}
	}
}

// embedded brings its own key.
func embedded(t *testing.T, k key, claims map[string]any) string {
	t.Helper()
	return signedBy(t, jose.SigningKey{Algorithm: k.alg, Key: k.private}, &jose.SignerOptions{EmbedJWK: true}, claims)
}

func TestTeamsAndScopes(t *testing.T) {
	i, k := newIssuer(t), newRSA(t, "one")
	i.keys = []jose.JSONWebKey{k.public()}
	v := i.running(t)
	for _, tt := range []struct {
		claim   string
		changes map[string]any
		teams   []string
		most    auth.Role
	}{
		{"groups", nil, []string{"finance-team", "platform"}, auth.Admin},
		{"groups", map[string]any{"groups": []string{"/a/b", "/"}}, []string{"a/b"}, auth.Admin},
		{"", nil, nil, auth.Admin},
		{"realm_access.roles", map[string]any{"realm_access": map[string]any{"roles": []string{"ops"}}}, []string{"ops"}, auth.Admin},
		{"https://example.com/teams", map[string]any{"https://example.com/teams": "ops"}, []string{"ops"}, auth.Admin},
		{"none.there", nil, nil, auth.Admin},
		{"groups", map[string]any{"scope": "openid tooldex:discover"}, []string{"finance-team", "platform"}, auth.Discover},
		{"groups", map[string]any{"scope": "tooldex:discover tooldex:use"}, []string{"finance-team", "platform"}, auth.Use},
		{"groups", map[string]any{"scp": []string{"tooldex:use"}}, []string{"finance-team", "platform"}, auth.Use},
		{"groups", map[string]any{"scope": "openid tooldex:everything"}, []string{"finance-team", "platform"}, auth.None},
		{"groups", map[string]any{"scope": "openid email"}, []string{"finance-team", "platform"}, auth.Admin},
	} {
		v.config.TeamsClaim = tt.claim
		p, _, err := v.Verify(t.Context(), k.sign(t, i.claims(tt.changes)), resource)
		if err != nil || !slices.Equal(p.Teams, tt.teams) || p.Most != tt.most {
			t.Errorf("%q %v: %+v, %v; want %v, %v", tt.claim, tt.changes, p, err, tt.teams, tt.most)
		}
	}
}

func TestRotatedKeys(t *testing.T) {
	i, k := newIssuer(t), newRSA(t, "one")
	i.keys = []jose.JSONWebKey{k.public()}
	v := i.running(t)
	follow(t, v)
	fresh := newRSA(t, "two")
	token := fresh.sign(t, i.claims(nil))
	i.set(func() { i.keys = []jose.JSONWebKey{fresh.public()} })
	later(v, askAgain+time.Second)
	if _, _, err := v.Verify(t.Context(), token, resource); err != nil {
		t.Fatalf("a token of the new key: %v", err)
	}
	if _, _, err := v.Verify(t.Context(), k.sign(t, i.claims(nil)), resource); !errors.Is(err, ErrInvalid) {
		t.Errorf("a token of the key that was withdrawn: %v", err)
	}
	var asked int
	i.set(func() { asked = i.asked })
	for range 20 {
		if _, _, err := v.Verify(t.Context(), newEC(t, rand.Text()).sign(t, i.claims(nil)), resource); !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
	}
	i.set(func() {
		if i.asked > asked+1 {
			t.Errorf("20 tokens with keys of their own had the issuer asked %d times", i.asked-asked)
		}
	})
}

// later moves the verifier's clock for keys, not that for tokens.
func later(v *Verifier, d time.Duration) {
	v.keys.mu.Lock()
	defer v.keys.mu.Unlock()
	v.keys.now = func() time.Time { return time.Now().Add(d) }
}

// Without its issuer a verifier goes on with the keys that it has, as long as
// they hold; then it is closed, and opens again by itself.
func TestUnreachableIssuer(t *testing.T) {
	i, k := newIssuer(t), newRSA(t, "one")
	i.keys = []jose.JSONWebKey{k.public()}
	v := i.running(t)
	i.set(func() { i.down = true })
	token := k.sign(t, i.claims(nil))
	later(v, keyLifetime-time.Minute)
	if err := v.keys.fetch(t.Context()); err == nil {
		t.Fatal("keys fetched from an issuer that is away")
	}
	if _, _, err := v.Verify(t.Context(), token, resource); err != nil {
		t.Errorf("within the keys' lifetime: %v", err)
	}
	later(v, keyLifetime+time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody fetches: it need not wait
	if _, _, err := v.Verify(ctx, token, resource); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after it: %v", err)
	}
	i.set(func() { i.down = false })
	if err := v.keys.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Verify(t.Context(), token, resource); err != nil {
		t.Errorf("with the issuer back: %v", err)
	}
	never := New(Config{Issuer: "http://127.0.0.1:1"}, nil)
	if _, _, err := never.Verify(ctx, token, resource); !errors.Is(err, ErrUnavailable) {
		t.Errorf("before the first keys: %v", err)
	}
}

func TestIntrospection(t *testing.T) {
	i := newIssuer(t)
	v := i.running(t)
	with := func(changes map[string]any) map[string]any {
		c := i.claims(changes)
		if _, ok := changes["active"]; !ok {
			c["active"] = true
		}
		return c
	}
	for name, tt := range map[string]struct {
		said map[string]any
		want error
	}{
		"good":           {with(nil), nil},
		"without issuer": {with(map[string]any{"iss": nil}), nil},
		"inactive":       {with(map[string]any{"active": false}), ErrInvalid},
		"unknown":        {nil, ErrInvalid},
		"no audience":    {with(map[string]any{"aud": nil}), ErrInvalid},
		"other audience": {with(map[string]any{"aud": "x"}), ErrInvalid},
		"expired":        {with(map[string]any{"exp": 1}), ErrInvalid},
		"other issuer":   {with(map[string]any{"iss": "x"}), ErrInvalid},
		"odd":            {with(map[string]any{"sub": 7}), ErrInvalid},
	} {
		token := "tok " + name
		i.set(func() { i.opaque[token] = tt.said })
		p, _, err := v.Verify(t.Context(), token, resource)
		if !errors.Is(err, tt.want) || (p != nil) != (tt.want == nil) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	i.set(func() { i.opaque["tok"] = with(nil); i.down = true })
	if p, _, err := v.Verify(t.Context(), "tok", resource); !errors.Is(err, ErrUnavailable) || p != nil {
		t.Errorf("introspection down: %+v, %v", p, err)
	}
	i.set(func() { i.down = false })
	v.config.ClientSecret = "wrong"
	if p, _, err := v.Verify(t.Context(), "tok", resource); !errors.Is(err, ErrInvalid) || p != nil {
		t.Errorf("refused client: %+v, %v", p, err)
	}
	v.config.ClientID = ""
	if _, _, err := v.Verify(t.Context(), "tok", resource); !errors.Is(err, ErrInvalid) {
		t.Errorf("without introspection: %v", err)
	}
}

// An answer of the issuer is asked for once in a while, and holds no longer;
// that it does not answer is not kept.
func TestIntrospectionIsKept(t *testing.T) {
	i := newIssuer(t)
	v := i.running(t)
	now := time.Now()
	v.now = func() time.Time { return now }
	said := i.claims(map[string]any{"active": true, "exp": now.Add(3 * time.Second).Unix()})
	i.set(func() { i.opaque["tok"] = said })
	verify := func() error {
		_, _, err := v.Verify(t.Context(), "tok", resource)
		return err
	}
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	i.set(func() { i.opaque["tok"] = map[string]any{"active": false}; i.down = true })
	if err := verify(); err != nil {
		t.Errorf("right after: %v", err)
	}
	now = now.Add(4 * time.Second)
	if err := verify(); !errors.Is(err, ErrInvalid) {
		t.Errorf("past the token's end: %v", err)
	}
	now = now.Add(believed)
	if err := verify(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("past what is believed, with the issuer away: %v", err)
	}
	i.set(func() { i.down = false })
	if err := verify(); !errors.Is(err, ErrInvalid) {
		t.Errorf("with the issuer back: %v", err)
	}
	for n := range 2 * keptAnswers {
		v.answers.Add([32]byte{byte(n), byte(n >> 8)}, answered{})
	}
	if v.answers.Len() > keptAnswers {
		t.Errorf("%d answers are kept", v.answers.Len())
	}
}
