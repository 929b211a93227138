// Package mask takes out of what an upstream says what we know to be secret of
// it: some repeat the credentials that they refuse.
package mask

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tooldex/tooldex/gateway/upstream/secret"
)

// masked stands where an upstream repeated a secret.
const masked = "[masked]"

// minSecret is the least length of a secret: a shorter one is part of too
// many words.
const minSecret = 8

// maxLate bounds the secrets that came to be known later: the oldest are
// those of tokens that hold no more.
const maxLate = 64

// A Masker removes the secrets of one upstream. The zero value knows none.
// Copies of a Masker share what they know.
type Masker struct{ now *atomic.Pointer[known] }

// known are secrets at one moment.
type known struct {
	first, late []string // those of the configuration, and later ones in order
	secrets     []string // all, the longest first
	quoted      [][]byte // as they stand in JSON strings, in any spelling
}

// New collects the secrets of an upstream: header values and their tokens,
// variables that are named like secrets, and what the URL holds.
func New(headers, env map[string]string, address string) Masker {
	var found []string
	for name, value := range headers {
		if strings.EqualFold(name, "Host") || strings.EqualFold(name, "Accept") || strings.EqualFold(name, "User-Agent") {
			continue
		}
		found = append(found, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			found = append(found, strings.TrimSpace(token))
		}
	}
	for name, value := range env {
		if secretName(name) {
			found = append(found, value)
		}
	}
	if u, err := url.Parse(address); err == nil {
		if password, ok := u.User.Password(); ok {
			found = append(found, password)
		}
		found = append(found, u.User.Username())
		for _, values := range u.Query() {
			for _, value := range values {
				found = append(found, value, url.QueryEscape(value))
			}
		}
	}
	found = slices.DeleteFunc(found, secret.In) // which says where a secret is
	m := Masker{now: &atomic.Pointer[known]{}}
	m.now.Store((&known{first: found}).with())
	return m
}

// Add has more secrets masked from now on: those that are read or issued
// later than the configuration.
func (m Masker) Add(secrets ...string) {
	for {
		before := m.now.Load()
		if !slices.ContainsFunc(secrets, func(s string) bool { return len(s) >= minSecret && !slices.Contains(before.secrets, s) }) {
			return
		}
		if m.now.CompareAndSwap(before, before.with(secrets...)) {
			return
		}
	}
}

// with is k with more secrets.
func (k *known) with(more ...string) *known {
	next := &known{first: k.first, late: slices.Clone(k.late)}
	for _, s := range more {
		if !slices.Contains(next.late, s) {
			next.late = append(next.late, s)
		}
	}
	next.late = next.late[max(0, len(next.late)-maxLate):]
	all := slices.DeleteFunc(slices.Concat(next.first, next.late), func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	next.secrets = slices.Compact(all)
	for _, hidden := range next.secrets {
		next.quoted = append(next.quoted, spellings(hidden)...)
	}
	return next
}

// all is what is known by now.
func (m Masker) all() *known {
	if m.now == nil {
		return &known{}
	}
	return m.now.Load()
}

// secretName reports a variable that is named as those with secrets are.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"},
		func(word string) bool { return strings.Contains(name, word) })
}

// spellings are the ways in which encoders write text inside a JSON string.
func spellings(text string) [][]byte {
	escaped, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	escaped = escaped[1 : len(escaped)-1]
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return nil
	}
	all := [][]byte{escaped, bytes.Trim(plain.Bytes(), "\n")}
	all[1] = all[1][1 : len(all[1])-1]
	all = append(all, bytes.ReplaceAll(all[1], []byte("/"), []byte(`\/`)))
	return slices.CompactFunc(all, bytes.Equal)
}

// Text masks s.
func (m Masker) Text(s string) string {
	for _, hidden := range m.all().secrets {
		s = strings.ReplaceAll(s, hidden, masked)
	}
	return s
}

// JSON masks the strings of a JSON text, which stays one.
func (m Masker) JSON(data []byte) []byte {
	for _, hidden := range m.all().quoted {
		if bytes.Contains(data, hidden) {
			data = maskStrings(data, hidden)
		}
	}
	return data
}

// maskStrings masks secret where it is inside a string: a number that looks
// like it is left alone.
func maskStrings(data, secret []byte) []byte {
	out := make([]byte, 0, len(data))
	inString := false
	for i := 0; i < len(data); {
		if inString && bytes.HasPrefix(data[i:], secret) {
			out = append(out, masked...)
			i += len(secret)
			continue
		}
		c := data[i]
		if inString && c == '\\' && i+1 < len(data) {
			out = append(out, c, data[i+1])
			i += 2
			continue
		}
		if c == '"' {
			inString = !inString
		}
		out = append(out, c)
		i++
	}
	return out
}

// A maskedError is an error whose text says no secret.
type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// Error masks the text of err.
func (m Masker) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := m.Text(text); clean != text {
		return &maskedError{err, clean}
	}
	return err
}

// Cut shortens text to n bytes: some servers send names of megabytes.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
