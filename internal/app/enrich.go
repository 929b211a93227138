package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/internal/chat"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/enrich"
)

// Lacking says which tools need phrases of a model.
type Lacking int

const (
	Missing  Lacking = iota // those that have none but the operator's and of use
	Stale                   // those whose text has changed since a model wrote them
	Either                  // one or the other
	AnyTools                // all
)

// ErrNoChat is the error of a configuration without a chat model.
var ErrNoChat = errors.New("no chat model is configured")

// ChatModel is the model that the configuration names.
func ChatModel(c config.Chat) (*chat.Model, error) {
	if c.Provider == "" {
		return nil, ErrNoChat
	}
	key := ""
	if c.KeyEnv != "" {
		if key = os.Getenv(c.KeyEnv); key == "" {
			return nil, fmt.Errorf("phrases.model.key_env: the environment has no %s", c.KeyEnv)
		}
	}
	return chat.New(chat.Config{Provider: c.Provider, Model: c.Model, URL: c.URL, Key: key})
}

// ToEnrich are the tools of the catalog that lack phrases: of the given servers
// (SERVER) and tools (SERVER/TOOL), or of all. Those that no model has written
// for come first, then those whose phrases are oldest, so that a run that ended
// early goes on; else they are in order of their names. It also returns the
// names of all tools.
func ToEnrich(e *Engine, which Lacking, wanted []string) (tools []enrich.Tool, names []string, err error) {
	lacking := map[string]bool{}
	written := map[string]time.Time{} // by a model
	for _, t := range e.Index.Phrases().List() {
		lacking[t.ID] = which.wants(t.Phrases)
		for _, p := range t.Phrases {
			if p.Source == phrase.Model && p.Time.After(written[t.ID]) {
				written[t.ID] = p.Time
			}
		}
	}
	all, _ := e.Index.List(index.Listing{})
	matched := map[string]bool{}
	for _, h := range all {
		t := h.Tool
		names = append(names, t.Name, t.QualifiedName())
		if !wants(t, wanted, matched) || !lacking[h.ID] {
			continue
		}
		raw, err := e.Index.Raw(h.ID)
		if err != nil {
			return nil, nil, fmt.Errorf("read catalog %s: tool %s: %w", e.Config.State, t.QualifiedName(), err)
		}
		tools = append(tools, enrich.Tool{ID: h.ID, Server: t.Server, Name: t.Name, Title: t.Title,
			Description: t.Description, Parameters: parameters(raw)})
	}
	for _, w := range wanted {
		if !matched[w] {
			return nil, nil, fmt.Errorf("%q is neither a server nor a tool of the catalog", w)
		}
	}
	slices.SortFunc(tools, func(a, b enrich.Tool) int {
		return cmp.Or(written[a.ID].Compare(written[b.ID]), strings.Compare(a.QualifiedName(), b.QualifiedName()))
	})
	return tools, names, nil
}

func wants(t index.Tool, wanted []string, matched map[string]bool) bool {
	is := len(wanted) == 0
	for _, w := range wanted {
		if w == t.Server || w == t.QualifiedName() {
			matched[w], is = true, true
		}
	}
	return is
}

func (l Lacking) wants(phrases []phrase.Phrase) bool {
	of := func(match func(phrase.Phrase) bool) bool { return slices.ContainsFunc(phrases, match) }
	switch l {
	case AnyTools:
		return true
	case Either:
		return Missing.wants(phrases) || Stale.wants(phrases)
	case Stale:
		return of(func(p phrase.Phrase) bool { return p.Source == phrase.Model && p.Stale })
	default:
		return !of(func(p phrase.Phrase) bool {
			return p.Source == phrase.Pack || p.Source == phrase.Model || p.Source == phrase.Import
		})
	}
}

// parameters are the names of a tool's top-level parameters.
func parameters(raw json.RawMessage) []string {
	var t struct {
		InputSchema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"inputSchema"`
	}
	if json.Unmarshal(raw, &t) != nil {
		return nil // a schema that is no object has none
	}
	return slices.Sorted(maps.Keys(t.InputSchema.Properties))
}

// Enrich asks m for the phrases of tools and stores them.
func Enrich(ctx context.Context, e *Engine, m enrich.Model, tools []enrich.Tool, o enrich.Options) (*enrich.Result, error) {
	o.Hopeless = chat.Hopeless
	return enrich.Run(ctx, m, e.Index.Phrases(), tools, o)
}
