package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	// refreshEvery is how often the keys are fetched.
	refreshEvery = 5 * time.Minute
	// retryEvery is how often that is tried while the issuer is away.
	retryEvery = 15 * time.Second
	// keyLifetime is how long keys hold that cannot be fetched again.
	keyLifetime = time.Hour
	// askAgain is the least time between fetches that tokens with an unknown
	// key cause.
	askAgain = 10 * time.Second
	// keyPatience bounds the wait of such a token.
	keyPatience = 5 * time.Second
)

// keys are those with which an issuer signs. They are fetched in the
// background; only a token with a key that nobody knows yet waits for that.
type keys struct {
	config Config
	client *http.Client
	log    *slog.Logger
	now    func() time.Time
	asked  chan struct{} // holds a value when they are to be fetched at once

	mu      sync.Mutex // guards the fields below
	set     []jose.JSONWebKey
	fetched time.Time     // last with success; zero before
	tried   time.Time     // began last
	next    chan struct{} // closed when the next fetch has ended
	inspect string        // where to introspect, as the issuer says
}

func newKeys(c Config, log *slog.Logger) *keys {
	return &keys{
		config: c, client: newClient(), log: log, now: time.Now,
		asked: make(chan struct{}, 1), next: make(chan struct{}),
	}
}

// run fetches the keys until ctx ends.
func (k *keys) run(ctx context.Context) {
	for {
		wait := refreshEvery
		if err := k.fetch(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			k.log.Warn("keys of the issuer of tokens not fetched", "issuer", k.config.Issuer, "error", err)
			wait = retryEvery
		}
		again := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			again.Stop()
			return
		case <-again.C:
		case <-k.asked:
			again.Stop()
		}
	}
}

// fetch asks the issuer for its keys.
func (k *keys) fetch(ctx context.Context) error {
	k.mu.Lock()
	k.tried = k.now()
	k.mu.Unlock()
	set, inspect, err := k.ask(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.next)
	k.next = make(chan struct{})
	if err != nil {
		return err
	}
	k.set, k.inspect, k.fetched = set, inspect, k.now()
	return nil
}

func (k *keys) ask(ctx context.Context) (set []jose.JSONWebKey, inspect string, err error) {
	var said struct {
		JWKS    string `json:"jwks_uri"`
		Inspect string `json:"introspection_endpoint"`
	}
	if said.JWKS = k.config.JWKS; said.JWKS == "" || k.config.ClientID != "" && k.config.Introspection == "" {
		provider, err := oidc.NewProvider(oidc.ClientContext(ctx, k.client), k.config.Issuer)
		if err == nil {
			err = provider.Claims(&said)
		}
		if err != nil {
			return nil, "", err
		}
	}
	if k.config.JWKS != "" {
		said.JWKS = k.config.JWKS
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, said.JWKS, nil)
	if err != nil {
		return nil, "", err
	}
	res, err := k.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("%s: %s", said.JWKS, res.Status)
	}
	var found struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(&found); err != nil {
		return nil, "", fmt.Errorf("%s: %w", said.JWKS, err)
	}
	for _, raw := range found.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			set = append(set, key) // keys of kinds that nobody here knows are others' business
		}
	}
	return set, said.Inspect, nil
}

// errNoKey reports a token that none of the keys has signed.
var errNoKey = errors.New("no key of the issuer has signed it")

// VerifySignature implements [oidc.KeySet].
func (k *keys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed := make([]jose.SignatureAlgorithm, len(algorithms))
	for i, a := range algorithms {
		signed[i] = jose.SignatureAlgorithm(a)
	}
	jws, err := jose.ParseSignedCompact(token, signed)
	if err != nil {
		return nil, err
	}
	payload, known, next, err := k.check(jws)
	if known || err != nil {
		return payload, err
	}
	if !k.wanted() {
		return nil, errNoKey
	}
	patience := time.NewTimer(keyPatience)
	defer patience.Stop()
	select {
	case <-next:
	case <-patience.C:
	case <-ctx.Done():
	}
	if payload, known, _, err = k.check(jws); !known && err == nil {
		err = errNoKey
	}
	return payload, err
}

// down says why there are no keys to check a token with; nil when there are.
func (k *keys) down() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.fetched.IsZero():
		return fmt.Errorf("%w: %s has not told its keys yet", ErrUnavailable, k.config.Issuer)
	case k.now().Sub(k.fetched) > keyLifetime:
		return fmt.Errorf("%w: %s could not be asked for its keys since %s", ErrUnavailable, k.config.Issuer, k.fetched.Format(time.RFC3339))
	}
	return nil
}

// check looks for the key that signed a token; known is false when there is
// none of its name, and next is closed when there may be.
func (k *keys) check(jws *jose.JSONWebSignature) (payload []byte, known bool, next <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.fetched.IsZero() && k.now().Sub(k.fetched) > keyLifetime {
		return nil, false, k.next, nil // they may have been withdrawn
	}
	header := jws.Signatures[0].Header
	for i := range k.set {
		key := &k.set[i]
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		known = true
		if payload, err := jws.Verify(key); err == nil {
			return payload, true, nil, nil
		}
	}
	if known {
		return nil, true, nil, errNoKey
	}
	return nil, false, k.next, nil
}

// wanted has the keys fetched soon, and says whether to wait for that.
func (k *keys) wanted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.fetched.IsZero() && k.now().Sub(k.tried) < askAgain {
		return false
	}
	select {
	case k.asked <- struct{}{}:
	default: // they are about to be
	}
	return true
}

// introspection is where to introspect, "" when nobody said.
func (k *keys) introspection() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.inspect
}
