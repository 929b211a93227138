// Package login lets tooldex in at servers that want OAuth tokens: MCP servers
// by the protocol's rules, and REST APIs whose issuer is known.
//
// A [Source] gives the requests to one server their tokens. Those of a person
// come of [Source.Login], are kept in a [Store] that other processes share, and
// are refreshed once for all of them. Those of a machine (client credentials,
// the JWT of a workload) are fetched when they are needed and kept in memory, as
// are those that callers' own tokens are exchanged for: a request is on behalf
// of whom its context says ([OnBehalf]).
//
// A token is given to no other address than the one that it was made for.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/rest/web"
	"github.com/tooldex/tooldex/gateway/upstream/secret"
)

// The ways to a token.
const (
	OAuth             = "oauth"              // a person logs in
	ClientCredentials = "client_credentials" // tooldex itself is who calls
	JWTBearer         = "jwt_bearer"         // a JWT that its platform gives to a workload
	TokenExchange     = "token_exchange"     // each caller's own token is exchanged for one
	None              = "none"               // no token, whatever the server asks for
)

// A Config says how tokens for one server are had. In the zero value a person
// may log in, with what the server's metadata say.
type Config struct {
	Type         string   // "" means OAuth
	Issuer       string   // authorization server; "" takes the one that the server names
	TokenURL     string   // of a machine's tokens; "" asks the issuer's metadata
	ClientID     string   // "" registers a client
	ClientSecret string   // maybe a reference to it
	PrivateKey   string   // in PEM, or a reference: proves the client in place of a secret
	MetadataURL  string   // the client id metadata document that describes tooldex
	Assertion    string   // the JWT of JWTBearer, or a reference
	IDPTokenURL  string   `json:",omitempty"` // where Assertion, an ID token then, is exchanged for the JWT of JWTBearer
	IDPClientID  string   `json:",omitempty"` // as who tooldex asks there
	IDPSecret    string   `json:",omitempty"` // maybe a reference to it
	Scopes       []string // to ask for, in place of those that the server names
	Resource     string   // that tokens are for; "" takes the server's word
	Audience     string   // for issuers that want one
	ListAs       string   `json:",omitempty"` // as whom the tools of TokenExchange are listed: ClientCredentials or None; "" means the first
	RedirectPort int      // where a browser comes back to; 0 takes any
	AllowPrivate bool     // issuers at addresses that are not public may be asked
}

// Check says everything that is wrong with a Config.
func (c Config) Check() error {
	var errs []error
	kinds := []string{"", OAuth, ClientCredentials, JWTBearer, TokenExchange, None}
	if !slices.Contains(kinds, c.Type) {
		errs = append(errs, fmt.Errorf("auth.type: %q is none of %s", c.Type, strings.Join(kinds[1:], ", ")))
	}
	for key, value := range map[string]string{"issuer": c.Issuer, "token_url": c.TokenURL, "client_metadata_url": c.MetadataURL, "idp_token_url": c.IDPTokenURL} {
		if u, err := url.Parse(value); value != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			errs = append(errs, fmt.Errorf("auth.%s: it is no http or https address", key))
		}
	}
	switch {
	case c.Type == ClientCredentials && (c.ClientID == "" || (c.ClientSecret == "") == (c.PrivateKey == "")):
		errs = append(errs, errors.New("auth: client_credentials need client_id, and one of client_secret and private_key"))
	case c.Type == TokenExchange:
		errs = append(errs, c.checkExchange()...)
	case c.ListAs != "":
		errs = append(errs, errors.New("auth.list_as belongs to type token_exchange"))
	case c.Type == JWTBearer && c.Assertion == "":
		errs = append(errs, errors.New("auth: jwt_bearer needs assertion, such as ${file:/run/secrets/token}"))
	case c.IDPTokenURL == "" && c.IDPClientID+c.IDPSecret != "":
		errs = append(errs, errors.New("auth: idp_client_id and idp_client_secret belong to idp_token_url, which is missing"))
	case c.IDPTokenURL != "" && (c.Type != JWTBearer || c.IDPClientID == "" || c.TokenURL != "" && c.Issuer == ""):
		errs = append(errs, errors.New("auth: idp_token_url belongs to type jwt_bearer, and needs idp_client_id, and beside token_url the issuer"))
	case c.ClientSecret != "" && c.ClientID == "":
		errs = append(errs, errors.New("auth: client_secret belongs to a client_id, which is missing"))
	case c.RedirectPort < 0 || c.RedirectPort > 65535:
		errs = append(errs, fmt.Errorf("auth.redirect_port: %d is no port; write 1 to 65535, or leave it out", c.RedirectPort))
	}
	return errors.Join(errs...)
}

// checkExchange says what is wrong with how callers' tokens are exchanged.
func (c Config) checkExchange() (errs []error) {
	if c.Issuer == "" && c.TokenURL == "" {
		errs = append(errs, errors.New("auth: token_exchange needs issuer or token_url: callers' tokens are given to no address that a server names"))
	}
	if c.ClientID == "" || (c.ClientSecret == "") == (c.PrivateKey == "") {
		errs = append(errs, errors.New("auth: token_exchange needs client_id, and one of client_secret and private_key"))
	}
	if !slices.Contains([]string{"", ClientCredentials, None}, c.ListAs) {
		errs = append(errs, fmt.Errorf("auth.list_as: %q is none of %s, %s", c.ListAs, ClientCredentials, None))
	}
	return errs
}

// A Client is how an authorization server knows tooldex.
type Client struct {
	ID       string           `json:"id"`
	Secret   string           `json:"secret,omitempty"`
	Style    oauth2.AuthStyle `json:"style"`
	Redirect string           `json:"redirect,omitempty"` // that it was registered with
	Ours     bool             `json:"ours,omitempty"`     // it registered itself, at the issuer
}

// A Login is what is kept of a login to one server.
type Login struct {
	Server   string    `json:"server"` // the address that it is for
	Issuer   string    `json:"issuer"`
	TokenURL string    `json:"token_url"`
	Revoke   string    `json:"revoke_url,omitempty"`
	Client   Client    `json:"client"`
	Resource string    `json:"resource,omitempty"`
	Scopes   []string  `json:"scopes,omitempty"` // that were granted
	Wanted   []string  `json:"wanted,omitempty"` // that the server has asked for since
	Access   string    `json:"access_token,omitempty"`
	Refresh  string    `json:"refresh_token,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Renew    time.Time `json:"renew,omitzero"`    // when another token is to be had
	Since    time.Time `json:"since"`             // when somebody logged in
	Refused  string    `json:"refused,omitempty"` // why it does not hold any more

	Key   *dpop.Key `json:"dpop_key,omitempty"` // that the tokens are bound to; nil for none
	Bound bool      `json:"bound,omitempty"`    // the server has asked since for one that is
}

// over reports a token that has run out.
func (l *Login) over() bool { return !l.Expires.IsZero() && time.Now().After(l.Expires) }

// due reports a token in whose place another one is to be had.
func (l *Login) due() bool {
	return l.over() || !l.Renew.IsZero() && time.Now().After(l.Renew)
}

// Holds reports a login that nothing is known to be wrong with.
func (l *Login) Holds() bool {
	return l.Access != "" && l.Refused == "" && len(l.Wanted) == 0
}

// A Store keeps texts by name for all processes of a user.
type Store interface {
	// Load is what is kept under a name, nil for nothing.
	Load(name string) ([]byte, error)
	// Change puts what f makes of it in its place while no other process
	// changes it; nil changes nothing.
	Change(ctx context.Context, name string, f func([]byte) ([]byte, error)) error
	// Remove forgets it.
	Remove(ctx context.Context, name string) error
}

// A Source gives requests to one server their tokens. It is safe for
// concurrent use.
type Source struct {
	o      Options
	client *http.Client
	once   singleflight.Group // one refresh at a time
	nonces dpop.Nonces        // of the server and of those that give tokens for it

	machine *machine // for tokens that nobody logs in for
}

// Options say what a Source is for.
type Options struct {
	Server  string // name, for advice and in the store
	URL     string // address of the server
	API     bool   // it is a REST API, to which no message of MCP is sent
	Config  Config
	Store   Store // nil keeps nothing, and nobody can log in
	Secrets *secret.Resolver
	Mask    mask.Masker // is told of tokens
}

// New returns the Source of a server.
func New(o Options) *Source {
	u, err := url.Parse(o.URL)
	private := o.Config.AllowPrivate || err == nil && web.NamesPrivate(u.Hostname())
	client := web.Client(private)
	client.Timeout = askTimeout
	s := &Source{o: o, client: client}
	s.machine = newMachine(s)
	return s
}

// askTimeout bounds one request to an authorization server.
const askTimeout = 30 * time.Second

// Kept is what is kept of a login to this address, nil for nothing.
func (s *Source) Kept() (*Login, error) {
	if s.o.Store == nil {
		return nil, nil
	}
	data, err := s.o.Store.Load(s.o.Server)
	if err != nil {
		return nil, err
	}
	return s.decode(data)
}

// decode reads a Login; one for another address is none of ours.
func (s *Source) decode(data []byte) (*Login, error) {
	if data == nil {
		return nil, nil
	}
	var l Login
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("login of %s: it cannot be read: \"tooldex auth logout %s\" forgets it", s.o.Server, s.o.Server)
	}
	if l.Server != s.o.URL || s.o.Config.ClientID != "" && l.Client.ID != s.o.Config.ClientID {
		return nil, nil
	}
	s.o.Mask.Add(l.Access, l.Refresh, l.Client.Secret)
	return &l, nil
}

// change changes what is kept while no other process does. f returns nil to
// leave it as it is.
func (s *Source) change(ctx context.Context, f func(*Login) (*Login, error)) error {
	if s.o.Store == nil {
		return errors.New("there is no state folder to keep logins in; set state in the configuration")
	}
	return s.o.Store.Change(ctx, s.o.Server, func(data []byte) ([]byte, error) {
		before, err := s.decode(data)
		if err != nil {
			return nil, err
		}
		after, err := f(before)
		if err != nil || after == nil {
			return nil, err
		}
		return json.Marshal(after)
	})
}

// union is a with what b has more.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
