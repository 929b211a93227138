package call

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tooldex/tooldex/gateway/upstream/secret"
)

// A Secret is where a secret is: read whenever it is needed, so that a new one
// needs no restart. The zero value is none.
type Secret struct {
	Env  string // variable
	File string // path
	Text string // itself, or text with references as package secret has them
}

// None reports the zero value.
func (s Secret) None() bool { return s == Secret{} }

// Read is the secret. Its error does not say what is in it.
func (s Secret) Read(ctx context.Context, from *secret.Resolver) (string, error) {
	if s.Text != "" {
		v, _, err := from.Resolve(ctx, s.Text)
		return v, err
	}
	if s.File == "" {
		v := os.Getenv(s.Env)
		if v == "" {
			return "", fmt.Errorf("the environment variable %s is not set", s.Env)
		}
		return v, nil
	}
	data, err := os.ReadFile(s.File)
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	v := strings.TrimSpace(string(data))
	if v == "" {
		return "", fmt.Errorf("the file %s of the secret is empty", s.File)
	}
	return v, nil
}

// Auth says how requests prove who makes them; the zero value not at all.
type Auth struct {
	Bearer      Secret
	User        string // of basic authentication
	Password    Secret // its
	Key         Secret
	KeyName     string // of the header, parameter or cookie that holds Key
	KeyIn       string // header, query or cookie
	Credentials Credentials
}

// Credentials are those of OAuth's client credentials grant.
type Credentials struct {
	TokenURL string // "" for none
	ID       string
	Secret   Secret
	Scopes   []string
	Audience string
}

// Given is the parameter that the key is, as openapi.Options has it.
func (a Auth) Given() string {
	if a.Key.None() {
		return ""
	}
	return a.KeyIn + ":" + a.KeyName
}

// An Authenticator adds what Auth says to requests. It is safe for concurrent
// use.
type Authenticator struct {
	Auth    Auth
	Client  *http.Client // asks for tokens
	Secrets *secret.Resolver

	mu    sync.Mutex // guards token, and is held while one is fetched
	token *oauth2.Token
}

// Apply adds credentials to a request and returns the secrets in it.
func (a *Authenticator) Apply(req *http.Request) (secrets []string, err error) {
	switch auth := a.Auth; {
	case !auth.Bearer.None():
		secrets, err = bearer(req, func() (string, error) { return auth.Bearer.Read(req.Context(), a.Secrets) })
	case !auth.Password.None():
		var password string
		if password, err = auth.Password.Read(req.Context(), a.Secrets); err == nil {
			req.SetBasicAuth(auth.User, password)
			secrets = []string{password, strings.TrimPrefix(req.Header.Get("Authorization"), "Basic ")}
		}
	case !auth.Key.None():
		secrets, err = a.key(req)
	case auth.Credentials.TokenURL != "":
		secrets, err = bearer(req, func() (string, error) { return a.fresh(req.Context()) })
	}
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return secrets, nil
}

var errUnwritable = errors.New("the secret has characters that no header may have")

func bearer(req *http.Request, read func() (string, error)) ([]string, error) {
	token, err := read()
	switch {
	case err != nil:
		return nil, err
	case !httpguts.ValidHeaderFieldValue(token):
		return nil, errUnwritable
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return []string{token}, nil
}

func (a *Authenticator) key(req *http.Request) ([]string, error) {
	auth := a.Auth
	key, err := auth.Key.Read(req.Context(), a.Secrets)
	if err != nil {
		return nil, err
	}
	switch auth.KeyIn {
	case "query":
		pair := escaped(auth.KeyName) + "=" + escaped(key)
		req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&"+pair, "&")
		return []string{key, escaped(key)}, nil
	case "cookie":
		pair := auth.KeyName + "=" + escaped(key)
		if other := req.Header.Get("Cookie"); other != "" {
			pair = other + "; " + pair
		}
		req.Header.Set("Cookie", pair)
		return []string{key, escaped(key)}, nil
	}
	if !httpguts.ValidHeaderFieldValue(key) {
		return nil, errUnwritable
	}
	req.Header.Set(auth.KeyName, key)
	return []string{key}, nil
}

// fresh is an access token that is not expired.
func (a *Authenticator) fresh(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token.Valid() {
		return a.token.AccessToken, nil
	}
	c := a.Auth.Credentials
	secret, err := c.Secret.Read(ctx, a.Secrets)
	if err != nil {
		return "", err
	}
	config := clientcredentials.Config{ClientID: c.ID, ClientSecret: secret, TokenURL: c.TokenURL, Scopes: c.Scopes}
	if c.Audience != "" {
		config.EndpointParams = map[string][]string{"audience": {c.Audience}}
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, a.Client))
	if err != nil {
		return "", fmt.Errorf("token of %s: %w", c.TokenURL, told(err))
	}
	a.token = token
	return token.AccessToken, nil
}

// told is the error of a token endpoint without what else it answered.
func told(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.ErrorCode != "" {
		return fmt.Errorf("%s: %s", refused.ErrorCode, cut(refused.ErrorDescription, 300))
	}
	return err
}

// Refused forgets a token that the API does not take, and reports whether
// another one may be had.
func (a *Authenticator) Refused(req *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	auth := a.Auth
	forgotten := a.Secrets.Forget(auth.Bearer.Text, auth.Password.Text, auth.Key.Text, auth.Credentials.Secret.Text)
	if auth.Credentials.TokenURL == "" {
		return forgotten
	}
	if a.token != nil && req.Header.Get("Authorization") == "Bearer "+a.token.AccessToken {
		a.token = nil
	}
	return true
}
