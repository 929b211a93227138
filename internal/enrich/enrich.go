// Package enrich has a chat model write what people say when they need a tool.
//
// A tool's text is data of a stranger, and so is the reply: the prompt says
// so, and every phrase is checked before it is stored. A tool's phrases are
// stored at once and whole, so a run that ends early goes on with the rest.
package enrich

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tooldex/tooldex/index/phrase"
)

// A Tool is what the model is told of one.
type Tool struct {
	ID          string   `json:"-"`
	Server      string   `json:"server,omitempty"`
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Parameters  []string `json:"parameters,omitempty"` // names
}

// QualifiedName is the name with the server's.
func (t Tool) QualifiedName() string {
	if t.Server == "" {
		return t.Name
	}
	return t.Server + "/" + t.Name
}

// A Model answers a question, following a JSON schema if it can, and says how
// many tokens that took, 0 if it does not know.
type Model interface {
	Name() string
	Ask(ctx context.Context, system, question string, schema json.RawMessage) (text string, tokens int, err error)
}

// A Store keeps the phrases of tools, by id, in place of those that they have
// of a source: all or nothing.
type Store interface {
	Replace(ctx context.Context, source phrase.Source, more map[string][]phrase.Phrase) (added int, err error)
}

// Options bound a run. The zero value asks for every tool, one after another.
type Options struct {
	Names     []string              // of all tools of the catalog: no phrase may name another tool
	MaxTokens int                   // spent in all; 0 is no bound
	PerMinute int                   // requests; 0 is no bound
	Hopeless  func(err error) bool  // of errors that every tool would get; nil knows none
	Progress  func(done, total int) // may be nil

	// Asked is told of each tool that the model was asked for: what it took,
	// and why it got no phrases; nil tells nobody.
	Asked func(t Tool, tokens int, err error)
}

// ErrAnswer says that the model did answer, and not what can be stored.
var ErrAnswer = errors.New("no phrases")

// A Result is what a run did.
type Result struct {
	Model   string         `json:"model"`
	Prompt  string         `json:"prompt"`  // version of it
	Tools   int            `json:"tools"`   // asked for
	Written int            `json:"written"` // of them have phrases now
	Phrases int            `json:"phrases"`
	Refused map[string]int `json:"refused"` // phrases, by why
	Failed  []Failure      `json:"failed"`  // tools without phrases
	Left    int            `json:"left"`    // tools that were not asked for
	Why     string         `json:"why_left,omitempty"`
	Tokens  int            `json:"tokens"`
	Seconds float64        `json:"seconds"`
}

// A Failure is a tool that got no phrases, and why.
type Failure struct {
	Tool  string `json:"tool"`
	Error string `json:"error"`
}

// mostFailures in a row end a run: the model or its server does not work.
const mostFailures = 5

// Run asks for the phrases of tools in turn and stores those that pass.
func Run(ctx context.Context, m Model, s Store, tools []Tool, o Options) (*Result, error) {
	r := &Result{Model: m.Name(), Prompt: PromptVersion, Refused: map[string]int{}, Failed: []Failure{}}
	start := time.Now()
	names := namesOf(o.Names)
	inRow := 0
	for i, t := range tools {
		if r.Why = r.stop(ctx, t, o, inRow); r.Why != "" {
			r.Left = len(tools) - i
			break
		}
		if err := o.pause(ctx, i, start); err != nil {
			r.Left, r.Why = len(tools)-i, err.Error()
			break
		}
		r.Tools++
		before := r.Tokens
		err := r.one(ctx, m, s, t, names)
		if ctx.Err() != nil {
			r.Left, r.Why = len(tools)-i, "it was interrupted"
			r.Tools--
			break
		}
		if o.Asked != nil {
			o.Asked(t, r.Tokens-before, err)
		}
		inRow++
		if err == nil {
			inRow = 0
		} else {
			r.Failed = append(r.Failed, Failure{t.QualifiedName(), err.Error()})
		}
		if o.Progress != nil {
			o.Progress(i+1, len(tools))
		}
		if err != nil && o.Hopeless != nil && o.Hopeless(err) {
			r.Left, r.Why = len(tools)-i-1, err.Error()
			break
		}
	}
	r.Seconds = time.Since(start).Seconds()
	return r, ctx.Err()
}

// stop says why the tool is not asked for.
func (r *Result) stop(ctx context.Context, t Tool, o Options, inRow int) string {
	switch {
	case ctx.Err() != nil:
		return "it was interrupted"
	case inRow >= mostFailures:
		return fmt.Sprintf("%d tools in a row failed", inRow)
	case o.MaxTokens > 0 && r.Tokens+Estimate(t) > o.MaxTokens:
		return fmt.Sprintf("the next would go beyond %d tokens", o.MaxTokens)
	}
	return ""
}

// pause keeps the i-th request to the rate.
func (o Options) pause(ctx context.Context, i int, start time.Time) error {
	if o.PerMinute <= 0 {
		return nil
	}
	due := start.Add(time.Duration(i) * time.Minute / time.Duration(o.PerMinute))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// one asks for one tool's phrases and stores them.
func (r *Result) one(ctx context.Context, m Model, s Store, t Tool, names map[string]bool) error {
	text, tokens, err := m.Ask(ctx, system, question(t), schema)
	if err != nil {
		return err
	}
	if tokens == 0 {
		tokens = Estimate(t)
	}
	r.Tokens += tokens
	said, err := parse(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	good, refused := check(t, said, names)
	for _, why := range refused {
		r.Refused[why]++
	}
	if len(good) < fewest {
		return fmt.Errorf("%w: %d of %d passed the checks, fewer than %d", ErrAnswer, len(good), len(said), fewest)
	}
	for i := range good {
		good[i].Source, good[i].Model = phrase.Model, m.Name()+" (prompt "+PromptVersion+")"
	}
	if _, err := s.Replace(ctx, phrase.Model, map[string][]phrase.Phrase{t.ID: good}); err != nil {
		return err
	}
	r.Written++
	r.Phrases += len(good)
	return nil
}
