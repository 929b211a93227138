package login

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
)

// errInvalidGrant reports an authorization server that says that a grant, such
// as a refresh token, holds no more.
var errInvalidGrant = errors.New("the grant holds no more")

// A grant is one request for a token.
type grant struct {
	client Client
	url    string
	scopes []string
	form   url.Values // grant_type and what belongs to it
	key    *dpop.Key  // that the token is to be bound to; nil for none
}

// ask asks for a token. Every grant is one of client credentials with another
// grant_type to the library.
func (s *Source) ask(ctx context.Context, g grant) (*oauth2.Token, error) {
	c := clientcredentials.Config{
		ClientID: g.client.ID, ClientSecret: g.client.Secret, TokenURL: g.url, Scopes: g.scopes, EndpointParams: g.form, AuthStyle: g.client.Style,
	}
	client := *s.client
	if g.key != nil {
		client.Transport = &dpop.Transport{Base: client.Transport, Key: g.key, Nonces: &s.nonces}
	}
	token, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, &client))
	if err != nil {
		return nil, told(g.url, err)
	}
	s.o.Mask.Add(token.AccessToken, token.RefreshToken)
	return token, nil
}

// A refusal is what an authorization server answers in place of a token.
type refusal struct{ address, code, why string }

func (r refusal) Error() string {
	return r.address + ": " + strings.TrimSuffix(r.code+": "+r.why, ": ")
}

// Is reports wrong credentials, and of those a grant that holds no more.
func (r refusal) Is(target error) bool {
	ended := r.code == "invalid_grant" || r.code == "invalid_client" || r.code == "unauthorized_client"
	return target == upstream.ErrUnauthorized || target == errInvalidGrant && ended
}

// told is the error of a token endpoint without what else it answered.
func told(address string, err error) error {
	var refused *oauth2.RetrieveError
	var lost *url.Error
	switch {
	case errors.As(err, &refused) && refused.ErrorCode != "":
		return refusal{address, clip(refused.ErrorCode, 100), clip(refused.ErrorDescription, 300)}
	case errors.As(err, &refused) && refused.Response != nil:
		return fmt.Errorf("%s: HTTP %s", address, refused.Response.Status)
	case errors.As(err, &lost):
		return fmt.Errorf("%s: %w", address, lost.Err)
	}
	return fmt.Errorf("%s: %w", address, err)
}

// boundTo is the key that a token is bound to. Who asked for one that is bound
// may get another (RFC 9449, section 5).
func boundTo(t *oauth2.Token, key *dpop.Key) *dpop.Key {
	if strings.EqualFold(t.TokenType, "DPoP") {
		return key
	}
	return nil
}

func clip(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "") + "…"
	}
	return text
}

// scopesOf are the scopes of a token, those that were asked for where the
// server does not say.
func scopesOf(t *oauth2.Token, asked []string) []string {
	if text, ok := t.Extra("scope").(string); ok {
		return strings.Fields(text)
	}
	return asked
}

// style is how a client proves itself to a server that knows these methods:
// in the body, as OAuth 2.1 prefers, unless it only takes the header.
func style(methods []string, secret string) oauth2.AuthStyle {
	post, basic := false, len(methods) == 0
	for _, m := range methods {
		post, basic = post || m == "client_secret_post", basic || m == "client_secret_basic"
	}
	if secret != "" && basic && !post {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// assertionTime is how long a signed assertion holds.
const assertionTime = 5 * time.Minute

// assertion is the signed JWT by which a client with a key proves itself
// (RFC 7523, section 2.2).
func assertion(id, audience, key string) (string, error) {
	private, algorithm, err := readKey(key)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: private}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("auth.private_key: %w", err)
	}
	now := time.Now()
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: id, Subject: id, Audience: jwt.Audience{audience}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionTime)),
	}).Serialize()
}

// readKey reads a private key in PEM and says which algorithm goes with it.
func readKey(text string) (crypto.Signer, jose.SignatureAlgorithm, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, "", errors.New("auth.private_key: it is no key in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, "", errors.New("auth.private_key: it is no private key that can be read, PKCS 8 for instance")
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k, jose.RS256, nil
	case ed25519.PrivateKey:
		return k, jose.EdDSA, nil
	case *ecdsa.PrivateKey:
		for bits, a := range map[int]jose.SignatureAlgorithm{256: jose.ES256, 384: jose.ES384, 521: jose.ES512} {
			if k.Curve.Params().BitSize == bits {
				return k, a, nil
			}
		}
	}
	return nil, "", errors.New("auth.private_key: it is neither RSA nor Ed25519 nor one of P-256, P-384 and P-521")
}
