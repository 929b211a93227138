package loginstest

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
)

// proved answers a request as f does. Where tokens are bound, one for a token
// needs a proof, and what it gives is bound to its key.
func (x *Issuer) proved(w http.ResponseWriter, req *http.Request, f func(http.ResponseWriter, *http.Request) any) any {
	if !x.Bound || req.URL.Path != "/token" || req.Header.Get(dpop.Header) == "" {
		return f(w, req)
	}
	key, code := x.proof(req, "")
	if code != "" {
		w.Header().Set("DPoP-Nonce", x.Nonce)
		return failure(code)
	}
	body := f(w, req)
	if out, ok := body.(map[string]any); ok && !x.Unbinds {
		token, _ := out["access_token"].(string)
		out["token_type"], x.keys[token] = "DPoP", key
	}
	return body
}

// proof checks the proof of a request by the rules of RFC 9449, section 4.3, and
// returns the thumbprint of its key, or the code of the error.
func (x *Issuer) proof(req *http.Request, token string) (key, code string) {
	const wrong = "invalid_dpop_proof"
	given := req.Header.Values(dpop.Header)
	if len(given) != 1 {
		return "", wrong
	}
	t, err := jwt.ParseSigned(given[0], []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || len(t.Headers) != 1 || t.Headers[0].ExtraHeaders[jose.HeaderType] != "dpop+jwt" {
		return "", wrong
	}
	public := t.Headers[0].JSONWebKey
	if public == nil || !public.IsPublic() {
		return "", wrong
	}
	var c dpop.Claims
	hash := sha256.Sum256([]byte(token))
	want := dpop.Claims{ID: c.ID, Method: req.Method, URL: x.URL + req.URL.Path}
	if token != "" {
		want.Token = base64.RawURLEncoding.EncodeToString(hash[:])
	}
	if t.Claims(public, &c) != nil || c.Method != want.Method || c.URL != want.URL || c.Token != want.Token || c.ID == "" || x.proofs[c.ID] || time.Since(c.Issued.Time()).Abs() > time.Minute {
		return "", wrong
	}
	x.proofs[c.ID] = true
	if c.Nonce != x.Nonce {
		return "", dpop.CodeNonce
	}
	sum, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return "", wrong
	}
	return base64.RawURLEncoding.EncodeToString(sum), ""
}
