package app

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"sync"

	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/index/atomicfile"
)

// maxEras bounds the file: servers come and go, and a file has no end of its
// own.
const maxEras = 10000

// eraFile keeps in a file which protocol each server speaks. It only saves
// time: what cannot be read is found out again.
type eraFile struct {
	path string
	log  *slog.Logger
	mu   sync.Mutex // guards the file within this process; between two, the last wins
}

// key names a server and its connection, whose text may hold secrets.
func (f *eraFile) key(server, source string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + source))
	return hex.EncodeToString(sum[:8])
}

func (f *eraFile) read() map[string]mcp.Era {
	eras := map[string]mcp.Era{}
	data, err := os.ReadFile(f.path)
	if err == nil {
		err = json.Unmarshal(data, &eras)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log.Debug("protocols of servers not read", "file", f.path, "error", err)
	}
	if err != nil || eras == nil {
		return map[string]mcp.Era{}
	}
	return eras
}

// Recall implements mcp.Memory.
func (f *eraFile) Recall(server, source string) mcp.Era {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read()[f.key(server, source)]
}

// Remember implements mcp.Memory.
func (f *eraFile) Remember(server, source string, e mcp.Era) {
	f.mu.Lock()
	defer f.mu.Unlock()
	eras := f.read()
	for key := range maps.Keys(eras) {
		if len(eras) < maxEras {
			break
		}
		delete(eras, key)
	}
	eras[f.key(server, source)] = e
	err := atomicfile.Write(f.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(eras) })
	if err != nil {
		f.log.Debug("protocols of servers not kept", "file", f.path, "error", err)
	}
}
