package mcp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// masked stands where an upstream repeated a secret.
const masked = "[masked]"

// minSecret is the least length of a secret: a shorter one is part of too
// many words.
const minSecret = 8

// A masker removes what we know to be secret of one server from what the
// server says: some repeat the credentials that they refuse.
type masker struct {
	secrets []string // the longest first
	quoted  [][]byte // as they stand in JSON strings, in any spelling
}

// newMasker collects the secrets of a Spec: header values and their tokens,
// variables that are named like secrets, and what the URL holds.
func newMasker(sp Spec) masker {
	var found []string
	for name, value := range sp.Headers {
		if strings.EqualFold(name, "Host") || strings.EqualFold(name, "Accept") || strings.EqualFold(name, "User-Agent") {
			continue
		}
		found = append(found, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			found = append(found, strings.TrimSpace(token))
		}
	}
	for name, value := range sp.Env {
		if secretName(name) {
			found = append(found, value)
		}
	}
	if u, err := url.Parse(sp.URL); err == nil {
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
	found = slices.DeleteFunc(found, func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	m := masker{secrets: slices.Compact(found)}
	for _, secret := range m.secrets {
		m.quoted = append(m.quoted, spellings(secret)...)
	}
	return m
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

// text masks s.
func (m masker) text(s string) string {
	for _, secret := range m.secrets {
		s = strings.ReplaceAll(s, secret, masked)
	}
	return s
}

// json masks the strings of a JSON text, which stays one.
func (m masker) json(data []byte) []byte {
	for _, secret := range m.quoted {
		if bytes.Contains(data, secret) {
			data = maskStrings(data, secret)
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

// error masks the text of err.
func (m masker) error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := m.text(text); clean != text {
		return &maskedError{err, clean}
	}
	return err
}
