package keep

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

func put(t *testing.T, k *Keeper, name, text string) {
	t.Helper()
	if err := k.Change(t.Context(), name, func([]byte) ([]byte, error) { return []byte(text), nil }); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, k *Keeper, name, text string) {
	t.Helper()
	if got, err := k.Load(name); string(got) != text || err != nil {
		t.Errorf("%s: got %q, %v, want %q", name, got, err, text)
	}
}

// The key is in the keyring, or beside the files where there is no keyring;
// two processes find it, and nothing is readable on disk.
func TestKeep(t *testing.T) {
	for name, tt := range map[string]struct {
		keyring bool
		err     error
		beside  bool
	}{"keyring": {true, nil, false}, "keyring absent": {true, errors.New("no bus"), true}, "keyring off": {false, nil, true}} {
		t.Run(name, func(t *testing.T) {
			if tt.err != nil {
				keyring.MockInitWithError(tt.err)
			} else {
				keyring.MockInit()
			}
			dir := filepath.Join(t.TempDir(), "logins")
			one, two := New(dir, tt.keyring), New(dir, tt.keyring)
			if got, err := one.Load("notion"); got != nil || err != nil {
				t.Errorf("got %q, %v of an empty folder", got, err)
			}
			put(t, one, "notion", "first")
			want(t, two, "notion", "first")
			put(t, two, "notion", "other")
			want(t, one, "notion", "other")
			put(t, two, "linear", "more")
			if names, err := one.Names(); strings.Join(names, " ") != "linear notion" || err != nil {
				t.Errorf("got %q, %v", names, err)
			}
			boom := errors.New("boom")
			if err := one.Change(t.Context(), "notion", func(got []byte) ([]byte, error) { return []byte("no"), boom }); !errors.Is(err, boom) {
				t.Errorf("got %v", err)
			}
			want(t, two, "notion", "other")
			if err := two.Remove(t.Context(), "notion"); err != nil {
				t.Error(err)
			}
			want(t, one, "notion", "")
			if got, err := os.Stat(filepath.Join(dir, "key")); (err == nil) != tt.beside {
				t.Errorf("the key file: %v, %v", got, err)
			}
			if where := New(dir, tt.keyring).Where(); (where == filepath.Join(dir, "key")) != tt.beside || where == "" {
				t.Errorf("the key is in %q", where)
			}
			text, err := os.ReadFile(filepath.Join(dir, "linear.login"))
			if err != nil || bytes.Contains(text, []byte("more")) {
				t.Errorf("on disk there is %q, %v", text, err)
			}
		})
	}
}

// What others could read, what is damaged, moved to another name or of
// another key is refused.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	k := New(dir, false)
	put(t, k, "notion", "token")
	refused := func(why string) {
		t.Helper()
		if _, err := New(dir, false).Load("notion"); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want %s", err, why)
		}
	}
	path := k.path("notion")
	if runtime.GOOS != "windows" {
		for _, p := range []string{path, k.keyPath()} {
			info, err := os.Stat(p)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			if err := os.Chmod(p, 0o640); err != nil {
				t.Fatal(err)
			}
			refused(p + " may be read by other users of this machine (mode 0640)")
			if err := os.Chmod(p, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	sealed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{sealed[:len(sealed)-1], {}, append(bytes.Clone(sealed[:len(sealed)-1]), sealed[len(sealed)-1]^1)} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		refused("is damaged, or encrypted by another key")
	}
	put(t, New(dir, false), "linear", "other")
	if err := os.Rename(k.path("linear"), path); err != nil {
		t.Fatal(err)
	}
	refused("is damaged, or encrypted by another key")
	if err := k.Change(t.Context(), "notion", func([]byte) ([]byte, error) { return []byte("x"), nil }); err == nil {
		t.Error("a damaged login was changed")
	}
	if err := os.Remove(k.keyPath()); err != nil {
		t.Fatal(err)
	}
	refused("the key of the logins is neither beside them nor in the keyring")
	if err := New(dir, false).Remove(t.Context(), "notion"); err != nil {
		t.Error(err)
	}
}
