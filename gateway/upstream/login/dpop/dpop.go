// Package dpop proves that whoever sends a token has the key that it is bound
// to (RFC 9449), so that the token alone is of no use to anybody else.
//
// A [Key] signs one proof for each request; a [Transport] adds them to those for
// tokens. Servers may want a nonce of theirs in proofs: [Nonces] are the newest.
package dpop

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Algorithm is the one of all proofs. Every server that takes any knows it.
const Algorithm = jose.ES256

// Header is where the proof of a request stands.
const Header = "DPoP"

// CodeNonce is the code of the error of whoever wants another nonce in a proof
// (RFC 9449, sections 8 and 9).
const CodeNonce = "use_dpop_nonce"

// A Key is what tokens are bound to.
type Key struct {
	private *ecdsa.PrivateKey
	signer  jose.Signer
}

// NewKey makes a key.
func NewKey() (*Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return keyOf(private)
}

func keyOf(private *ecdsa.PrivateKey) (*Key, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: Algorithm, Key: private}, (&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"))
	if err != nil {
		return nil, fmt.Errorf("key of tokens: %w", err)
	}
	return &Key{private, signer}, nil
}

// MarshalText is the private key: PKCS 8 in base64.
func (k *Key) MarshalText() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, der), nil
}

// UnmarshalText reads what MarshalText wrote.
func (k *Key) UnmarshalText(text []byte) error {
	der, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return err
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return errors.New("it is no key of an elliptic curve")
	}
	read, err := keyOf(private)
	if err == nil {
		*k = *read
	}
	return err
}

// Thumbprint names the key (RFC 7638).
func (k *Key) Thumbprint() (string, error) {
	public := jose.JSONWebKey{Key: k.private.Public()}
	sum, err := public.Thumbprint(crypto.SHA256)
	return base64.RawURLEncoding.EncodeToString(sum), err
}

// Claims are what a proof says of its request.
type Claims struct {
	ID     string           `json:"jti"`
	Method string           `json:"htm"`
	URL    string           `json:"htu"` // without query and fragment
	Issued *jwt.NumericDate `json:"iat"`
	Token  string           `json:"ath,omitempty"` // hash of the token that goes along
	Nonce  string           `json:"nonce,omitempty"`
}

// Proof is the proof of one request, which token goes along with; "" for none.
func (k *Key) Proof(method string, to *url.URL, token, nonce string) (string, error) {
	c := Claims{ID: rand.Text(), Method: method, URL: plain(to), Issued: jwt.NewNumericDate(time.Now()), Nonce: nonce}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		c.Token = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return jwt.Signed(k.signer).Claims(c).Serialize()
}

// plain is an address without query and fragment.
func plain(u *url.URL) string {
	bare := *u
	bare.User, bare.RawQuery, bare.ForceQuery, bare.Fragment, bare.RawFragment = nil, "", false, "", ""
	return bare.String()
}

// NonceOf is the nonce in a proof, "" for none.
func NonceOf(proof string) string {
	var c Claims
	if t, err := jwt.ParseSigned(proof, []jose.SignatureAlgorithm{Algorithm}); err != nil || t.UnsafeClaimsWithoutVerification(&c) != nil {
		return ""
	}
	return c.Nonce
}

// Nonces are the newest of servers by name. The zero value is empty; Nonces are
// safe for concurrent use.
type Nonces struct{ by sync.Map }

// Of is the nonce of a server, "" for none.
func (n *Nonces) Of(server string) string {
	nonce, _ := n.by.Load(server)
	text, _ := nonce.(string)
	return text
}

// Learn takes the nonce of an answer over, if there is one.
func (n *Nonces) Learn(server string, resp *http.Response) {
	if nonce := resp.Header.Get("DPoP-Nonce"); nonce != "" {
		n.by.Store(server, nonce)
	}
}

// A Transport adds proofs to requests for tokens, and makes one again that
// lacked the nonce.
type Transport struct {
	Base   http.RoundTripper
	Key    *Key
	Nonces *Nonces
}

// maxRefusal bounds the answer that says that a nonce is wanted.
const maxRefusal = 1 << 20

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	at := plain(req.URL)
	for try := 0; ; try++ {
		nonce := t.Nonces.Of(at)
		proof, err := t.Key.Proof(req.Method, req.URL, "", nonce)
		if err != nil {
			return nil, err
		}
		out := req.Clone(req.Context())
		if out.Header.Set(Header, proof); req.GetBody != nil {
			if out.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err := t.Base.RoundTrip(out)
		if err != nil {
			return nil, err
		}
		t.Nonces.Learn(at, resp)
		if try > 0 || req.GetBody == nil || t.Nonces.Of(at) == nonce || !issuerWantsNonce(resp) {
			return resp, nil
		}
	}
}

// WantsNonce reports an answer of a server that refuses a request for the nonce in
// its proof alone: the same token is taken with another proof.
func WantsNonce(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized && strings.Contains(strings.Join(resp.Header.Values("WWW-Authenticate"), ","), CodeNonce)
}

// issuerWantsNonce reports the same of an answer to a request for a token, whose
// body can be read again.
func issuerWantsNonce(resp *http.Response) bool {
	if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusUnauthorized {
		return false
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && bytes.Contains(body, []byte(CodeNonce))
}
