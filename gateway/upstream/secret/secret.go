// Package secret reads the secrets that a configuration refers to:
// ${file:/run/secrets/token}, ${keyring:service/user} and ${cmd:program args}.
//
// They are read when they are needed and not before, so that a file that
// changes needs no restart. Values of the keyring are kept for a minute and
// those of commands for five, unless somebody says that they are not taken any
// more. No error says what is in a secret.
package secret

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	keptKeyring = time.Minute
	keptCommand = 5 * time.Minute
)

// reference matches what stands for a secret: its kind and where it is.
var reference = regexp.MustCompile(`\$\{(file|keyring|cmd):([^}]*)\}`)

// In reports whether text refers to secrets.
func In(text string) bool { return reference.MatchString(text) }

// Commands reports whether text refers to what a command prints.
func Commands(text string) bool {
	return slices.ContainsFunc(reference.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == "cmd" })
}

// Check says what is wrong with how the references in text are written.
func Check(text string) error {
	var errs []error
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		service, user := keyringItem(m[2])
		switch {
		case strings.TrimSpace(m[2]) == "":
			errs = append(errs, fmt.Errorf("%s names nothing; write ${file:/path}, ${keyring:service/user} or ${cmd:program}", m[0]))
		case m[1] == "keyring" && (service == "" || user == ""):
			errs = append(errs, fmt.Errorf("%s names no item of the keyring; write ${keyring:service/user}", m[0]))
		}
	}
	return errors.Join(errs...)
}

// keyringItem takes service/user apart; a service may have slashes.
func keyringItem(name string) (service, user string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", ""
	}
	return name[:i], name[i+1:]
}

// A Resolver reads secrets. It is safe for concurrent use; the zero value is
// ready.
type Resolver struct {
	mu   sync.Mutex // guards kept
	kept map[string]*kept
}

// A kept is a value that is not read again for a while.
type kept struct {
	mu    sync.Mutex // guards the fields below, and is held while the value is read
	value string
	until time.Time
}

// Resolve is text with each reference replaced by what it stands for, and the
// values by themselves.
func (r *Resolver) Resolve(ctx context.Context, text string) (whole string, values []string, err error) {
	var errs []error
	whole = reference.ReplaceAllStringFunc(text, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		v, err := r.value(ctx, m[1], m[2])
		if err != nil {
			errs = append(errs, fmt.Errorf("secret %s: %w", ref, err))
			return ""
		}
		values = append(values, v)
		return v
	})
	return whole, values, errors.Join(errs...)
}

// Forget has the references in texts read anew, and reports whether any value
// of theirs was kept.
func (r *Resolver) Forget(texts ...string) (any bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range texts {
		for _, ref := range reference.FindAllString(text, -1) {
			if r.kept[ref] != nil {
				delete(r.kept, ref)
				any = true
			}
		}
	}
	return any
}

func (r *Resolver) value(ctx context.Context, kind, where string) (string, error) {
	switch kind {
	case "file":
		return file(where)
	case "keyring":
		return r.once(kind, where, keptKeyring, func() (string, error) { return fromKeyring(ctx, where) })
	}
	return r.once(kind, where, keptCommand, func() (string, error) { return command(ctx, where) })
}

// once is a value that was read within the time given, or is now, once for all
// who ask for it.
func (r *Resolver) once(kind, where string, d time.Duration, read func() (string, error)) (string, error) {
	ref := "${" + kind + ":" + where + "}"
	r.mu.Lock()
	if r.kept == nil {
		r.kept = map[string]*kept{}
	}
	k := r.kept[ref]
	if k == nil {
		k = &kept{}
		r.kept[ref] = k
	}
	r.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Now().Before(k.until) {
		return k.value, nil
	}
	v, err := read()
	if err != nil {
		return "", err
	}
	k.value, k.until = v, time.Now().Add(d)
	return v, nil
}
