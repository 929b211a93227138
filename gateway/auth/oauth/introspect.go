package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// believed is how long an answer of the issuer holds: a token that it
	// withdraws may be used for as long.
	believed = 5 * time.Second
	// keptAnswers bounds those that are kept.
	keptAnswers = 4096
)

// An answered token is what the issuer said of it.
type answered struct {
	claims *claims // which nobody changes
	err    error
	at     time.Time
}

// introspect says what an opaque token is.
func (v *Verifier) introspect(ctx context.Context, token string) (*claims, error) {
	if v.config.ClientID == "" {
		return nil, fmt.Errorf("%w: it is no JWT", ErrInvalid)
	}
	sum := sha256.Sum256([]byte(token))
	if known, ok := v.answers.Get(sum); ok && v.now().Sub(known.at) < believed {
		return known.claims, known.err
	}
	at := v.now()
	c, err := v.asked(ctx, token)
	if !errors.Is(err, ErrUnavailable) {
		v.answers.Add(sum, answered{c, err, at})
	}
	return c, err
}

// asked is what the issuer says by now.
func (v *Verifier) asked(ctx context.Context, token string) (*claims, error) {
	body, err := v.ask(ctx, token)
	if err != nil {
		v.log.Warn("token not introspected", "issuer", v.config.Issuer, "error", err)
		return nil, fmt.Errorf("%w: %s does not answer", ErrUnavailable, v.config.Issuer)
	}
	var c claims
	var state struct {
		Active bool `json:"active"`
	}
	if json.Unmarshal(body, &state) != nil || json.Unmarshal(body, &c.all) != nil {
		return nil, fmt.Errorf("%w: %s gave no JSON", ErrUnavailable, v.config.Issuer)
	}
	switch {
	case !state.Active:
		return nil, fmt.Errorf("%w: %s says that it is not active", ErrInvalid, v.config.Issuer)
	case json.Unmarshal(body, &c) != nil:
		return nil, fmt.Errorf("%w: a claim is of the wrong type", ErrInvalid)
	case c.Issuer != "" && c.Issuer != v.config.Issuer:
		return nil, fmt.Errorf("%w: it is of another issuer", ErrInvalid)
	}
	return &c, nil
}

// ask is the introspection endpoint's reply.
func (v *Verifier) ask(ctx context.Context, token string) ([]byte, error) {
	at := cmp.Or(v.config.Introspection, v.keys.introspection())
	if at == "" {
		return nil, fmt.Errorf("nobody said where; the issuer's metadata is not there yet, or names no introspection_endpoint")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(v.config.ClientID), url.QueryEscape(v.config.ClientSecret))
	res, err := v.keys.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", at, res.Status)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxReply))
}
