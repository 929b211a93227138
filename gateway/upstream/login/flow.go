package login

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
)

// An Opener shows a person an address to open in a browser, which comes back to
// this machine. From where it cannot, ended takes the address at which it
// ended; its error says why that is none.
type Opener func(address string, ended func(address string) error)

// Login has a person log in, in the browser that open brings them to. What is
// granted is kept. Scopes are asked for in place of those that the server names;
// nil leaves it to the server.
func (s *Source) Login(ctx context.Context, scopes []string, open Opener) (*Login, error) {
	if t := s.o.Config.Type; t != "" && t != OAuth {
		return nil, fmt.Errorf("nobody logs in there: its auth.type is %s", t)
	}
	if s.o.Store == nil {
		return nil, errors.New("there is no state folder to keep logins in; set state in the configuration")
	}
	kept, err := s.Kept()
	if err != nil {
		return nil, err
	}
	p, err := s.find(ctx, nil)
	if err != nil {
		return nil, err
	}
	if kept != nil && kept.Issuer != p.server.Issuer {
		kept = nil // its client and its scopes are of somebody else
	}
	back, err := s.listen(kept)
	if err != nil {
		return nil, err
	}
	defer back.close()
	client, err := s.clientAt(ctx, p, kept, back.address)
	if err != nil {
		return nil, err
	}
	var key *dpop.Key
	if p.bound || kept != nil && kept.Bound {
		if key, err = dpop.NewKey(); err != nil {
			return nil, err
		}
	}
	v := visit{Source: s, place: p, key: key, client: client, scopes: s.scopesFor(p, kept, scopes), back: back, verifier: oauth2.GenerateVerifier()}
	code, err := v.authorize(ctx, open)
	if err != nil {
		return nil, err
	}
	l, err := v.exchange(ctx, code)
	if err != nil {
		return nil, err
	}
	return l, s.change(ctx, func(*Login) (*Login, error) { return l, nil })
}

// A visit is one login under way.
type visit struct {
	*Source
	place
	client   Client
	scopes   []string
	back     *callback
	verifier string    // of PKCE
	key      *dpop.Key // that the tokens are to be bound to; nil for none
}

// listen opens the place that the browser comes back to: where it is
// configured, else where a registered client did, if that is free.
func (s *Source) listen(kept *Login) (*callback, error) {
	if p := s.o.Config.RedirectPort; p != 0 {
		return listen(p)
	}
	if kept != nil && kept.Client.Ours {
		if back, err := listen(portOf(kept.Client.Redirect)); err == nil {
			return back, nil
		}
	}
	return listen(0)
}

// scopesFor are the scopes to ask for: with those that the server has missed
// since, and those granted before, which a new token would else lack.
func (s *Source) scopesFor(p place, kept *Login, asked []string) []string {
	switch {
	case len(asked) > 0:
	case len(s.o.Config.Scopes) > 0:
		asked = s.o.Config.Scopes
	default:
		asked = p.scopes
	}
	if kept != nil {
		asked = union(asked, kept.Wanted)
		if len(kept.Wanted) > 0 {
			asked = union(asked, kept.Scopes)
		}
	}
	if slices.Contains(p.server.ScopesSupported, "offline_access") {
		asked = union(asked, []string{"offline_access"})
	}
	return asked
}

// clientAt is how the authorization server is to know tooldex: as configured,
// by a document that it fetches, or by registering, once.
func (s *Source) clientAt(ctx context.Context, p place, kept *Login, redirect string) (Client, error) {
	config, methods := s.o.Config, p.server.TokenEndpointAuthMethodsSupported
	switch {
	case config.ClientID != "":
		return Client{ID: config.ClientID, Style: style(methods, config.ClientSecret)}, nil
	case config.MetadataURL != "" && p.server.ClientIDMetadataDocumentSupported:
		return Client{ID: config.MetadataURL, Style: oauth2.AuthStyleInParams}, nil
	case kept != nil && kept.Client.Ours && kept.Client.Redirect == redirect:
		return kept.Client, nil
	case p.server.RegistrationEndpoint == "":
		return Client{}, fmt.Errorf("%s registers no clients by itself; have one made there that comes back to http://127.0.0.1:PORT/callback, and set auth.client_id and auth.redirect_port", p.server.Issuer)
	}
	c, err := s.register(ctx, p, redirect)
	if err != nil || kept != nil && kept.Access != "" { // whose refreshing needs its own client
		return c, err
	}
	return c, s.change(ctx, func(*Login) (*Login, error) {
		return &Login{Server: s.o.URL, Issuer: p.server.Issuer, TokenURL: p.server.TokenEndpoint, Client: c, Refused: "nobody has finished logging in"}, nil
	})
}

func (s *Source) register(ctx context.Context, p place, redirect string) (Client, error) {
	method := "none"
	if known := p.server.TokenEndpointAuthMethodsSupported; len(known) > 0 && !slices.Contains(known, method) {
		method = known[0]
		for _, m := range []string{"client_secret_post", "client_secret_basic"} {
			if slices.Contains(known, m) {
				method = m
				break
			}
		}
	}
	got, err := oauthex.RegisterClient(ctx, p.server.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: method, ApplicationType: "native", ClientName: "tooldex",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}, s.client)
	if err != nil {
		return Client{}, fmt.Errorf("register at %s: %s", p.server.Issuer, clip(err.Error(), 400))
	}
	c := Client{ID: got.ClientID, Secret: got.ClientSecret, Style: oauth2.AuthStyleInParams, Redirect: redirect, Ours: true}
	if got.ClientSecret != "" && (got.TokenEndpointAuthMethod == "client_secret_basic" || got.TokenEndpointAuthMethod == "" && method == "client_secret_basic") {
		c.Style = oauth2.AuthStyleInHeader
	}
	s.o.Mask.Add(c.Secret)
	return c, nil
}

// authorize has the person say yes, and returns the code for it.
func (v *visit) authorize(ctx context.Context, open Opener) (code string, err error) {
	config := oauth2.Config{ClientID: v.client.ID, RedirectURL: v.back.address, Scopes: v.scopes, Endpoint: oauth2.Endpoint{AuthURL: v.server.AuthorizationEndpoint}}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(v.verifier)}
	if v.resource != "" {
		options = append(options, oauth2.SetAuthURLParam("resource", v.resource))
	}
	if v.o.Config.Audience != "" {
		options = append(options, oauth2.SetAuthURLParam("audience", v.o.Config.Audience))
	}
	if slices.Contains(v.scopes, "offline_access") { // OpenID Connect, section 11
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	if v.key != nil { // nobody else can use the code (RFC 9449, section 10)
		thumbprint, err := v.key.Thumbprint()
		if err != nil {
			return "", err
		}
		options = append(options, oauth2.SetAuthURLParam("dpop_jkt", thumbprint))
	}
	state := rand.Text()
	v.back.state.Store(&state) // before anybody can come back
	open(config.AuthCodeURL(state, options...), v.back.ended)
	answer, err := v.back.wait(ctx)
	switch {
	case err != nil:
		return "", err
	case answer.Get("error") != "":
		return "", fmt.Errorf("%s refused the login: %s", v.server.Issuer, clip(strings.TrimSpace(answer.Get("error")+" "+answer.Get("error_description")), 300))
	}
	return answer.Get("code"), checkIssuer(answer, v.server)
}

// checkIssuer checks that the answer is of the server that was asked (RFC
// 9207): another one may want our code for it.
func checkIssuer(answer url.Values, server *oauthex.AuthServerMeta) error {
	iss, given := answer.Get("iss"), answer.Has("iss")
	switch {
	case server.AuthorizationResponseIssParameterSupported && !given:
		return fmt.Errorf("the answer does not say that it is of %s, as that promises; nothing was kept", server.Issuer)
	case given && iss != server.Issuer:
		return fmt.Errorf("the answer is of %s and not of %s, which was asked; nothing was kept", clip(iss, 200), server.Issuer)
	}
	return nil
}

// exchange has the code replaced by tokens.
func (v *visit) exchange(ctx context.Context, code string) (*Login, error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {v.verifier}, "redirect_uri": {v.back.address}}
	if v.resource != "" {
		form.Set("resource", v.resource)
	}
	proved, err := v.proved(ctx, v.client, v.server.Issuer, form)
	if err != nil {
		return nil, err
	}
	token, err := v.ask(ctx, grant{client: proved, url: v.server.TokenEndpoint, form: form, key: v.key})
	if err != nil {
		return nil, fmt.Errorf("token of %w", err)
	}
	l := &Login{
		Server: v.o.URL, Issuer: v.server.Issuer, TokenURL: v.server.TokenEndpoint, Revoke: v.server.RevocationEndpoint,
		Client: v.client, Resource: v.resource, Since: time.Now().UTC().Truncate(time.Second),
	}
	l.take(token, v.scopes, v.key)
	return l, nil
}

// Logout forgets the login and says so to who gave it, where that can be told.
// It returns whether there was one, and what kept it from being taken back.
func (s *Source) Logout(ctx context.Context) (was bool, revoked error, err error) {
	if s.o.Store == nil {
		return false, nil, nil
	}
	l, err := s.Kept()
	if was = err != nil || l != nil; l != nil && (l.Access != "" || l.Refresh != "") {
		revoked = s.revoke(ctx, l)
	}
	return was, revoked, s.o.Store.Remove(ctx, s.o.Server)
}

// revoke takes tokens back (RFC 7009).
func (s *Source) revoke(ctx context.Context, l *Login) error {
	if l.Revoke == "" {
		return errors.New("its authorization server takes no tokens back; they hold until they run out")
	}
	form := url.Values{"token": {l.Refresh}, "token_type_hint": {"refresh_token"}}
	if l.Refresh == "" {
		form = url.Values{"token": {l.Access}, "token_type_hint": {"access_token"}}
	}
	client, err := s.proved(ctx, l.Client, l.Issuer, form)
	if err != nil {
		return err
	}
	if client.Style != oauth2.AuthStyleInHeader {
		form.Set("client_id", client.ID)
		if client.Secret != "" {
			form.Set("client_secret", client.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if client.Style == oauth2.AuthStyleInHeader {
		req.SetBasicAuth(url.QueryEscape(client.ID), url.QueryEscape(client.Secret))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return told(l.Revoke, err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: HTTP %s", l.Revoke, resp.Status)
	}
	return nil
}
