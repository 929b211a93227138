package store

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// A folder is the state folder and its key.
type folder struct {
	dir string
	o   Options
	notes

	mu  sync.Mutex // guards the field below
	key []byte     // of the folder, keys the servers
}

// prepareFolder creates the folder and its key, or settles for reading.
func (f *folder) prepareFolder() error {
	if info, err := os.Stat(f.dir); err == nil && !info.IsDir() {
		return fmt.Errorf("open state folder %s: it is a file; name a folder", f.dir)
	}
	if !f.o.ReadOnly {
		if err := os.MkdirAll(f.dir, 0o700); err != nil {
			return fmt.Errorf("create state folder: %w; choose a folder that can be written", err)
		}
		f.o.ReadOnly = !writable(f.dir)
	}
	return f.takeKey()
}

// takeKey reads the folder's key.
func (f *folder) takeKey() error {
	key, err := f.folderKey()
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.key = key
	return nil
}

// writable says whether files can be made in dir.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written to it
	return os.Remove(f.Name()) == nil
}

// Key is the key of the server name at the connection that source describes.
// It is a keyed hash, so that the store never holds what source says.
func (f *folder) Key(name, source string) Key {
	f.mu.Lock()
	mac := hmac.New(sha256.New, f.key)
	f.mu.Unlock()
	fmt.Fprintf(mac, "server\x00%s\x00%s", name, source)
	return Key(mac.Sum(nil)[:16])
}

// folderKey reads the folder's random key and makes it if there is none. It
// lives beside the store, so that a damaged store does not lose it.
func (f *folder) folderKey() ([]byte, error) {
	path := filepath.Join(f.dir, "folder.key")
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 36 && crc32.Checksum(data[:32], castagnoli) == binary.LittleEndian.Uint32(data[32:]) {
		return data[:32], nil
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // crypto/rand never fails
	if f.o.ReadOnly {
		return key, nil // nothing stored can be told apart without the key
	}
	unlock, lerr := f.lock(context.Background())
	if lerr != nil {
		return nil, fmt.Errorf("open state folder %s: %w", f.dir, lerr)
	}
	defer unlock()
	if again, rerr := os.ReadFile(path); rerr == nil && string(again) != string(data) {
		return f.folderKey() // made by another process meanwhile
	}
	if err == nil {
		f.note("folder key %s is damaged and was made anew: stored servers are listed again", path)
	}
	err = atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(binary.LittleEndian.AppendUint32(key[:32:32], crc32.Checksum(key, castagnoli)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write folder key: %w", err)
	}
	return key, nil
}
