package login

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
	"github.com/tooldex/tooldex/gateway/upstream/rest/web"
)

// grantPrefix and tokenPrefix begin the names of grants and of kinds of tokens
// (RFC 7523, RFC 8693).
const (
	grantPrefix = "urn:ietf:params:oauth:grant-type:"
	tokenPrefix = "urn:ietf:params:oauth:token-type:"
)

// maxHeld bounds the tokens that are held for callers: more are had again.
const maxHeld = 1000

// defaultLife is how long a token in place of a caller's is held when its issuer
// does not say how long it holds.
const defaultLife = 5 * time.Minute

// A held is a token that nobody logged in for.
type held struct {
	token  string
	due    time.Time // when another one is to be had; zero for never
	scopes []string  // that it was asked for with
	key    *dpop.Key // that it is bound to; nil for none
}

// A subjectKey is what a token is held under: the hash of the caller's own
// token in whose place it is, of nothing for that of tooldex itself.
type subjectKey [sha256.Size]byte

func keyOf(subject string) subjectKey { return sha256.Sum256([]byte(subject)) }

// A machine has the tokens that nobody logs in for, tooldex's own and those in
// place of its callers', and holds them.
type machine struct {
	*Source
	once singleflight.Group // one fetch for a caller at a time
	held *lru.Cache[subjectKey, held]
	key  func() (*dpop.Key, error) // of all tokens that are to be bound to one
}

func newMachine(s *Source) *machine {
	tokens, err := lru.New[subjectKey, held](maxHeld)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &machine{Source: s, held: tokens, key: sync.OnceValues(dpop.NewKey)}
}

// holds is the token held for a caller.
func (m *machine) holds(subject string) held {
	h, _ := m.held.Get(keyOf(subject))
	return h
}

// token is one that was fetched before, or is now where it is known from whom:
// else the server has to say so first.
func (m *machine) token(ctx context.Context) (string, *dpop.Key, error) {
	config, subject := m.o.Config, m.subjectOf(ctx)
	switch {
	case m.o.API && config.Type == TokenExchange && subject == "":
		return "", nil, upstream.ErrNoToken
	case m.nobody(ctx):
		return "", nil, nil
	}
	h := m.holds(subject)
	known := config.Type == TokenExchange || config.TokenURL != "" || m.o.API && config.Issuer != ""
	switch {
	case h.token != "" && (h.due.IsZero() || time.Now().Before(h.due)):
		m.o.Mask.Add(subject, h.token) // again: of many callers' only so many are masked
		return h.token, h.key, nil
	case h.token == "" && !known:
		return "", nil, nil
	}
	return m.fetched(ctx, h.token, nil)
}

// fetched is a token in place of the one that was used, and the key that it is
// bound to; the same when the server asks for no other than it was asked for.
func (m *machine) fetched(ctx context.Context, used string, c *challenge) (string, *dpop.Key, error) {
	subject := m.subjectOf(ctx)
	key := keyOf(subject)
	done := m.once.DoChan("fetch "+string(key[:])+used, func() (any, error) {
		before := m.holds(subject)
		if before.token != used {
			return before, nil
		}
		if c != nil && c.code == "insufficient_scope" && !slices.ContainsFunc(c.scopes, func(w string) bool { return !slices.Contains(before.scopes, w) }) {
			return before, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		now, err := m.fetch(ctx, subject, c, before)
		if err != nil {
			return nil, err
		}
		m.held.Add(key, now)
		return now, nil
	})
	select {
	case r := <-done:
		now, _ := r.Val.(held)
		return now.token, now.key, r.Err
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
}

// A tokenEndpoint is where a token is asked for, and how a client proves itself
// there.
type tokenEndpoint struct {
	place
	url, issuer string
	methods     []string // of authentication that it knows; nil where that is not known
}

// endpoint finds out where to ask for a token.
func (m *machine) endpoint(ctx context.Context, c *challenge) (tokenEndpoint, error) {
	config := m.o.Config
	at := tokenEndpoint{place: place{resource: config.Resource}, url: config.TokenURL, issuer: config.Issuer}
	if at.url == "" {
		var err error
		if at.place, err = m.find(ctx, c); err != nil {
			return at, web.Cause(err)
		}
		at.url, at.issuer, at.methods = at.server.TokenEndpoint, at.server.Issuer, at.server.TokenEndpointAuthMethodsSupported
	}
	if at.issuer == "" {
		at.issuer = at.url
	}
	return at, nil
}

// fetch fetches a token for a caller, or for tooldex itself where subject is "",
// with the scopes of the one before, too.
func (m *machine) fetch(ctx context.Context, subject string, c *challenge, before held) (held, error) {
	config := m.o.Config
	at, err := m.endpoint(ctx, c)
	if err != nil {
		return held{}, err
	}
	g := grant{url: at.url, scopes: config.Scopes, form: url.Values{}}
	if len(g.scopes) == 0 {
		g.scopes = at.scopes
	}
	if c != nil {
		g.scopes, at.bound = union(g.scopes, c.scopes), at.bound || c.bound
	}
	g.scopes = union(before.scopes, g.scopes)
	if at.bound || before.key != nil {
		if g.key, err = m.key(); err != nil {
			return held{}, err
		}
	}
	if at.resource != "" {
		g.form.Set("resource", at.resource)
	}
	if config.Audience != "" {
		g.form.Set("audience", config.Audience)
	}
	if err := m.claim(ctx, g.form, subject, at); err != nil {
		return held{}, err
	}
	if g.client, err = m.proved(ctx, Client{ID: config.ClientID, Style: style(at.methods, config.ClientSecret)}, at.issuer, g.form); err != nil {
		return held{}, err
	}
	t, err := m.ask(ctx, g)
	if err == nil && subject != "" {
		err = checkIssued(at.url, t, "access_token", "jwt")
	}
	if err != nil {
		return held{}, err
	}
	h := held{t.AccessToken, renewal(t), g.scopes, boundTo(t, g.key)}
	if h.due.IsZero() && subject != "" {
		h.due = time.Now().Add(defaultLife)
	}
	return h, nil
}

// claim adds to a form what gives a right to a token beside the client's own
// credentials.
func (m *machine) claim(ctx context.Context, form url.Values, subject string, at tokenEndpoint) error {
	switch {
	case subject != "":
		m.o.Mask.Add(subject)
		exchange(form, subject, "access_token", "access_token")
	case m.o.Config.Type == JWTBearer:
		jwt, values, err := m.o.Secrets.Resolve(ctx, m.o.Config.Assertion)
		if err != nil {
			return err
		}
		m.o.Mask.Add(values...)
		if m.o.Config.IDPTokenURL != "" {
			if jwt, err = m.granted(ctx, jwt, at); err != nil {
				return err
			}
		}
		form.Set("grant_type", grantPrefix+"jwt-bearer")
		form.Set("assertion", jwt)
	}
	return nil
}

// exchange makes of a form the exchange of a token for one of another kind.
func exchange(form url.Values, subject, kind, wanted string) {
	form.Set("grant_type", grantPrefix+"token-exchange")
	form.Set("subject_token", subject)
	form.Set("subject_token_type", tokenPrefix+kind)
	form.Set("requested_token_type", tokenPrefix+wanted)
}

// granted is the JWT by which the identity provider of a company lets whoever
// has an ID token of its in at another issuer
// (draft-ietf-oauth-identity-assertion-authz-grant, section 4).
func (m *machine) granted(ctx context.Context, id string, at tokenEndpoint) (string, error) {
	config := m.o.Config
	form := url.Values{"audience": {at.issuer}}
	if at.resource != "" {
		form.Set("resource", at.resource)
	}
	exchange(form, id, "id_token", "id-jag")
	secret, values, err := m.o.Secrets.Resolve(ctx, config.IDPSecret)
	if err != nil {
		return "", err
	}
	m.o.Mask.Add(values...)
	client := Client{ID: config.IDPClientID, Secret: secret, Style: oauth2.AuthStyleInParams}
	t, err := m.ask(ctx, grant{client: client, url: config.IDPTokenURL, scopes: config.Scopes, form: form})
	if err != nil {
		return "", err
	}
	return t.AccessToken, checkIssued(config.IDPTokenURL, t, "id-jag")
}

// checkIssued checks that an exchange gave a token of one of these kinds, as
// far as it says.
func checkIssued(address string, t *oauth2.Token, kinds ...string) error {
	given, _ := t.Extra("issued_token_type").(string)
	if given == "" || slices.Contains(kinds, strings.TrimPrefix(given, tokenPrefix)) {
		return nil
	}
	return fmt.Errorf("%s: it gave a token of type %s, and was asked for %s", address, clip(given, 100), kinds[0])
}
