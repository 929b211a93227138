package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/remote"
	"github.com/tooldex/tooldex/gateway/upstream/secret"
)

// lookAgain is how often a call looks whether the secrets of a program have
// changed since it was started.
const lookAgain = time.Second

var errOtherSecret = errors.New("one of its secrets has changed")

// refers reports a Spec whose program or address has secrets in it.
func (sp Spec) refers() bool {
	return secret.In(sp.URL) || slices.ContainsFunc(sp.Args, secret.In) || slices.ContainsFunc(slices.Collect(maps.Values(sp.Env)), secret.In)
}

// reveal is the Spec with its secrets in place of the references to them, but
// for those of headers, which are read for each request.
func (s *server) reveal(ctx context.Context) (Spec, error) {
	sp := s.spec
	if !s.refers {
		return sp, nil
	}
	var errs []error
	read := func(text string) string {
		whole, values, err := s.o.secrets.Resolve(ctx, text)
		s.mask.Add(values...)
		errs = append(errs, err)
		return whole
	}
	sp.URL, sp.Args, sp.Env = read(sp.URL), slices.Clone(sp.Args), maps.Clone(sp.Env)
	for i, arg := range sp.Args {
		sp.Args[i] = read(arg)
	}
	for name, value := range sp.Env {
		sp.Env[name] = read(value)
	}
	return sp, errors.Join(errs...)
}

// A revealed is what a connection was made with.
type revealed struct {
	spec Spec

	mu     sync.Mutex // guards looked
	looked time.Time
}

// current reports whether a connection has the secrets of now. One that does
// not is made anew, for this call already.
func (s *server) current(ctx context.Context, c *conn) bool {
	if !s.refers {
		return true
	}
	c.made.mu.Lock()
	due := time.Since(c.made.looked) >= s.o.lookAgain
	if due {
		c.made.looked = time.Now()
	}
	c.made.mu.Unlock()
	if !due {
		return true
	}
	now, err := s.reveal(ctx)
	if err != nil || reflect.DeepEqual(now, c.made.spec) {
		return true // what it has may still do
	}
	c.doubt(errOtherSecret)
	return false
}

// A signer gives requests the headers of a Spec that have secrets in them, and
// the token of a login.
type signer struct {
	headers map[string]string
	secrets *secret.Resolver
	mask    mask.Masker
	login   *login.Source // nil for none
}

// newSigner is what signs requests to a server; nil for nothing.
func newSigner(sp Spec, o Options, m mask.Masker) remote.Signer {
	_, headers := sp.headers()
	g := &signer{headers: headers, secrets: o.secrets, mask: m}
	if sp.LogsIn() {
		g.login = login.New(login.Options{Server: sp.Name, URL: sp.URL, Config: sp.Auth, Store: o.Logins, Secrets: o.secrets, Mask: m})
	}
	if g.login == nil && len(headers) == 0 {
		return nil
	}
	return g
}

// LogsIn reports a server that may want a token that no header gives.
func (sp Spec) LogsIn() bool {
	for name := range sp.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return sp.URL != "" && !secret.In(sp.URL) && sp.Auth.Type != login.None
}

// Sign implements remote.Signer.
func (g *signer) Sign(req *http.Request) error {
	for name, text := range g.headers {
		value, values, err := g.secrets.Resolve(req.Context(), text)
		switch {
		case err != nil:
			return fmt.Errorf("header %s: %w", name, err)
		case !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("header %s: its secret has characters that no header may have", name)
		}
		g.mask.Add(values...)
		req.Header.Set(name, value)
	}
	if g.login != nil {
		return g.login.Sign(req)
	}
	return nil
}

// Refused implements remote.Signer.
func (g *signer) Refused(req *http.Request, resp *http.Response) (again bool, why error) {
	if g.secrets.Forget(slices.Collect(maps.Values(g.headers))...) {
		return true, nil
	}
	if g.login != nil {
		return g.login.Refused(req, resp)
	}
	return false, nil
}

// headers are those of a Spec without secrets, and those with.
func (sp Spec) headers() (plain, secrets map[string]string) {
	plain, secrets = map[string]string{}, map[string]string{}
	for name, value := range sp.Headers {
		if secret.In(value) {
			secrets[name] = value
		} else {
			plain[name] = value
		}
	}
	return plain, secrets
}
