package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A Token is a static bearer token, of which only the hash is kept.
type Token struct {
	Hash    string    `json:"hash"` // as HashToken gives it
	Teams   []string  `json:"teams,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// tokenPrefix begins every token, so that whoever finds one knows what it is.
const tokenPrefix = "tooldex_"

// tokenPrincipal begins the name of a principal that has a static token.
const tokenPrincipal = "token:"

// hashPrefix begins every hash.
const hashPrefix = "sha256:"

// ErrUnknownToken reports a token that is no static one, or was revoked.
var ErrUnknownToken = errors.New("no such token")

var tokenName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckTokenName says what is wrong with the name of a token.
func CheckTokenName(name string) error {
	if tokenName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q: a token's name has 1 to 64 of A-Z a-z 0-9 . _ -", name)
}

// NewSecret is a token that nobody has had before: 256 random bits after a
// prefix.
func NewSecret() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
}

// HashToken is what is kept of a token.
func HashToken(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// CheckHash says what is wrong with the hash of a token.
func CheckHash(hash string) error {
	digits, ok := strings.CutPrefix(hash, hashPrefix)
	if sum, err := hex.DecodeString(digits); !ok || err != nil || len(sum) != sha256.Size {
		return errors.New(`a token's hash is "sha256:" and 64 hexadecimal digits, as "tooldex auth token new NAME --print" writes it`)
	}
	return nil
}

// IsStatic says whether a bearer token looks like one of ours.
func IsStatic(secret string) bool { return strings.HasPrefix(secret, tokenPrefix) }

// Tokens are the static tokens in force: those of the configuration and those
// that were made at run time, which a file has. It is safe for concurrent use.
type Tokens struct {
	file *TokenFile
	now  func() time.Time

	mu         sync.RWMutex // guards configured
	configured map[string]Token
}

// NewTokens are the tokens of the configuration and of a file, which may be
// nil.
func NewTokens(configured map[string]Token, file *TokenFile) *Tokens {
	return &Tokens{configured: configured, file: file, now: time.Now}
}

// Configure changes the tokens of the configuration.
func (t *Tokens) Configure(configured map[string]Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.configured = configured
}

// Principal is whose token it is. The error wraps ErrUnknownToken unless the
// file cannot be read.
func (t *Tokens) Principal(secret string) (*Principal, error) {
	all, err := t.all()
	if err != nil {
		return nil, err
	}
	hash := []byte(HashToken(secret))
	var found *Principal
	for name, token := range all { // all of them, so that the time tells nothing
		if subtle.ConstantTimeCompare(hash, []byte(token.Hash)) == 1 && !token.expired(t.now()) {
			found = token.principal(name)
		}
	}
	if found == nil {
		return nil, ErrUnknownToken
	}
	return found, nil
}

// Named is the principal called token:NAME; nil without a token of that name
// that is in force.
func (t *Tokens) Named(principal string) (*Principal, error) {
	name, ours := strings.CutPrefix(principal, tokenPrincipal)
	all, err := t.all()
	if token, ok := all[name]; err == nil && ours && ok && !token.expired(t.now()) {
		return token.principal(name), nil
	}
	return nil, err
}

// Teams are those of all tokens in force.
func (t *Tokens) Teams() ([]string, error) {
	all, err := t.all()
	var out []string
	for _, token := range all {
		if !token.expired(t.now()) {
			out = append(out, token.Teams...)
		}
	}
	return out, err
}

// Hold says whether the token by which p came is in force; one that came by
// something else is not asked.
func (t *Tokens) Hold(p *Principal) bool {
	if p.hash == "" {
		return true
	}
	now, err := t.Named(p.Name)
	return err == nil && now != nil && now.hash == p.hash
}

// all are the tokens by name. One of the configuration stands before one of
// the file.
func (t *Tokens) all() (map[string]Token, error) {
	all, err := t.file.read()
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make(map[string]Token, len(all)+len(t.configured))
	for name, token := range all {
		out[name] = token
	}
	for name, token := range t.configured {
		out[name] = token
	}
	return out, nil
}

func (t Token) expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

func (t Token) principal(name string) *Principal {
	return &Principal{Name: tokenPrincipal + name, Teams: t.Teams, Most: Admin, hash: t.Hash}
}
