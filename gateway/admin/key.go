package admin

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// keyFile is where the key is in a state folder.
const keyFile = "admin.key"

// Key is the key of the administrator of a state folder: it is made when there
// is none yet. One that other users can read is an error, as it is nobody's
// secret.
func Key(state string) (string, error) {
	path := filepath.Join(state, keyFile)
	key, err := readKey(path)
	if !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return "", fmt.Errorf("make the key of the API: %w", err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("make the key of the API: %w", err)
	}
	defer lock.Close() // at the latest the end of the process does it
	if key, err = readKey(path); !errors.Is(err, os.ErrNotExist) {
		return key, err // another process was faster
	}
	err = atomicfile.Write(path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, rand.Text()+rand.Text())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make the key of the API: %w", err)
	}
	return readKey(path)
}

func readKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the key of the API: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 { // which has no such mode
		return "", fmt.Errorf("the key of the API in %s can be read by other users (mode %o): remove the file, and another key is made", path, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the key of the API: %w", err)
	}
	key := strings.TrimSpace(string(text))
	if len(key) < 32 {
		return "", fmt.Errorf("the key of the API in %s is too short: remove the file, and another key is made", path)
	}
	return key, nil
}

// ByKey allows requests that bring the key as a bearer token.
func ByKey(key string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		same := subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(key)) == 1
		return same && strings.EqualFold(scheme, "Bearer") && key != ""
	}
}
