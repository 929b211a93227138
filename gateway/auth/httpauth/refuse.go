package httpauth

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/auth/oauth"
)

// certified is whom a client's certificate, which the TLS stack has checked,
// names first: an address of a thing, a host, or a mailbox.
func certified(cert *x509.Certificate) (*auth.Principal, time.Time, error) {
	name := ""
	switch {
	case len(cert.URIs) > 0:
		name = cert.URIs[0].String()
	case len(cert.DNSNames) > 0:
		name = cert.DNSNames[0]
	case len(cert.EmailAddresses) > 0:
		name = cert.EmailAddresses[0]
	default:
		return nil, time.Time{}, errors.New("the client's certificate has no subject alternative name")
	}
	return &auth.Principal{Name: "cert:" + name, Most: auth.Admin}, cert.NotAfter, nil
}

// refuse answers a request of nobody's.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, s *State, endpoint string, err error) {
	token, _ := bearer(r) // none has no prefix
	address, prefix := addressOf(r, s.BehindProxy), prefixOf(token)
	w.Header().Set("Cache-Control", "no-store")
	if errors.Is(err, oauth.ErrUnavailable) {
		w.Header().Set("Retry-After", "15")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	g.failed(nil, endpoint, plain(err))
	g.log.Info("request not authenticated", "endpoint", endpoint, "from", address, "reason", err)
	if g.failures.spent(address, prefix) || errors.Is(err, errTooMany) {
		w.Header().Set("Retry-After", fmt.Sprint(int(prefixEvery.Seconds())))
		http.Error(w, errTooMany.Error()+" from this address or with this token; try again later", http.StatusTooManyRequests)
		return
	}
	if errors.Is(err, errNoToken) { // is no guess: clients ask so where to log in
		g.challenge(w, s, endpoint)
		http.Error(w, "this needs a bearer token in the Authorization header", http.StatusUnauthorized)
		return
	}
	g.failures.add(address, prefix)
	g.challenge(w, s, endpoint, `error="invalid_token"`, fmt.Sprintf("error_description=%q", plain(err)))
	http.Error(w, "the token is not accepted: "+plain(err), http.StatusUnauthorized)
}

// plain is an error as a header may hold it.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), oauth.ErrInvalid.Error()+": ")
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return ' '
		}
		return c
	}, text)
}

// challenge says how to authenticate.
func (g *Guard) challenge(w http.ResponseWriter, s *State, endpoint string, params ...string) {
	if s.OAuth != nil {
		params = append(params, fmt.Sprintf("resource_metadata=%q", s.Base+MetadataPath+path(endpoint)))
		if len(s.Scopes) > 0 && !strings.Contains(strings.Join(params, " "), "scope=") {
			params = append(params, fmt.Sprintf("scope=%q", strings.Join(s.Scopes, " ")))
		}
	}
	w.Header().Set("WWW-Authenticate", strings.TrimSuffix("Bearer "+strings.Join(params, ", "), " "))
}

// StepUp answers a request to run a tool whose caller might do so with a token
// of more scopes, and says whether it has.
func (g *Guard) StepUp(w http.ResponseWriter, r *http.Request, endpoint string) bool {
	s := g.state.Load()
	if s == nil || !s.Policy.Wants(auth.Of(r.Context()), endpoint) {
		return false
	}
	needed := oauth.ScopePrefix + auth.Use.String()
	g.challenge(w, s, endpoint, `error="insufficient_scope"`, fmt.Sprintf("scope=%q", needed))
	http.Error(w, "running tools needs a token with scope "+needed, http.StatusForbidden)
	return true
}

// MetadataPath is where the metadata of resources is (RFC 9728); an endpoint's
// is below, at its own path.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Metadata serves what clients have to know of the endpoint to log in. It is
// public, and the same for an endpoint that is not there.
func (g *Guard) Metadata(w http.ResponseWriter, r *http.Request, endpoint string) {
	s := g.state.Load()
	if s == nil || s.OAuth == nil {
		http.NotFound(w, r)
		return
	}
	sdkauth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.Resource(endpoint), AuthorizationServers: []string{s.Issuer}, ScopesSupported: s.Scopes,
		BearerMethodsSupported: []string{"header"}, ResourceName: "tooldex",
	}).ServeHTTP(w, r)
}
