package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/rest/call"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

// A Spec says what one REST API is and how it is reached. It has a document,
// single requests, or both.
type Spec struct {
	Name string // matches [A-Za-z0-9._-]{1,64}
	Origin
	Singles     []openapi.Single
	Auth        call.Auth
	Login       login.Config      // with a Type, in place of Auth
	Headers     map[string]string // sent with every request
	Timeout     time.Duration     // of one call; 0 means the gateway's default
	Refresh     time.Duration     // between two readings of the document; 0 means 1 h
	Concurrency int               // calls under way at once; 0 means 16
	Queue       int               // calls that may wait for a place; 0 means 64

	// Disabled says why the API is not called; "" calls it. The rest of the
	// Spec is not looked at then.
	Disabled string
}

// Source identifies what the tools are made of: others are others' tools.
func (sp Spec) Source() string {
	document := sp.Document
	if document != "" && !isAddress(document) {
		if abs, err := filepath.Abs(document); err == nil {
			document = abs
		}
	}
	data, err := json.Marshal([]any{"rest", document, sp.BaseURL, sp.Include, sp.Exclude, sp.Hosts, sp.RemoteRefs, sp.Singles})
	if err != nil { // texts and raw JSON that was checked
		return "rest " + document
	}
	return string(data)
}

// Check says everything that is wrong with a Spec.
func (sp Spec) Check() error {
	var errs []error
	if sp.Document == "" && len(sp.Singles) == 0 {
		errs = append(errs, errors.New("it has neither openapi, the path or address of a document, nor tools with a url"))
	}
	if sp.BaseURL != "" {
		if u, err := url.Parse(sp.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
			errs = append(errs, errors.New("base_url is no address such as https://api.example.com/v1; a user, a password or a query does not belong in it: see auth"))
		}
	}
	for _, s := range sp.Singles {
		if _, err := s.Operation(); err != nil {
			errs = append(errs, fmt.Errorf("tools.%s: %w", s.Name, err))
		}
	}
	for name, value := range sp.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			errs = append(errs, fmt.Errorf("headers.%s: it is no header: a name of letters, digits and dashes, a value without control characters", name))
		}
	}
	if sp.Login.Type != "" && sp.Login.Type != login.None {
		if !reflect.DeepEqual(sp.Auth, call.Auth{}) {
			errs = append(errs, errors.New("auth: type and another way to prove who calls; keep one"))
		}
		if sp.Where() == "" {
			errs = append(errs, errors.New("auth: its tokens are for base_url, which is missing"))
		}
		if sp.Login.ListAs != "" {
			errs = append(errs, errors.New("auth.list_as: the document of a REST API is read without a token; leave it out"))
		}
		errs = append(errs, sp.Login.Check())
	}
	return errors.Join(append(errs, checkAuth(sp.Auth)...)...)
}

// Where is the address that tokens are for, "" if it is not known.
func (sp Spec) Where() string {
	if sp.BaseURL == "" && isAddress(sp.Document) {
		return sp.Document
	}
	return sp.BaseURL
}

// checkAuth says what is wrong with how requests prove who makes them.
func checkAuth(a call.Auth) (errs []error) {
	ways := []bool{!a.Bearer.None(), a.User != "" || !a.Password.None(), !a.Key.None() || a.KeyName != "", a.Credentials.TokenURL != ""}
	if n := len(slices.DeleteFunc(ways, func(b bool) bool { return !b })); n > 1 {
		errs = append(errs, errors.New("auth: more than one of bearer, basic, key and client credentials; keep one"))
	}
	if (a.User != "") != !a.Password.None() {
		errs = append(errs, errors.New("auth: basic authentication needs user, and password, password_env or password_file"))
	}
	if (a.KeyName != "") != !a.Key.None() {
		errs = append(errs, errors.New("auth: a key needs key_name, and key, key_env or key_file"))
	}
	if a.KeyName != "" && !slices.Contains([]string{"header", "query", "cookie"}, a.KeyIn) {
		errs = append(errs, fmt.Errorf("auth.key_in: %q is none of header, query, cookie", a.KeyIn))
	}
	if a.KeyName != "" && a.KeyIn != "query" && !httpguts.ValidHeaderFieldName(a.KeyName) {
		errs = append(errs, fmt.Errorf("auth.key_name: %q is no name of a header or cookie", a.KeyName))
	}
	if c := a.Credentials; c.TokenURL != "" {
		if !isAddress(c.TokenURL) {
			errs = append(errs, errors.New("auth.token_url: it is no http or https address"))
		}
		if c.ID == "" || c.Secret.None() {
			errs = append(errs, errors.New("auth: client credentials need client_id, and client_secret, client_secret_env or client_secret_file"))
		}
	}
	return errs
}

func (sp Spec) refresh() time.Duration { return cmp.Or(sp.Refresh, time.Hour) }
