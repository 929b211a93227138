// Package keep keeps secrets by name in a folder: each in a file encrypted by
// AES-256-GCM, whose key is in the system's keyring or, where there is none,
// beside them, readable by their owner alone.
//
// Any number of processes may use one folder. What others than its owner could
// read is not used any more, as they may have done so.
package keep

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	suffix  = ".login"
	magic   = "tooldex login 1\n" // that a file begins with
	longest = 1 << 20             // of a file, in bytes
	retry   = 20 * time.Millisecond
)

// A Keeper is one folder of secrets. It is safe for concurrent use.
type Keeper struct {
	dir     string
	keyring bool

	mu     sync.Mutex // guards the fields below
	secret []byte     // the key, nil before it is needed
	read   map[string]read
}

// A read is what a file held when it was this one.
type read struct {
	info fs.FileInfo
	data []byte
}

// New returns the Keeper of a folder, which need not exist. Without keyring
// the key is always beside the files.
func New(dir string, keyring bool) *Keeper {
	return &Keeper{dir: dir, keyring: keyring, read: map[string]read{}}
}

func (k *Keeper) path(name string) string { return filepath.Join(k.dir, name+suffix) }

// Names are those under which something is kept, in order.
func (k *Keeper) Names() ([]string, error) {
	entries, err := os.ReadDir(k.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// Dir is the folder.
func (k *Keeper) Dir() string { return k.dir }

// Load is what is kept under a name, nil for nothing.
func (k *Keeper) Load(name string) ([]byte, error) {
	info, err := os.Stat(k.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("login of %s: %w", name, err)
	}
	k.mu.Lock()
	known, ok := k.read[name]
	k.mu.Unlock()
	if ok && os.SameFile(known.info, info) && known.info.ModTime().Equal(info.ModTime()) && known.info.Mode() == info.Mode() {
		return slices.Clone(known.data), nil
	}
	data, err := k.open(name)
	if err != nil {
		return nil, fmt.Errorf("login of %s: %w", name, err)
	}
	k.mu.Lock()
	k.read[name] = read{info, data}
	k.mu.Unlock()
	return slices.Clone(data), nil
}

// open reads and decrypts a file.
func (k *Keeper) open(name string) ([]byte, error) {
	path := k.path(name)
	sealed, err := readOwn(path)
	if err != nil {
		return nil, err
	}
	key, err := k.key(false)
	if err != nil {
		return nil, err
	}
	text, ok := strings.CutPrefix(string(sealed), magic)
	aead, err := sealer(key)
	if err != nil {
		return nil, err
	}
	data, err := aead.Open(nil, nil, []byte(text), []byte(name))
	if !ok || err != nil {
		return nil, fmt.Errorf("%s is damaged, or encrypted by another key; remove it and log in again", path)
	}
	return data, nil
}

// sealer encrypts with a nonce of its own making.
func sealer(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key of the logins: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// readOwn reads a file that nobody but its owner may read.
func readOwn(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s may be read by other users of this machine (mode %04o), who may have its secrets: remove it and log in again", path, info.Mode().Perm())
	case info.Size() > longest:
		return nil, fmt.Errorf("%s is too large for a login; remove it", path)
	}
	return os.ReadFile(path)
}

// Change puts what f makes of what is kept under a name in its place while no
// other process changes it; nil changes nothing. It waits for its turn until
// ctx ends. After an error of f nothing is changed.
func (k *Keeper) Change(ctx context.Context, name string, f func([]byte) ([]byte, error)) error {
	return k.locked(ctx, name, func() error {
		before, err := k.Load(name)
		if err != nil {
			return err
		}
		after, err := f(before)
		if err != nil || after == nil || slices.Equal(before, after) {
			return err
		}
		return k.write(name, after)
	})
}

// Remove forgets what is kept under a name, readable or not.
func (k *Keeper) Remove(ctx context.Context, name string) error {
	return k.locked(ctx, name, func() error {
		if err := os.Remove(k.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget the login of %s: %w", name, err)
		}
		return nil
	})
}

// locked runs f while no other process does with that name.
func (k *Keeper) locked(ctx context.Context, name string, f func() error) error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return fmt.Errorf("keep the login of %s: %w", name, err)
	}
	lock := flock.New(filepath.Join(k.dir, name+".lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, retry); err != nil {
		return fmt.Errorf("wait for another process that changes the login of %s: %w", name, err)
	}
	return errors.Join(f(), lock.Close())
}

func (k *Keeper) write(name string, data []byte) error {
	key, err := k.key(true)
	if err != nil {
		return fmt.Errorf("keep the login of %s: %w", name, err)
	}
	aead, err := sealer(key)
	if err != nil {
		return err
	}
	sealed := append([]byte(magic), aead.Seal(nil, nil, data, []byte(name))...)
	if err := private(k.path(name), sealed); err != nil {
		return fmt.Errorf("keep the login of %s: %w", name, err)
	}
	return nil
}
