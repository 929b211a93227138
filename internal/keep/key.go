package keep

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/tooldex/tooldex/index/atomicfile"
)

const (
	service     = "tooldex" // in the keyring
	keySize     = 32
	keyringTime = 20 * time.Second // for the keyring, which may ask its owner
)

// errNoKey reports files whose key is nowhere to be had.
var errNoKey = errors.New("the key of the logins is neither beside them nor in the keyring")

// keyPath is where the key is when it is not in the keyring.
func (k *Keeper) keyPath() string { return filepath.Join(k.dir, "key") }

// account is the name of the key in the keyring, one for each folder.
func (k *Keeper) account() string {
	dir := k.dir
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return "logins in " + dir
}

// Where says where the key is, "" where there is none yet.
func (k *Keeper) Where() string {
	if _, err := os.Stat(k.keyPath()); err == nil {
		return k.keyPath()
	}
	if _, err := k.key(false); err == nil {
		return "the system's keyring"
	}
	return ""
}

// key is what the files are encrypted by; it is made where there is none and
// create says so.
func (k *Keeper) key(create bool) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.secret != nil {
		return k.secret, nil
	}
	key, err := k.find()
	if errors.Is(err, errNoKey) && create {
		err = k.locked(context.Background(), "", func() (err error) {
			if key, err = k.find(); errors.Is(err, errNoKey) {
				key, err = k.make()
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	k.secret = key
	return key, nil
}

// find is the key that there is.
func (k *Keeper) find() ([]byte, error) {
	text, err := readOwn(k.keyPath())
	if err == nil {
		return decodeKey(string(text))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !k.keyring {
		return nil, errNoKey
	}
	found, err := inTime(func() (string, error) { return keyring.Get(service, k.account()) })
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoKey, err)
	}
	return decodeKey(found)
}

func decodeKey(text string) ([]byte, error) {
	key, err := hex.DecodeString(string(bytes.TrimSpace([]byte(text))))
	if err != nil || len(key) != keySize {
		return nil, errors.New("the key of the logins is damaged; remove the folder of the logins and log in again")
	}
	return key, nil
}

// make makes a key, in the keyring if that keeps it.
func (k *Keeper) make() ([]byte, error) {
	if names, err := k.Names(); err != nil || len(names) > 0 {
		return nil, errors.Join(err, errNoKey) // a new one opens none of them
	}
	key := make([]byte, keySize)
	rand.Read(key)
	text := hex.EncodeToString(key)
	if k.keyring {
		kept, err := inTime(func() (string, error) {
			if err := keyring.Set(service, k.account(), text); err != nil {
				return "", err
			}
			return keyring.Get(service, k.account())
		})
		if err == nil && kept == text {
			return key, nil
		}
	}
	return key, private(k.keyPath(), []byte(text+"\n"))
}

// inTime asks the keyring, which knows no deadline.
func inTime(ask func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := ask()
		got <- answer{text, err}
	}()
	timer := time.NewTimer(keyringTime)
	defer timer.Stop()
	select {
	case a := <-got:
		return a.text, a.err
	case <-timer.C:
		return "", errors.New("the keyring does not answer; unlock it")
	}
}

// private writes a file that its owner alone may read.
func private(path string, data []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
