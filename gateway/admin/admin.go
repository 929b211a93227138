// Package admin is the API by which an administrator sees and changes a running
// gateway over HTTP: endpoints made at run time, what a scope lets through,
// servers, tools, searches with their reasons.
//
// A [Handler] answers the routes of one table, and its OpenAPI document is made
// of the same table, so that neither has what the other lacks.
// What an endpoint's definition means is not known here but asked of a
// [Definer]; where endpoints are kept is package stored's.
//
// Every error is a [Problem]: what is wrong with which thing, where, and what
// to do next. Changes name the version that they are of, in If-Match.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/admin/stored"
	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// A Definer knows what definitions of endpoints mean.
type Definer interface {
	// Configured are the endpoints of the configuration's file, the default one
	// first.
	Configured() []Endpoint
	// Define reads the definition of an endpoint that is kept elsewhere, an
	// object. Its error joins everything that is wrong with it, and what it
	// returns then is what could be read.
	Define(name string, definition []byte) (Endpoint, error)
	// Changed puts in force what is kept by now, before it returns.
	Changed(ctx context.Context)
}

// An Endpoint is one as its definition says.
type Endpoint struct {
	Written
	Rules    []view.Rule // all must let a tool through
	Warnings []string    // what of its scope is probably not meant
	File     string      // of the configuration

	WordsOnly string // why its searches do not go by meaning; "" when they do
}

// An Index is the catalog. [index.Index] is one.
type Index interface {
	List(l index.Listing) (hits []index.Hit, total int)
	Explain(ctx context.Context, q index.Query, id string) (index.Explanation, error)
}

// Upstreams are the servers that own tools.
type Upstreams interface {
	Status() []upstream.Status
	// Reindex lists the tools of a server again; ok is false when there is none
	// of that name.
	Reindex(ctx context.Context, server string) (result Reindexed, ok bool, err error)
}

// Options say what a Handler works on. All fields are needed that do not say
// what nil means.
type Options struct {
	Definer   Definer
	Stored    *stored.Folder
	Gateway   *gateway.Gateway
	Index     Index
	Upstreams Upstreams
	Status    func(context.Context) any // of the process, as StatusType has it

	StatusType any           // a zero value of what Status returns
	URL        func() string // at which clients reach the gateway, without a path

	// Audit is told of changes, and of requests that are refused; nil is none.
	Audit func(audit.Event)
	// Allow says that a request comes from an administrator, whose name is in
	// gateway.OriginOf of its context.
	Allow  func(*http.Request) bool
	Logger *slog.Logger // nil discards
}

// A Handler answers the API. It is safe for concurrent use.
type Handler struct {
	o        Options
	mux      *http.ServeMux
	document json.RawMessage
}

// New returns the handler of o. Its error is about the OpenAPI document.
func New(o Options) (*Handler, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Audit == nil {
		o.Audit = func(audit.Event) {}
	}
	text, err := document(o)
	if err != nil {
		return nil, err
	}
	h := &Handler{o: o, mux: http.NewServeMux(), document: text}
	for _, path := range Paths() {
		h.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, path) })
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.write(w, r, nil, h.guard(r, nil, func() (*reply, error) {
			return nil, problem(http.StatusNotFound, "GET /openapi.json lists what there is", "there is no %s", r.URL.Path)
		}))
	})
	return h, nil
}

// Paths are the patterns of [http.ServeMux] that a Handler answers.
func Paths() []string {
	paths := map[string]bool{}
	for _, x := range routes {
		paths[x.path] = true
	}
	return slices.Sorted(maps.Keys(paths))
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// A call is one request to a route.
type call struct {
	*Handler
	r    *http.Request
	name string // that the path names
}

// audit keeps what the administrator has done.
func (c *call) audit(reason string) {
	ok := true
	c.o.Audit(audit.Event{Kind: audit.Admin, Principal: gateway.OriginOf(c.r.Context()).Principal, Endpoint: c.name, OK: &ok, Reason: reason})
}

// A reply is what a route answers.
type reply struct {
	status   int // 0 means 200
	body     any // nil for none
	etag     string
	location string
}

// serve answers one request to a path that there is.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, path string) {
	var route *route
	var methods []string
	for i := range routes {
		if routes[i].path != path {
			continue
		}
		methods = append(methods, routes[i].method)
		if m := routes[i].method; m == r.Method || m == http.MethodGet && r.Method == http.MethodHead {
			route = &routes[i]
		}
	}
	var out *reply
	err := h.guard(r, route, func() (_ *reply, err error) {
		if route == nil {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			return nil, problem(http.StatusMethodNotAllowed, "use one of "+strings.Join(methods, ", "), "%s takes no %s", r.URL.Path, r.Method)
		}
		out, err = h.run(route, r)
		return out, err
	})
	h.write(w, r, out, err)
}

// guard runs answer for those who may ask.
func (h *Handler) guard(r *http.Request, to *route, answer func() (*reply, error)) error {
	if (to == nil || !to.open) && !h.o.Allow(r) {
		h.o.Audit(audit.Event{Kind: audit.AuthFailed, Reason: "the API: " + r.Method + " " + words.Excerpt(r.URL.Path)})
		return errUnauthorized
	}
	_, err := answer()
	return err
}

func (h *Handler) run(to *route, r *http.Request) (*reply, error) {
	if err := to.checkQuery(r); err != nil {
		return nil, err
	}
	return to.run(&call{h, r, r.PathValue("name")})
}

// write sends the reply, or the error.
func (h *Handler) write(w http.ResponseWriter, r *http.Request, out *reply, err error) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if err != nil {
		out = h.told(w, r, err)
	}
	if out.etag != "" {
		header.Set("ETag", `"`+out.etag+`"`)
	}
	if out.location != "" {
		header.Set("Location", out.location)
	}
	if out.status == 0 {
		out.status = http.StatusOK
	}
	if out.body == nil {
		w.WriteHeader(out.status)
		return
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	w.WriteHeader(out.status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(out.body); err != nil {
		h.o.Logger.Debug("answer of the API not delivered", "path", r.URL.Path, "error", err)
	}
}

// told is the reply that an error is.
func (h *Handler) told(w http.ResponseWriter, r *http.Request, err error) *reply {
	var p *Problem
	if !errors.As(err, &p) {
		h.o.Logger.Error("the API failed", "method", r.Method, "path", r.URL.Path, "error", err)
		p = problem(http.StatusInternalServerError, `this is a failure of the gateway: "tooldex doctor" looks for its cause`, "%v", err)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="tooldex"`)
	}
	return &reply{status: p.Status, body: p}
}
