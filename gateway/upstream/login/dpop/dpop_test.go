package dpop

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// claimsOf reads a proof by the key in it.
func claimsOf(t *testing.T, proof string) (c Claims) {
	t.Helper()
	parsed, err := jwt.ParseSigned(proof, []jose.SignatureAlgorithm{Algorithm})
	if err != nil {
		t.Fatal(err)
	}
	key := parsed.Headers[0].JSONWebKey
	if key == nil || !key.IsPublic() {
		t.Fatalf("the key is %v", key)
	}
	if err := parsed.Claims(key, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProof(t *testing.T) {
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse("https://ann:secret@x.example/a%2Fb/mcp?key=secret#part")
	if err != nil {
		t.Fatal(err)
	}
	one, err := k.Proof(http.MethodPost, to, "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", "n1")
	if err != nil {
		t.Fatal(err)
	}
	c := claimsOf(t, one)
	// the hash is the one of RFC 9449, section 7.1
	if c.URL != "https://x.example/a%2Fb/mcp" || c.Method != "POST" || c.Nonce != "n1" || NonceOf(one) != "n1" || c.Token != "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo" {
		t.Errorf("got %+v", c)
	}
	text, err := k.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var read Key
	if err := read.UnmarshalText(text); err != nil {
		t.Fatal(err)
	}
	two, err := read.Proof(http.MethodPost, to, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if d := claimsOf(t, two); d.ID == c.ID || d.Token != "" || NonceOf(two) != "" {
		t.Errorf("got %+v after %+v", d, c)
	}
	a, errA := k.Thumbprint()
	b, errB := read.Thumbprint()
	if a != b || a == "" || errA != nil || errB != nil {
		t.Errorf("got %q and %q, %v, %v", a, b, errA, errB)
	}
	for _, wrong := range []string{"", "x", "AAAA"} {
		if err := new(Key).UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q is a key", wrong)
		}
		if NonceOf(wrong) != "" {
			t.Errorf("%q has a nonce", wrong)
		}
	}
}

// A request for a token is made again with the nonce that is wanted, once, and
// whole; any other refusal stands.
func TestTransport(t *testing.T) {
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	var bodies, seen []string
	wants, says := "n1", CodeNonce
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		nonce := NonceOf(r.Header.Get(Header))
		bodies, seen = append(bodies, string(body)), append(seen, nonce)
		if nonce != wants {
			w.Header().Set("DPoP-Nonce", wants)
			http.Error(w, `{"error":"`+says+`"}`, http.StatusBadRequest)
		}
	}))
	defer web.Close()
	client := http.Client{Transport: &Transport{Base: http.DefaultTransport, Key: k, Nonces: &Nonces{}}}
	for i, c := range []struct {
		wants, says, seen string
		status            int
	}{
		{"n1", CodeNonce, ",n1", http.StatusOK},
		{"n1", CodeNonce, "n1", http.StatusOK},
		{"n2", CodeNonce, "n1,n2", http.StatusOK},
		{"n3", "invalid_grant", "n2", http.StatusBadRequest},
	} {
		wants, says, bodies, seen = c.wants, c.says, nil, nil
		resp, err := client.Post(web.URL+"/token", "text/plain", strings.NewReader("whole"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || strings.Join(seen, ",") != c.seen || strings.Join(bodies, "") != strings.Repeat("whole", len(seen)) || c.status != http.StatusOK && !strings.Contains(string(body), c.says) {
			t.Errorf("%d: got %d %s, %v, nonces %q, bodies %q", i, resp.StatusCode, body, err, seen, bodies)
		}
	}
}
