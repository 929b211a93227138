package hnsw

import (
	"path/filepath"
	"strings"
)

// IsFile tells files of graphs, by their names, from the locks and temporary files beside them.
func IsFile(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "hnsw-") && !strings.HasSuffix(name, ".lock") && !strings.HasSuffix(name, ".tmp")
}
