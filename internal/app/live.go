package app

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/filewatch"
)

// live is the configuration while it is in force.
type live struct {
	load func() (*config.Config, error) // nil: it never changes
	ask  chan struct{}                  // has a value when the file is to be read again

	mu    sync.Mutex // guards the fields below
	now   *config.Config
	state Live
}

// Live says how the configuration in force stands to its file.
type Live struct {
	Loaded  time.Time `json:"loaded"`            // when the one in force was read
	Problem string    `json:"problem,omitempty"` // why the file as it is now changes nothing
	Since   time.Time `json:"since,omitzero"`    // when the problem was seen
	Restart []string  `json:"restart,omitempty"` // settings that the file has otherwise, and that only a restart changes
}

func newLive(cfg *config.Config, load func() (*config.Config, error)) *live {
	return &live{load: load, ask: make(chan struct{}, 1), now: cfg, state: Live{Loaded: time.Now()}}
}

// config is the configuration in force.
func (l *live) config() *config.Config {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *live) status() Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Reload reads the configuration again, soon and in the background.
func (e *Engine) Reload() {
	select {
	case e.live.ask <- struct{}{}:
	default: // it is about to be
	}
}

// follow keeps to the configuration's file until ctx ends.
func (e *Engine) follow(ctx context.Context) {
	if e.live.load == nil {
		return
	}
	stop, err := filewatch.Watch(e.Config.Path, e.Reload)
	if err != nil {
		e.log.Warn("the configuration's file is not watched: SIGHUP has it read again", "file", e.Config.Path, "error", err)
	} else {
		defer stop()
	}
	if next, err := e.live.load(); err != nil || !reflect.DeepEqual(next, e.Config) {
		e.Reload() // it has changed since it was read
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.live.ask:
			e.reload(ctx)
		}
	}
}

// reload takes over what the file says by now. One that is wrong changes
// nothing, as does one that is empty: whoever writes a file empties it first.
func (e *Engine) reload(ctx context.Context) {
	before, _ := filewatch.Of(e.Config.Path)
	next, err := e.live.load()
	now, empty := filewatch.Of(e.Config.Path)
	if now != before { // it is being written
		time.AfterFunc(filewatch.Settle, e.Reload)
		return
	}
	if err == nil && empty && e.Config.Path != "" {
		err = fmt.Errorf("%s: the file is empty; write {} where nothing is to be configured", e.Config.Path)
	}
	if err == nil {
		err = e.adopt(ctx, next)
	}
	if err == nil {
		return
	}
	e.log.Error("the configuration in force stays: its file is wrong", "error", err)
	e.live.mu.Lock()
	defer e.live.mu.Unlock()
	e.live.state.Problem, e.live.state.Since = err.Error(), time.Now()
}

// adopt puts a configuration in force, as far as that goes without a restart.
func (e *Engine) adopt(ctx context.Context, file *config.Config) error {
	e.endpoints.mu.Lock()
	defer e.endpoints.mu.Unlock()
	before := e.live.config()
	next, restart := inForce(before, file)
	if next.Semantic() && !e.Config.Semantic() {
		restart = append(restart, "meta_config.enable_semantic_search")
	}
	if listen := e.sharing.listen; listen != "" {
		if err := next.CheckListen(listen); err != nil {
			return err // what is open to others stays guarded
		}
	}
	p, err := e.endpoints.plan(next)
	if err != nil {
		return err
	}
	operator := operators(next)
	e.Gateway.SetServers(operator)
	e.limits.Set(next.Limits)
	if err := e.Index.SetSources(ctx, sources(next)); err != nil {
		e.log.Warn("catalog of the new configuration not loaded", "error", err) // listings come anyway
	}
	changes, err := e.Servers.apply(next)
	if err != nil { // the file was checked: nothing is known that leads here
		return err
	}
	relabel(ctx, e, before, operator)
	e.Access.Adopt(next)
	e.endpoints.carryOut(p, !reflect.DeepEqual(operator, operators(before)))
	if !reflect.DeepEqual(next.Auth, before.Auth) {
		e.endpoints.regranted()
	}
	e.live.mu.Lock()
	e.live.now, e.live.state = next, Live{Loaded: time.Now(), Restart: restart}
	e.live.mu.Unlock()
	e.log.Info("configuration read again", "file", next.Path, "servers added", changes.Added, "changed", changes.Changed, "removed", changes.Removed)
	if len(restart) > 0 {
		e.log.Warn("these settings need a restart", "settings", restart)
	}
	for _, name := range next.Broken() {
		e.log.Warn("server disabled", "server", name, "reason", next.DisabledReason(name))
	}
	select {
	case e.sharing.moved <- struct{}{}:
	default:
	}
	return nil
}

// readLive are the fields of a configuration that a change of its file puts in
// force, or that mean nothing for it.
var readLive = []string{"Path", "Servers", "Toolboxes", "Disabled", "RESTNames", "Foreign", "Limits", "Meta", "Default", "Endpoints", "Templates", "Auth", "AllowCommands"}

// inForce is what of the file holds without a restart. The settings that it
// has otherwise than before, and that do not, are named.
func inForce(before, file *config.Config) (next *config.Config, restart []string) {
	c := *file
	now, was := reflect.ValueOf(&c).Elem(), reflect.ValueOf(before).Elem()
	for i := range now.NumField() { // all, so that no new setting is forgotten
		field := now.Type().Field(i)
		if !field.IsExported() || slices.Contains(readLive, field.Name) {
			continue
		}
		if !reflect.DeepEqual(now.Field(i).Interface(), was.Field(i).Interface()) {
			restart = append(restart, strings.ToLower(field.Name))
		}
		now.Field(i).Set(was.Field(i))
	}
	return &c, restart
}

// relabel puts what is said now of tools in place of what was said of them.
func relabel(ctx context.Context, e *Engine, before *config.Config, operator map[string]gateway.Server) {
	was := operators(before)
	for name, says := range operator {
		if reflect.DeepEqual(was[name], says) {
			continue
		}
		if err := relabelOne(ctx, e, name); err != nil {
			e.log.Warn("what is said of tools changes with their next listing", "server", name, "error", err)
		}
	}
}

func relabelOne(ctx context.Context, e *Engine, name string) error {
	objects, err := e.Index.Objects(ctx, name)
	if err != nil || len(objects) == 0 {
		return err
	}
	tools, warnings := e.Gateway.Tools(name, upstream.Listing{Tools: objects})
	diff, err := e.Index.Relabel(ctx, name, tools)
	if err != nil {
		return fmt.Errorf("label the tools of %s: %w", name, err)
	}
	e.log.Info("tools labelled anew", "server", name, "changed", len(diff.Changed), "warnings", warnings)
	return nil
}
