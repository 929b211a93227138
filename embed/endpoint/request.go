package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// A StatusError is a reply other than success.
type StatusError struct {
	Code       int
	Message    string        // the server's, shortened
	RetryAfter time.Duration // 0 if the server does not say
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("server answered %d %s", e.Code, http.StatusText(e.Code))
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// A ReplyError is a success whose content cannot be read or does not answer
// the request.
type ReplyError struct{ Err error }

func (e *ReplyError) Error() string { return "server's reply: " + e.Err.Error() }
func (e *ReplyError) Unwrap() error { return e.Err }

// A fault says what an error means for the texts that were sent.
type fault int

const (
	down     fault = iota // no reply: retry, then give up
	busy                  // asked to come back, or failed inside: retry
	refused               // of no use to retry: key, address, model, setting
	disputed              // the texts may be at fault, or a setting
	tooLong               // a text is
)

// tooLongText is how servers word it (llama-server, Ollama, OpenAI, vLLM,
// TEI, LM Studio), in replies of 400, 413, 422 and 500.
var tooLongText = regexp.MustCompile(`(?i)context (length|size|window)|too (long|large|many tokens)|(maximum|max)[^.]{0,40}(token|length)|(input|token|batch)[^.]{0,60}(exceed|larger than|longer than)|exceeds?[^.]{0,60}(token|context|length|batch)`)

// noQuota is a 429 that waiting does not end.
var noQuota = regexp.MustCompile(`insufficient_quota|exceeded your current quota|billing`)

func classify(err error) fault {
	var s *StatusError
	var r *ReplyError
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &r), errors.As(err, &syntax), errors.As(err, &kind):
		return busy
	case !errors.As(err, &s):
		return down
	}
	switch {
	case s.Code == http.StatusRequestEntityTooLarge:
		return tooLong
	case s.Code == http.StatusTooManyRequests && noQuota.MatchString(s.Message):
		return refused
	case s.Code == http.StatusTooManyRequests, s.Code == http.StatusRequestTimeout, s.Code == http.StatusTooEarly:
		return busy
	case s.Code == http.StatusBadRequest, s.Code == http.StatusUnprocessableEntity, s.Code == http.StatusInternalServerError:
		if tooLongText.MatchString(s.Message) {
			return tooLong
		}
		if s.Code == http.StatusInternalServerError {
			return busy
		}
		return disputed
	case s.Code >= 500:
		return busy
	}
	return refused
}

// request makes one call to the server, in j's lane and within the timeout,
// and retries it while that may help and the caller's deadline allows. The
// breaker learns of the outcome.
func (e *Endpoint) request(ctx context.Context, j job, call func(context.Context) error) error {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval = 250*time.Millisecond, 10*time.Second
	for n := 1; ; n++ {
		err := e.once(ctx, j.lane, call)
		kind := classify(err)
		if err == nil || ctx.Err() != nil || n >= j.attempts || kind != busy && kind != down {
			return err
		}
		pause := pauseAfter(err, waits.NextBackOff())
		if pause > patience || !sleep(ctx, pause) {
			return err
		}
	}
}

func (e *Endpoint) once(ctx context.Context, in lane, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case in <- struct{}{}:
		defer func() { <-in }()
	case <-ctx.Done():
		return ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	defer cancel()
	err := call(limited)
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address is in our message already
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // the caller went away; the server is not to blame
	}
	e.learnFrom(err)
	return err
}

// patience is the longest pause inside one call. A server that asks for more
// fails the call, and the breaker keeps what it asked for.
const patience = time.Minute

// learnFrom tells the breaker of a call's failure. A server that was not
// there, or has lost the model, may come back as another.
func (e *Endpoint) learnFrom(err error) {
	if err == nil {
		return // send says so: a server may list its models and yet not embed
	}
	kind := classify(err)
	if kind == tooLong || kind == disputed {
		e.breaker.succeed() // it answers; the texts are the matter
		return
	}
	e.breaker.fail(time.Now(), err)
	var s *StatusError
	if !errors.As(err, &s) || s.Code != http.StatusTooManyRequests {
		e.distrust()
	}
}

// pauseAfter is how long to wait before the next try: what the server asks
// for, and up to a tenth more so that parallel requests spread.
func pauseAfter(err error, otherwise time.Duration) time.Duration {
	var s *StatusError
	if errors.As(err, &s) && s.RetryAfter > 0 {
		return s.RetryAfter + rand.N(s.RetryAfter/10+1)
	}
	return otherwise
}

// sleep waits, or reports at once that the context's deadline comes first.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// maxReply bounds a reply: 64 vectors of 4,096 numbers are 6 MB of JSON.
const maxReply = 128 << 20

// HTTPClient returns a client for drivers that sends headers with every
// request. Replies from 300 up become [*StatusError] values that keep
// Retry-After, which client libraries drop; redirects are not followed, since
// they would carry the key to another server.
func HTTPClient(headers map[string]string) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 8
	return &http.Client{
		Transport:     &transport{base: t, headers: headers},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type transport struct {
	base    *http.Transport
	headers map[string]string
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(t.headers) > 0 {
		r = r.Clone(r.Context()) // a RoundTripper may not change the request
		for k, v := range t.headers {
			r.Header.Set(k, v)
		}
	}
	res, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		defer res.Body.Close()
		return nil, statusError(res)
	}
	res.Body = http.MaxBytesReader(nil, res.Body, maxReply)
	return res, nil
}

func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

func statusError(res *http.Response) *StatusError {
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	s := &StatusError{Code: res.StatusCode, Message: Message(body), RetryAfter: RetryAfter(res.Header, time.Now())}
	if err != nil && s.Message == "" {
		s.Message = err.Error()
	}
	if to := res.Header.Get("Location"); to != "" {
		s.Message = "redirected to " + to + "; set embedding.url to the final address"
	}
	return s
}
