package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/auth/oauth"
)

// Auth says who may call, and what they may do.
type Auth struct {
	Enabled  bool // without it whoever reaches the gateway is the operator
	Tokens   map[string]auth.Token
	OAuth    *OAuth // nil for none
	Grants   []auth.Grant
	Shared   bool     // scores are of the whole catalog, not of what a caller sees
	Warnings []string // what is probably not meant
}

// OAuth is the issuer of access tokens.
type OAuth struct {
	oauth.Config
	Scopes []string // that clients are told to ask for
}

// TLS are the files of a server's certificate.
type TLS struct {
	Cert     string `yaml:"cert"`
	Key      string `yaml:"key"`
	ClientCA string `yaml:"client_ca"` // that signs certificates of clients; "" takes none
}

// authFile is the section auth as it is written.
type authFile struct {
	given  bool                 // the section is there
	Tokens map[string]tokenFile `yaml:"tokens"`
	OAuth  *oauthFile           `yaml:"oauth"`
	Grants []grantFile          `yaml:"grants"`

	Isolation string `yaml:"isolation"`
}

type tokenFile struct {
	Hash  string   `yaml:"hash"`
	Teams []string `yaml:"teams"`
}

type oauthFile struct {
	Issuer        string            `yaml:"issuer"`
	Audience      string            `yaml:"audience"`
	Audiences     []string          `yaml:"audiences"`
	TeamsClaim    string            `yaml:"teams_claim"`
	JWKS          string            `yaml:"jwks_url"`
	Scopes        []string          `yaml:"scopes_supported"`
	Introspection introspectionFile `yaml:"introspection"`
}

type introspectionFile struct {
	URL        string `yaml:"url"`
	ClientID   string `yaml:"client_id"`
	SecretEnv  string `yaml:"client_secret_env"`
	SecretFile string `yaml:"client_secret_file"`
}

type grantFile struct {
	Principals []string  `yaml:"principals"`
	Teams      []string  `yaml:"teams"`
	Anyone     bool      `yaml:"anyone"`
	Endpoints  []string  `yaml:"endpoints"`
	Scope      scopeNode `yaml:"scope"`
	Role       string    `yaml:"role"`
}

// buildAuth reads the section auth into c, whose endpoints are known. A section
// that is there holds, even an empty one: then nobody may do anything.
func (f *file) buildAuth(c *Config) (errs []error) {
	c.Auth.Enabled = f.Auth.given
	for _, name := range slices.Sorted(maps.Keys(f.Auth.Tokens)) {
		in := f.Auth.Tokens[name]
		if err := auth.CheckTokenName(name); err != nil {
			errs = append(errs, fmt.Errorf("auth.tokens: %w", err))
		}
		if err := auth.CheckHash(in.Hash); err != nil {
			errs = append(errs, fmt.Errorf("auth.tokens.%s.hash: %w", name, err))
		}
		if c.Auth.Tokens == nil {
			c.Auth.Tokens = map[string]auth.Token{}
		}
		c.Auth.Tokens[name] = auth.Token{Hash: in.Hash, Teams: in.Teams}
	}
	if f.Auth.OAuth != nil {
		o, wrong := f.Auth.OAuth.build()
		c.Auth.OAuth, errs = o, append(errs, wrong...)
	}
	for i, in := range f.Auth.Grants {
		g, wrong := f.grant(fmt.Sprintf("auth.grants[%d]", i), in)
		c.Auth.Grants, errs = append(c.Auth.Grants, g), append(errs, wrong...)
		c.Auth.Warnings = append(c.Auth.Warnings, grantWarnings(g, c)...)
	}
	c.Auth.Shared = f.Auth.Isolation == "shared"
	if !slices.Contains([]string{"", "strict", "shared"}, f.Auth.Isolation) {
		errs = append(errs, fmt.Errorf("auth.isolation: %q is none of strict, shared", f.Auth.Isolation))
	}
	if c.Auth.Enabled && c.Phrases.Learn == "on" {
		errs = append(errs, errors.New("phrases.learn: on takes what one caller says for everybody's; with auth use shared, or off"))
	}
	return append(errs, c.checkReach()...)
}

func (f *file) grant(place string, in grantFile) (g auth.Grant, errs []error) {
	g = auth.Grant{Place: place, Principals: in.Principals, Anyone: in.Anyone, Endpoints: in.Endpoints}
	for _, team := range in.Teams {
		g.Teams = append(g.Teams, strings.TrimPrefix(team, "/"))
	}
	role, err := auth.ParseRole(in.Role)
	if g.Role = role; err != nil {
		errs = append(errs, fmt.Errorf("%s.role: %w", place, err))
	}
	if !g.Anyone && len(g.Principals)+len(g.Teams) == 0 {
		errs = append(errs, fmt.Errorf("%s: it is for nobody; give principals, teams, or anyone: true", place))
	}
	for _, p := range g.Principals {
		errs = append(errs, checkPrincipal(place+".principals", p))
	}
	if in.Scope.node != nil {
		rules, wrong := f.rules(place+".scope", in.Scope.node)
		g.Rules, errs = rules, append(errs, wrong...)
	}
	if role == auth.Admin && (len(g.Endpoints) > 0 || in.Scope.node != nil) {
		errs = append(errs, fmt.Errorf("%s: role admin takes neither endpoints nor scope, as it is for all of them; leave them out, or give use", place))
	}
	return g, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// checkPrincipal says what is wrong with the name of a principal.
func checkPrincipal(place, name string) error {
	kind, rest, _ := strings.Cut(name, ":")
	known := []string{"token", "oidc", "cert", "local"}
	switch {
	case !slices.Contains(known, kind):
		return fmt.Errorf("%s: %q says not where it comes from; principals are token:NAME, oidc:ISSUER#SUB, cert:NAME and local:USER", place, name)
	case rest == "", kind == "oidc" && !strings.Contains(rest, "#"):
		return fmt.Errorf("%s: %q is not whole; principals are token:NAME, oidc:ISSUER#SUB, cert:NAME and local:USER", place, name)
	}
	return nil
}

// grantWarnings are what of a grant is probably not meant.
func grantWarnings(g auth.Grant, c *Config) (out []string) {
	warn := func(format string, args ...any) { out = append(out, g.Place+fmt.Sprintf(format, args...)) }
	known := []string{"*", DefaultEndpoint}
	for _, e := range c.Endpoints {
		known = append(known, e.Name)
	}
	if g.Role < auth.Admin && len(g.Endpoints) == 0 {
		warn(" has no endpoints, so it gives nothing; name them, or \"*\" for all")
	}
	for _, e := range g.Endpoints {
		if !slices.Contains(known, e) {
			warn(".endpoints: the file has no virtual server %q%s", e, suggestion(e, known))
		}
	}
	for _, r := range g.Rules {
		_, warnings := r.Check()
		for _, w := range warnings {
			warn(".scope: %s", w)
		}
	}
	return out
}

func (in *oauthFile) build() (*OAuth, []error) {
	var errs []error
	o := &OAuth{Scopes: in.Scopes, Config: oauth.Config{
		Issuer: in.Issuer, Audiences: in.Audiences, TeamsClaim: in.TeamsClaim, JWKS: in.JWKS,
		ClientID: in.Introspection.ClientID, Introspection: in.Introspection.URL,
	}}
	if in.Audience != "" {
		o.Audiences = append([]string{in.Audience}, o.Audiences...)
	}
	if in.Issuer == "" {
		errs = append(errs, errors.New("auth.oauth.issuer is missing; it is the address that tokens name as iss"))
	}
	for key, address := range map[string]string{"issuer": in.Issuer, "jwks_url": in.JWKS, "introspection.url": in.Introspection.URL} {
		errs = append(errs, checkIssuer("auth.oauth."+key, address))
	}
	secret, err := in.Introspection.secret()
	if o.ClientSecret = secret; err != nil {
		errs = append(errs, fmt.Errorf("auth.oauth.introspection.%w", err))
	}
	return o, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// secret is the client's, from where it is kept.
func (in introspectionFile) secret() (string, error) {
	switch {
	case in.ClientID == "" && in != introspectionFile{}:
		return "", errors.New("client_id is missing; issuers answer only clients that they know")
	case in.SecretEnv != "" && in.SecretFile != "":
		return "", errors.New("client_secret_env and client_secret_file are both set; keep one of them")
	case in.SecretEnv != "":
		if secret := os.Getenv(in.SecretEnv); secret != "" {
			return secret, nil
		}
		return "", fmt.Errorf("client_secret_env: variable %s is not set", in.SecretEnv)
	case in.SecretFile != "":
		data, err := os.ReadFile(in.SecretFile)
		if err != nil {
			return "", fmt.Errorf("client_secret_file: %w", cause(err))
		}
		return strings.TrimSpace(string(data)), nil
	}
	return "", nil
}

// checkIssuer wants an address that nobody between can change what is said
// at.
func checkIssuer(key, address string) error {
	if address == "" {
		return nil
	}
	if err := checkURL(key, address); err != nil {
		return err
	}
	if u, err := url.Parse(address); err == nil && u.Scheme == "http" && !Loopback(u.Hostname()) {
		return fmt.Errorf("%s: %q is not https; keys that come over http are anybody's", key, address)
	}
	return nil
}

// Loopback says whether a host is this machine alone.
func Loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// checkReach says what is wrong with how clients reach the gateway: what others
// than this machine reach has to know who calls, over TLS.
func (c *Config) checkReach() (errs []error) {
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		switch {
		case checkURL("public_url", c.PublicURL) != nil:
			errs = append(errs, checkURL("public_url", c.PublicURL))
		case err == nil && (strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil):
			errs = append(errs, fmt.Errorf("public_url: %q has more than scheme and host; write it as https://tools.example.com", c.PublicURL))
		case err == nil && u.Scheme == "http" && !Loopback(u.Hostname()):
			errs = append(errs, fmt.Errorf("public_url: %q is not https; tokens would go over the net for all to read", c.PublicURL))
		}
		c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		errs = append(errs, errors.New("tls: cert and key go together; give both"))
	}
	if c.TLS.ClientCA != "" && c.TLS.Cert == "" {
		errs = append(errs, errors.New("tls.client_ca: clients show certificates only over TLS; give tls.cert and tls.key, too"))
	}
	return errs
}

// published says that others than this machine are to call.
func (c *Config) published() bool {
	u, err := url.Parse(c.PublicURL)
	return c.PublicURL != "" && (err != nil || !Loopback(u.Hostname()))
}

// CheckListen says what the configuration lacks to be served on an address that
// others than this machine reach, by themselves or through a proxy.
func (c *Config) CheckListen(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen: %q: want HOST:PORT, such as 127.0.0.1:7420", addr)
	}
	if c.published() && !c.Auth.Enabled {
		return errors.New("public_url: others than this machine are to call, and nobody asks who they are; add a section auth")
	}
	if Loopback(host) {
		return nil
	}
	var lacks []string
	if !c.Auth.Enabled {
		lacks = append(lacks, "auth, which says who may call")
	}
	if c.TLS.Cert == "" && !c.BehindProxy {
		lacks = append(lacks, "tls with cert and key, or behind_proxy: true where a proxy does TLS")
	}
	if c.PublicURL == "" {
		lacks = append(lacks, "public_url, the address that clients use")
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("listen: others than this machine reach %s, and %s lacks %s", addr, cmp.Or(c.Path, "the configuration"), strings.Join(lacks, "; "))
}
