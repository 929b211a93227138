package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/enrich"
)

const (
	autoWindow    = time.Hour           // that the bounds are of
	autoPerMinute = 20                  // requests
	autoRetry     = time.Minute         // first wait when the model fails, doubled each time
	autoRetryMost = time.Hour           // the longest such wait
	autoTurn      = 30 * time.Second    // between two looks while another process asks
	autoAfresh    = 30 * 24 * time.Hour // after which a tool is asked for again that the model had nothing for
)

// An auto has a chat model write phrases for what servers list: in the
// background, at most so much an hour, and by one process at a time. What was
// asked stands in a file of the state folder, so that a process that starts
// goes on where the last one ended, and does not begin the hour anew.
type auto struct {
	engine *Engine
	model  enrich.Model
	limits config.Phrases
	look   chan struct{} // has a value when tools have changed

	perMinute int // requests; 0 is no bound
}

// Auto says how far phrases are that a model writes by itself.
type Auto struct {
	Model     string    `json:"model,omitempty"`
	Since     time.Time `json:"since,omitzero"` // when the hour began that the next two count in
	Tools     int       `json:"tools"`          // asked for
	Tokens    int       `json:"tokens"`
	MaxTools  int       `json:"max_tools"`
	MaxTokens int       `json:"max_tokens"`
	Left      int       `json:"left"`               // tools that lack phrases
	Barren    int       `json:"barren"`             // tools for which the model wrote nothing that passes
	Until     time.Time `json:"until,omitzero"`     // when it is asked again
	Failures  int       `json:"failures,omitempty"` // of the model, rounds in a row
	Error     string    `json:"error,omitempty"`
}

// An autoBook is the file.
type autoBook struct {
	Auto
	Refused map[string]time.Time `json:"refused,omitempty"` // tools as the model was told of them, for which it wrote nothing that passes
	Failed  map[string]int       `json:"failed,omitempty"`  // such tools for which it failed, and how often
}

func autoPath(state string) string { return filepath.Join(state, "auto.json") }

// readAuto reads the file; what cannot be read starts anew.
func readAuto(state string) autoBook {
	var b autoBook
	data, err := os.ReadFile(autoPath(state))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && json.Unmarshal(data, &b) != nil {
		b = autoBook{}
	}
	if b.Refused == nil {
		b.Refused = map[string]time.Time{}
	}
	if b.Failed == nil {
		b.Failed = map[string]int{}
	}
	return b
}

func (a *auto) write(b *autoBook) {
	b.Barren = len(b.Refused)
	err := atomicfile.Write(autoPath(a.engine.Config.State), func(w io.Writer) error { return json.NewEncoder(w).Encode(b) })
	if err != nil {
		a.engine.log.Warn("what a model was asked is not kept", "error", err)
	}
}

// openAuto makes the one that the configuration asks for, nil for none.
func openAuto(e *Engine) *auto {
	c := e.Config.Phrases
	if !c.Auto || e.Config.State == "" {
		return nil
	}
	m, err := ChatModel(c.Model)
	if err != nil {
		e.log.Error("no model writes phrases", "error", err)
		return nil
	}
	return &auto{engine: e, model: m, limits: c, look: make(chan struct{}, 1), perMinute: autoPerMinute}
}

// wake tells that tools have changed.
func (a *auto) wake() {
	select {
	case a.look <- struct{}{}:
	default: // it is about to look
	}
}

// run asks until ctx ends.
func (a *auto) run(ctx context.Context) {
	a.wake() // an earlier process may have left some
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.look:
		}
		for next := time.Now(); !next.IsZero() && ctx.Err() == nil; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(next)):
			}
			next = a.turn(ctx)
		}
	}
}

// turn asks for as many tools as the hour has room for. It returns when to go
// on, the zero time for when tools change again.
func (a *auto) turn(ctx context.Context) (next time.Time) {
	unlock, err := store.TryLock(a.engine.Config.State, "auto.lock")
	if unlock == nil || err != nil {
		return time.Now().Add(autoTurn) // another process asks
	}
	defer unlock()
	b := readAuto(a.engine.Config.State)
	tools, names, err := a.lacking(&b)
	if err != nil {
		a.engine.log.Warn("no model writes phrases", "error", err)
		return time.Now().Add(autoRetry)
	}
	room, wait := b.room(time.Now(), a.limits)
	b.Model, b.Left = a.model.Name(), len(tools)
	if len(tools) == 0 {
		b.Until = time.Time{}
		a.write(&b)
		return time.Time{}
	}
	if !wait.IsZero() {
		b.Until = wait
		a.write(&b)
		return wait
	}
	a.ask(ctx, &b, tools[:min(room, len(tools))], names)
	a.write(&b)
	if !b.Until.IsZero() {
		return b.Until
	}
	return time.Now().Add(time.Second)
}

// room is how many tools may be asked for now, or when some may be again.
func (b *autoBook) room(now time.Time, limits config.Phrases) (tools int, wait time.Time) {
	if now.Sub(b.Since) >= autoWindow || now.Before(b.Since) {
		b.Since, b.Tools, b.Tokens = now.UTC().Truncate(time.Second), 0, 0
	}
	b.MaxTools, b.MaxTokens = limits.AutoTools, limits.AutoTokens
	switch {
	case b.Failures > 0 && now.Before(b.Until):
		return 0, b.Until
	case b.Tools >= b.MaxTools || b.Tokens >= b.MaxTokens:
		return 0, b.Since.Add(autoWindow)
	case b.Failures > 0:
		return 1, time.Time{} // one says whether the model works again
	}
	return b.MaxTools - b.Tools, time.Time{}
}

// ask asks for tools, and takes note of each so that a process that is killed
// has counted what it asked.
func (a *auto) ask(ctx context.Context, b *autoBook, tools []enrich.Tool, names []string) {
	b.Until, b.Error = time.Time{}, ""
	var down error
	r, _ := Enrich(ctx, a.engine, a.model, tools, enrich.Options{
		Names: names, MaxTokens: b.MaxTokens - b.Tokens, PerMinute: a.perMinute,
		Asked: func(t enrich.Tool, tokens int, err error) {
			b.Tokens += tokens
			if errors.Is(err, enrich.ErrAnswer) {
				b.Refused[a.told(t)] = time.Now().UTC()
				err = nil
			}
			if down = err; err == nil {
				b.Tools, b.Left = b.Tools+1, b.Left-1
			} else {
				b.Failed[a.told(t)]++
			}
			a.write(b)
		},
	})
	switch {
	case ctx.Err() != nil:
	case down != nil:
		wait := min(autoRetry<<min(b.Failures, 10), autoRetryMost)
		b.Failures++
		b.Until, b.Error = time.Now().UTC().Add(wait).Truncate(time.Second), down.Error()
		a.engine.log.Warn("the model that writes phrases fails", "model", a.model.Name(), "again in", wait, "error", down)
	default:
		b.Failures = 0
		if r.Tools == 0 && r.Why != "" { // the first would go beyond the hour's tokens
			b.Until = b.Since.Add(autoWindow)
		}
		a.engine.log.Info("a model wrote phrases", "model", a.model.Name(), "tools", r.Written, "of", r.Tools, "tokens", r.Tokens)
	}
}

// lacking are the tools to ask for: those without phrases and those whose text
// has changed since, but for those that the model has no phrases for. Those for
// which it failed come last, so that what it cannot read hides no other.
func (a *auto) lacking(b *autoBook) (tools []enrich.Tool, names []string, err error) {
	tools, names, err = ToEnrich(a.engine, Either, nil)
	for key, at := range b.Refused {
		if time.Since(at) > autoAfresh {
			delete(b.Refused, key)
		}
	}
	failed := map[string]int{} // without tools that are gone or have phrases
	tools = slices.DeleteFunc(tools, func(t enrich.Tool) bool {
		key := a.told(t)
		if n := b.Failed[key]; n > 0 {
			failed[key] = n
		}
		_, barren := b.Refused[key]
		return barren
	})
	if b.Failed = failed; len(failed) > 0 {
		slices.SortStableFunc(tools, func(x, y enrich.Tool) int { return cmp.Compare(failed[a.told(x)], failed[a.told(y)]) })
	}
	return tools, names, err
}

// told identifies a tool as the model is told of it.
func (a *auto) told(t enrich.Tool) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %q", a.model.Name(), enrich.PromptVersion, t.ID, t))
	return hex.EncodeToString(sum[:8])
}

// autoStatus is how far it is, nil where it is off.
func autoStatus(cfg *config.Config) *Auto {
	if !cfg.Phrases.Auto || cfg.State == "" {
		return nil
	}
	b := readAuto(cfg.State)
	b.MaxTools, b.MaxTokens = cfg.Phrases.AutoTools, cfg.Phrases.AutoTokens
	return &b.Auto
}
