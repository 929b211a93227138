//go:build !windows

package rivals

// All lists the rivals.
func All() []Entry {
	return []Entry{
		{"coder/hnsw", Vectors, func(dir string) Rival { return &coder{dir: dir} }, false},
		{"coder/hnsw, EfSearch 200", Vectors, func(dir string) Rival { return &coder{dir: dir, ef: 200} }, false},
		{"chromem-go", Vectors, func(dir string) Rival { return &chromem{dir: dir} }, true},
		{"bleve", Words, func(dir string) Rival { return &bleveIndex{dir: dir} }, true},
		{"SQLite FTS5", Words, func(dir string) Rival { return &fts5{dir: dir} }, true},
	}
}
