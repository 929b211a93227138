// Package chat asks a chat model one question: Ollama's /api/chat, or the
// /chat/completions of anything that speaks OpenAI's protocol.
//
// A reply is what a stranger's server says: it is bounded, redirects are not
// followed, and the key is in no error. What may pass (no answer, a full or
// broken server) is asked again, with growing pauses or when the server says;
// a refusal is not, and is an error that [Refused] recognises.
package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/tooldex/tooldex/embed/endpoint"
)

// The providers.
const (
	Ollama = "ollama"
	OpenAI = "openai"
)

const (
	maxReply     = 1 << 20
	maxAnswer    = 800  // tokens that a model may answer with
	maxReasoning = 4000 // of one that counts what it thinks among them
	tries        = 4
	maxPause     = 30 * time.Second
)

// completionBound is what models that reason call the bound of an answer; they
// refuse max_tokens.
const completionBound = "max_completion_tokens"

// Config says which model to ask.
type Config struct {
	Provider string // Ollama or OpenAI
	Model    string
	URL      string        // "" is the provider's own address
	Key      string        // sent as a bearer token; "" sends none
	Timeout  time.Duration // of one request; 0 means two minutes
}

// A Model answers questions; for concurrent use.
type Model struct {
	c      Config
	url    string
	client *http.Client
	// plain is set once the endpoint has refused to be given a schema.
	plain atomic.Bool
	// reasons is set once it has asked for the bound by the name completionBound.
	reasons atomic.Bool
	pause   func() backoff.BackOff
}

// New checks a configuration.
func New(c Config) (*Model, error) {
	base := map[string]string{Ollama: "http://127.0.0.1:11434", OpenAI: "https://api.openai.com/v1"}[c.Provider]
	if base == "" {
		return nil, fmt.Errorf("chat model: provider %q is unknown; use %s or %s", c.Provider, Ollama, OpenAI)
	}
	if c.Model == "" {
		return nil, errors.New("chat model: no model is named")
	}
	url := strings.TrimRight(cmp.Or(c.URL, base), "/")
	switch {
	case c.Provider == Ollama:
		url = strings.TrimSuffix(url, "/api") + "/api/chat"
	case !strings.HasSuffix(url, "/chat/completions"):
		if strings.Count(url, "/") == 2 { // an address alone
			url += "/v1"
		}
		url += "/chat/completions"
	}
	return &Model{c: c, url: url, pause: pauses, client: &http.Client{
		Timeout:       cmp.Or(c.Timeout, 2*time.Minute),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func pauses() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.MaxInterval = maxPause
	return b
}

// Name is the model's name.
func (m *Model) Name() string { return m.c.Model }

// A refusal is an answer that would be the same a second time.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// Refused says whether asking the same again is of no use.
func Refused(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// Hopeless says whether every question would be refused as this one was: the
// key, the address or the model's name is wrong. What is refused with 400, 413
// or 422 may be this question alone, for its length or what it speaks of.
func Hopeless(err error) bool {
	var s *endpoint.StatusError
	return Refused(err) && errors.As(err, &s) &&
		s.Code != http.StatusBadRequest && s.Code != http.StatusRequestEntityTooLarge && s.Code != http.StatusUnprocessableEntity
}

// Ask returns what the model says, and how many tokens question and answer
// came to (0 where the endpoint does not say). An endpoint that can makes the
// answer follow the JSON schema.
func (m *Model) Ask(ctx context.Context, system, question string, schema json.RawMessage) (text string, tokens int, err error) {
	type answer struct {
		text   string
		tokens int
	}
	a, err := backoff.Retry(ctx, func() (answer, error) {
		text, tokens, err := m.once(ctx, system, question, schema)
		if Refused(err) || ctx.Err() != nil {
			err = backoff.Permanent(err)
		}
		return answer{text, tokens}, err
	}, backoff.WithBackOff(m.pause()), backoff.WithMaxTries(tries))
	if err != nil {
		return "", 0, fmt.Errorf("chat model %s at %s: %w", m.c.Model, m.url, err)
	}
	return a.text, a.tokens, nil
}

// once asks, and asks again in the form that the endpoint knows if it does not
// know the newest: without a schema, or with the other name of the bound.
func (m *Model) once(ctx context.Context, system, question string, schema json.RawMessage) (string, int, error) {
	if m.plain.Load() {
		schema = nil
	}
	text, tokens, err := m.send(ctx, system, question, schema)
	var s *endpoint.StatusError
	if !errors.As(err, &s) || s.Code != http.StatusBadRequest && s.Code != http.StatusUnprocessableEntity {
		return text, tokens, err
	}
	if strings.Contains(s.Message, completionBound) && !m.reasons.Swap(true) {
		return m.once(ctx, system, question, schema)
	}
	if schema != nil {
		again, n, plain := m.send(ctx, system, question, nil)
		if plain == nil {
			m.plain.Store(true)
			return again, n, nil
		}
	}
	return text, tokens, err
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// body is the request in the provider's form.
func (m *Model) body(system, question string, schema json.RawMessage) ([]byte, error) {
	b := map[string]any{"model": m.c.Model, "stream": false,
		"messages": []message{{"system", system}, {"user", question}}}
	if m.c.Provider == Ollama {
		b["options"] = map[string]any{"num_predict": maxAnswer, "temperature": .4}
		if schema != nil {
			b["format"] = schema
		}
		return json.Marshal(b)
	}
	if m.reasons.Load() {
		b[completionBound] = maxReasoning
	} else {
		b["max_tokens"] = maxAnswer
	}
	if schema != nil {
		b["response_format"] = map[string]any{"type": "json_schema",
			"json_schema": map[string]any{"name": "answer", "schema": schema, "strict": true}}
	}
	return json.Marshal(b)
}

func (m *Model) send(ctx context.Context, system, question string, schema json.RawMessage) (string, int, error) {
	body, err := m.body(system, question, schema)
	if err != nil {
		return "", 0, refusal{err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return "", 0, refusal{err}
	}
	req.Header.Set("Content-Type", "application/json")
	if m.c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+m.c.Key)
	}
	res, err := m.client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case res.StatusCode != http.StatusOK:
		return "", 0, m.status(res, reply)
	case err != nil:
		return "", 0, err
	case len(reply) > maxReply:
		return "", 0, refusal{fmt.Errorf("the reply is longer than %d bytes", maxReply)}
	}
	return read(reply)
}

// read takes the text and the tokens out of either provider's reply.
func read(reply []byte) (string, int, error) {
	var r struct {
		Message message `json:"message"`
		Prompt  int     `json:"prompt_eval_count"`
		Eval    int     `json:"eval_count"`
		Choices []struct {
			Message message `json:"message"`
		} `json:"choices"`
		Usage struct {
			Total int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return "", 0, fmt.Errorf("the reply is no chat completion: %w", err)
	}
	text := r.Message.Content
	if len(r.Choices) > 0 {
		text = r.Choices[0].Message.Content
	}
	if strings.TrimSpace(text) == "" {
		return "", 0, errors.New("the reply has no text")
	}
	return text, max(0, r.Usage.Total, r.Prompt+r.Eval), nil
}

// status is the error of a reply that is no answer: one to be asked again,
// when the server says, or a refusal. The key is in neither.
func (m *Model) status(res *http.Response, reply []byte) error {
	if m.c.Key != "" {
		reply = bytes.ReplaceAll(reply, []byte(m.c.Key), []byte("[key]"))
	}
	s := &endpoint.StatusError{Code: res.StatusCode, Message: endpoint.Message(reply), RetryAfter: endpoint.RetryAfter(res.Header, time.Now())}
	switch {
	case s.Code != http.StatusTooManyRequests && s.Code != http.StatusRequestTimeout && s.Code < 500:
		return refusal{s}
	case s.RetryAfter > 0:
		return errors.Join(s, &backoff.RetryAfterError{Duration: min(s.RetryAfter, maxPause)})
	}
	return s
}
