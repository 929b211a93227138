package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
)

// early is how long before it runs out a token is refreshed, at most: one that
// lives less than twice as long is, in the middle of its life.
const early = 30 * time.Second

// renewal is when another token than one that was given now is to be had; zero
// for never.
func renewal(t *oauth2.Token) time.Time {
	if t.Expiry.IsZero() {
		return time.Time{}
	}
	return t.Expiry.Add(-min(early, time.Until(t.Expiry)/2))
}

// Sign gives a request its token, if there is one. A request without one goes
// out too: the server may not want any.
func (s *Source) Sign(req *http.Request) error {
	var token string
	var key *dpop.Key
	var err error
	switch s.o.Config.Type {
	case None:
		return nil
	case "", OAuth:
		token, key, err = s.personal(req.Context())
	default:
		token, key, err = s.machine.token(req.Context())
	}
	if err == nil && token != "" {
		err = s.present(req, token, key)
	}
	if err != nil {
		return fmt.Errorf("its token: %w", s.o.Mask.Error(err))
	}
	return nil
}

// present gives a request a token, with a proof where it is bound to a key.
func (s *Source) present(req *http.Request, token string, key *dpop.Key) error {
	req.Header.Del(dpop.Header)
	if key == nil {
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	proof, err := key.Proof(req.Method, req.URL, token, s.nonces.Of(req.URL.Host))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "DPoP "+token)
	req.Header.Set(dpop.Header, proof)
	return nil
}

// Check has a token ready for who ctx is on behalf of, and says why there is
// none; of logins it knows nothing.
func (s *Source) Check(ctx context.Context) error {
	if _, _, err := s.machine.token(ctx); err != nil {
		return fmt.Errorf("its token: %w", s.o.Mask.Error(err))
	}
	return nil
}

// personal is the token of whoever logged in, "" when nobody is, and the key
// that it is bound to.
func (s *Source) personal(ctx context.Context) (string, *dpop.Key, error) {
	l, err := s.Kept()
	if err != nil || l == nil {
		return "", nil, err
	}
	if l.Access != "" && !l.due() || l.Refresh == "" {
		return l.Access, l.Key, nil
	}
	renewed, err := s.renew(ctx, l.Access, false)
	switch {
	case err == nil && renewed != nil:
		return renewed.Access, renewed.Key, nil
	case err == nil || !l.over():
		return l.Access, l.Key, nil // it holds for some seconds
	}
	return "", nil, err
}

// Refused is told of an answer 401 or 403 to a request. It reports whether the
// request may succeed when it is signed again, and else what to do.
func (s *Source) Refused(req *http.Request, resp *http.Response) (again bool, why error) {
	c := challengeOf(resp)
	_, used, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	s.nonces.Learn(req.URL.Host, resp)
	if dpop.WantsNonce(resp) {
		if proof := req.Header.Get(dpop.Header); proof != "" {
			return dpop.NonceOf(proof) != s.nonces.Of(req.URL.Host), nil
		}
	}
	if resp.StatusCode == http.StatusForbidden && c.code != "insufficient_scope" || s.o.Config.Type == None {
		return false, nil
	}
	switch s.o.Config.Type {
	case "", OAuth:
		return s.personalRefused(req.Context(), resp.StatusCode, c, used)
	}
	if s.nobody(req.Context()) {
		return false, fmt.Errorf("%w: server %s lists its tools to nobody without a token; set auth.list_as to %s", upstream.ErrUnauthorized, s.o.Server, ClientCredentials)
	}
	now, _, err := s.machine.fetched(req.Context(), used, &c)
	switch {
	case err != nil:
		return false, fmt.Errorf("%w: server %s gets no token: %w", upstream.ErrUnauthorized, s.o.Server, s.o.Mask.Error(err))
	case now != used:
		return true, nil
	case s.subjectOf(req.Context()) != "":
		return false, fmt.Errorf("%w: server %s takes no token that client %q gets for this caller; check the caller's rights there", upstream.ErrUnauthorized, s.o.Server, s.o.Config.ClientID)
	}
	return false, fmt.Errorf("%w: server %s takes no token that client %q gets; check its rights there", upstream.ErrUnauthorized, s.o.Server, s.o.Config.ClientID)
}

func (s *Source) personalRefused(ctx context.Context, status int, c challenge, used string) (again bool, why error) {
	command := "tooldex auth login " + s.o.Server
	l, err := s.Kept()
	switch {
	case err != nil:
		return false, fmt.Errorf("server %s %w: %w", s.o.Server, upstream.ErrNeedsLogin, err)
	case l == nil && !c.tokens && s.o.Config.Type == "":
		return false, nil // it may want something else
	case l == nil:
		return false, fmt.Errorf("server %s %w: %s", s.o.Server, upstream.ErrNeedsLogin, command)
	case status == http.StatusForbidden:
		return false, s.wants(ctx, c.scopes, command)
	case l.Access != "" && l.Access != used:
		return true, nil
	case l.Refresh != "":
		renewed, err := s.renew(ctx, used, c.bound)
		switch {
		case err == nil && renewed != nil && renewed.Access != used && renewed.Access != "" && (renewed.Key != nil || !c.bound):
			return true, nil
		case err != nil && !errors.Is(err, errInvalidGrant):
			return false, fmt.Errorf("%w: server %s wants another token, which could not be had: %w", upstream.ErrUnauthorized, s.o.Server, err)
		}
	}
	if c.bound && l.Key == nil { // an API says so nowhere else
		err = s.change(ctx, func(l *Login) (*Login, error) {
			if l != nil {
				l.Bound = true
			}
			return l, nil
		})
	}
	return false, errors.Join(fmt.Errorf("server %s %w again: %s", s.o.Server, upstream.ErrNeedsLogin, command), err)
}

// wants keeps which scopes the server misses, for the next login.
func (s *Source) wants(ctx context.Context, scopes []string, command string) error {
	err := s.change(ctx, func(l *Login) (*Login, error) {
		if l != nil {
			l.Wanted = union(l.Wanted, scopes)
		}
		return l, nil
	})
	if err != nil {
		command += " --scope " + strings.Join(scopes, ",")
	}
	what := "more rights"
	if len(scopes) > 0 {
		what += " (" + clip(strings.Join(scopes, " "), 200) + ")"
	}
	return fmt.Errorf("server %s %w with %s: %s", s.o.Server, upstream.ErrNeedsLogin, what, command)
}

// renew has the login refreshed whose token was used, unless some process has
// done so already; bound asks for a token that is bound to a key. It returns nil
// when nobody is logged in. Callers that go away do not stop it: the answer is
// the only one that there is.
func (s *Source) renew(ctx context.Context, used string, bound bool) (*Login, error) {
	done := s.once.DoChan("renew "+used, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*askTimeout)
		defer cancel()
		var now *Login
		var failed error
		err := s.change(ctx, func(l *Login) (*Login, error) {
			now, failed = s.refreshed(ctx, l, used, bound)
			return now, nil
		})
		return now, errors.Join(err, failed)
	})
	select {
	case r := <-done:
		l, _ := r.Val.(*Login)
		return l, r.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// refreshed is l with new tokens, bound to a key where they were or are to be. One that cannot be refreshed any more says
// so; after any other failure it is as it was.
func (s *Source) refreshed(ctx context.Context, l *Login, used string, bound bool) (*Login, error) {
	if l == nil || l.Refresh == "" || l.Access != used && !l.due() {
		return l, nil
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}}
	if l.Resource != "" {
		form.Set("resource", l.Resource)
	}
	client, err := s.proved(ctx, l.Client, l.Issuer, form)
	if err != nil {
		return l, err
	}
	key := l.Key
	if key == nil && bound {
		if key, err = dpop.NewKey(); err != nil {
			return l, err
		}
	}
	token, err := s.ask(ctx, grant{client: client, url: l.TokenURL, form: form, key: key})
	if errors.Is(err, errInvalidGrant) {
		l.Access, l.Refresh, l.Expires, l.Refused = "", "", time.Time{}, err.Error()
		return l, err
	}
	if err != nil {
		return l, err
	}
	l.take(token, l.Scopes, key)
	return l, nil
}

// take takes a token over that was to be bound to a key.
func (l *Login) take(t *oauth2.Token, asked []string, key *dpop.Key) {
	l.Access, l.Expires, l.Renew, l.Refused = t.AccessToken, t.Expiry, renewal(t), ""
	l.Key = boundTo(t, key)
	l.Scopes = scopesOf(t, asked)
	if t.RefreshToken != "" {
		l.Refresh = t.RefreshToken
	}
}

// proved is a client with what proves it: its secret, or in form a signed
// assertion.
func (s *Source) proved(ctx context.Context, c Client, audience string, form url.Values) (Client, error) {
	config := s.o.Config
	switch {
	case c.ID != config.ClientID || c.ID == "": // it registered itself
	case config.PrivateKey != "":
		key, _, err := s.o.Secrets.Resolve(ctx, config.PrivateKey)
		if err != nil {
			return c, err
		}
		signed, err := assertion(c.ID, audience, key)
		if err != nil {
			return c, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", signed)
		c.Style = oauth2.AuthStyleInParams
	default:
		value, values, err := s.o.Secrets.Resolve(ctx, config.ClientSecret)
		if err != nil {
			return c, err
		}
		s.o.Mask.Add(values...)
		c.Secret = value
	}
	return c, nil
}
