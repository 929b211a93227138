package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// lockTimeout bounds the wait for other processes that change the file.
const lockTimeout = 5 * time.Second

// A TokenFile has the tokens that were made at run time. Several processes may
// use it: whoever reads sees what another wrote last.
type TokenFile struct {
	path string

	mu     sync.Mutex // guards the fields below
	known  fileState
	tokens map[string]Token
}

// A fileState is another one when the file has changed.
type fileState struct {
	size  int64
	mtime time.Time
}

// NewTokenFile is the file at path, which need not exist.
func NewTokenFile(path string) *TokenFile { return &TokenFile{path: path} }

// read gives the tokens by name, which are not to be changed.
func (f *TokenFile) read() (map[string]Token, error) {
	if f == nil {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.known, f.tokens = fileState{}, nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	now := fileState{info.Size(), info.ModTime()}
	// Clocks of file systems are coarse: a file this young may change again
	// without looking otherwise.
	if settled := time.Since(info.ModTime()) > 2*time.Second; settled && now == f.known {
		return f.tokens, nil
	}
	tokens, err := f.load()
	if err != nil {
		return nil, err
	}
	f.known, f.tokens = now, tokens
	return tokens, nil
}

// tokenFile is what the file holds.
type tokenFile struct {
	Tokens map[string]Token `json:"tokens"`
}

func (f *TokenFile) load() (map[string]Token, error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	var in tokenFile
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("read tokens: %s: %w; restore it from a backup, or remove it and make the tokens anew", f.path, err)
	}
	return in.Tokens, nil
}

// List are the tokens by name.
func (f *TokenFile) List() (map[string]Token, error) {
	tokens, err := f.read()
	return maps.Clone(tokens), err
}

// Add keeps a token; its error names one that is there already.
func (f *TokenFile) Add(name string, t Token) error {
	return f.change(func(tokens map[string]Token) error {
		if _, ok := tokens[name]; ok {
			return fmt.Errorf("there is a token %q already; revoke it first, or choose another name", name)
		}
		tokens[name] = t
		return nil
	})
}

// Revoke forgets a token; its error names one that is not there.
func (f *TokenFile) Revoke(name string) error {
	return f.change(func(tokens map[string]Token) error {
		if _, ok := tokens[name]; !ok {
			return fmt.Errorf("there is no token %q in %s", name, f.path)
		}
		delete(tokens, name)
		return nil
	})
}

// change replaces the file by what edit makes of it, while no other process
// does.
func (f *TokenFile) change(edit func(map[string]Token) error) error {
	lock := flock.New(f.path + ".lock")
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("lock %s: %w", f.path, err)
	}
	defer lock.Unlock() // at the latest the end of the process does it
	tokens, err := f.load()
	if err != nil {
		return err
	}
	if tokens == nil {
		tokens = map[string]Token{}
	}
	if err := edit(tokens); err != nil {
		return err
	}
	err = atomicfile.Write(f.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(tokenFile{tokens}) })
	if err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	return nil
}
