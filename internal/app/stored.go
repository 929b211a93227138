package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/tooldex/tooldex/gateway/admin/stored"
	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/internal/config"
)

// made are the endpoints that the state folder keeps, made at run time.
type made struct {
	folder *stored.Folder
	first  stored.Look // before they were read for the first time

	mu sync.Mutex // guards that they are read and put in force at once, so that the last that is read stays
}

// openStored reads the endpoints that the state folder keeps.
func openStored(e *Engine) {
	if e.Config.State == "" {
		return
	}
	folder := stored.In(e.Config.State)
	e.made = &made{folder: folder, first: folder.Look()}
	Managed{e}.ReadStored()
}

// followStored keeps to what is stored until ctx ends.
func followStored(ctx context.Context, e *Engine) {
	if e.made != nil {
		e.made.folder.Watch(ctx, e.made.first, func() {
			Managed{e}.ReadStored()
			e.endpoints.warn()
		})
	}
}

// Managed is an engine as administrators work on it.
type Managed struct{ *Engine }

// ReadStored puts in force the endpoints that the state folder keeps by now.
// One that cannot be used is not served, and [Engine.Endpoints] says why. When
// the folder cannot be read, what is in force stays.
func (e Managed) ReadStored() {
	e.made.mu.Lock()
	defer e.made.mu.Unlock()
	entries, err := e.made.folder.All()
	if err == nil {
		err = e.SetStored(definitions(entries))
	}
	if err != nil {
		e.log.Error("the virtual servers of the state folder stay as they were", "error", err)
	}
}

func definitions(entries []stored.Entry) []config.Definition {
	var out []config.Definition
	for _, x := range entries {
		d := config.Definition{Name: x.Name, JSON: x.Definition}
		if x.Problem != nil {
			d.Problem = x.Problem.Error()
		}
		out = append(out, d)
	}
	return out
}

// InForce is the configuration in force.
func (e Managed) InForce() *config.Config { return e.live.config() }

// Define reads the definition of an endpoint as one that is stored is read; its
// error joins everything that is wrong with it.
func (e Managed) Define(name string, definition []byte) (config.Endpoint, error) {
	return e.InForce().ReadEndpoint(name, definition)
}

// Handle serves a handler beside the endpoints, to the same hosts and origins,
// on patterns of [http.ServeMux]. It is called before Serve.
func (e Managed) Handle(h http.Handler, patterns ...string) {
	for _, p := range patterns {
		e.endpoints.host.Handle(p, h)
	}
}

// Logger is where the engine logs.
func (e Managed) Logger() *slog.Logger { return e.log }

// Audited tells the audit, where one is kept.
func (e Managed) Audited(event audit.Event) {
	if e.audit != nil {
		e.audit.Add(event)
	}
}

// ListensAt is the address of the process that serves cfg over HTTP; "" when
// there is none.
func ListensAt(ctx context.Context, cfg *config.Config, version string) string {
	p, ok := Place(cfg, version)
	if !ok {
		return ""
	}
	about, err := p.About(ctx)
	if err != nil {
		return ""
	}
	return about.Listen
}
