package login

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
	"github.com/tooldex/tooldex/gateway/upstream/rest/web"
)

// maxMetadata bounds a metadata document, in bytes.
const maxMetadata = 1 << 20

// A challenge is what an answer 401 or 403 says of the token that is wanted.
type challenge struct {
	metadata string   // address of the server's metadata
	scopes   []string // that are wanted
	code     string   // such as insufficient_scope
	tokens   bool     // it speaks of tokens at all
	bound    bool     // none is taken but what is bound to a key
}

func challengeOf(resp *http.Response) (c challenge) {
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	bearer := false
	for _, one := range all {
		if one.Scheme != "bearer" && one.Scheme != "dpop" {
			continue
		}
		c.tokens = true
		bearer = bearer || one.Scheme == "bearer"
		if v := one.Params["resource_metadata"]; v != "" {
			c.metadata = v
		}
		if v := one.Params["scope"]; v != "" {
			c.scopes = strings.Fields(v)
		}
		if v := one.Params["error"]; v != "" {
			c.code = v
		}
	}
	c.bound = c.tokens && !bearer
	return c
}

// A place is what is known of who gives tokens for a server.
type place struct {
	server *oauthex.AuthServerMeta

	resource string   // that tokens are for; "" names none
	scopes   []string // that the server names
	bound    bool     // tokens are to be bound to a key
}

// find finds out who gives tokens for the server, as it says itself in c or
// when it is asked.
func (s *Source) find(ctx context.Context, c *challenge) (place, error) {
	config := s.o.Config
	p := place{resource: config.Resource}
	issuer := config.Issuer
	switch {
	case c != nil:
	case s.o.API: // a request of ours might be one of its operations
		c = &challenge{}
	default:
		probed := s.probe(ctx)
		c = &probed
	}
	p.bound = c.bound
	meta, err := s.metadata(ctx, c.metadata)
	switch {
	case err != nil && issuer == "":
		return p, err
	case meta != nil:
		p.bound = p.bound || bound(meta)
		if p.scopes = meta.ScopesSupported; p.resource == "" {
			p.resource = meta.Resource
		}
		if issuer == "" && len(meta.AuthorizationServers) == 0 {
			return p, fmt.Errorf("the metadata of %s name no authorization server; set auth.issuer", s.o.URL)
		}
		if issuer == "" {
			issuer = meta.AuthorizationServers[0]
		}
	}
	if len(c.scopes) > 0 {
		p.scopes = c.scopes
	}
	guessed := issuer == ""
	if guessed { // as the protocol of 2025-03-26 had it
		if issuer, err = origin(s.o.URL); err != nil {
			return p, err
		}
	}
	if p.server, err = auth.GetAuthServerMetadata(ctx, issuer, s.client); err != nil {
		return p, fmt.Errorf("metadata of %s: %w", issuer, web.Cause(err))
	}
	if p.server == nil {
		if guessed {
			return p, fmt.Errorf("%s does not say who gives tokens for it; set auth.issuer if you know, or give its token under headers", s.o.URL)
		}
		return p, fmt.Errorf("%s has no metadata at its well-known addresses; ask whoever runs it", issuer)
	}
	return p, nil
}

// bound reports a server that wants, or at least takes, tokens that are bound to
// a key of the kind that we have.
func bound(m *oauthex.ProtectedResourceMetadata) bool {
	return m.DPOPBoundAccessTokensRequired || slices.Contains(m.DPOPSigningAlgValuesSupported, string(dpop.Algorithm))
}

// origin is an address without its path.
func origin(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", errors.New("the address of the server cannot be read")
	}
	return u.Scheme + "://" + u.Host, nil
}

// probe asks the server without a token, for what it answers then.
func (s *Source) probe(ctx context.Context) challenge {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tooldex","version":"1"}}}`,
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.URL, strings.NewReader(body))
		if err != nil {
			break
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := s.client.Do(req)
		if err != nil {
			break // it may still have metadata
		}
		resp.Body.Close()
		if c := challengeOf(resp); resp.StatusCode == http.StatusUnauthorized || c.tokens {
			return c
		}
	}
	return challenge{}
}

// metadata are those of the server (RFC 9728): at the address that it named, or
// where they belong. It is nil where there are none.
func (s *Source) metadata(ctx context.Context, named string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(s.o.URL)
	if err != nil {
		return nil, errors.New("the address of the server cannot be read")
	}
	root := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/.well-known/oauth-protected-resource"}
	at := root
	at.Path += "/" + strings.TrimPrefix(u.Path, "/")
	all := []string{at.String(), root.String()}
	if named != "" {
		all = []string{named}
	}
	for _, address := range slices.Compact(all) {
		meta, err := s.fetch(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("metadata of the server at %s: %w", address, err)
		}
		if meta == nil {
			continue
		}
		if !covers(meta.Resource, u) {
			return nil, fmt.Errorf("the metadata at %s are those of %s, not of %s: whoever answers there may be after your token", address, clip(meta.Resource, 200), s.o.URL)
		}
		return meta, nil
	}
	if named != "" {
		return nil, fmt.Errorf("there are no metadata at %s, which the server names", named)
	}
	return nil, nil
}

// covers reports a resource that is the server, or what it is part of.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, server.Scheme) || !strings.EqualFold(r.Host, server.Host) || r.RawQuery != "" && r.RawQuery != server.RawQuery {
		return false
	}
	part := strings.TrimSuffix(r.Path, "/") + "/"
	return strings.HasPrefix(strings.TrimSuffix(server.Path, "/")+"/", part)
}

// fetch reads metadata of a server, nil where there are none.
func (s *Source) fetch(ctx context.Context, address string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && !(u.Scheme == "http" && web.NamesPrivate(u.Hostname())) {
		return nil, errors.New("it is no https address")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, web.Cause(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	switch {
	case err != nil:
		return nil, web.Cause(err)
	case resp.StatusCode >= 500:
		return nil, fmt.Errorf("HTTP %s", resp.Status)
	case resp.StatusCode != http.StatusOK || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")):
		return nil, nil
	}
	var meta oauthex.ProtectedResourceMetadata
	if err := json.Unmarshal(data, &meta); err != nil || meta.Resource == "" {
		return nil, nil //nolint:nilerr // it is some other document
	}
	return &meta, nil
}
