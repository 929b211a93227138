//go:build !windows

package rivals

// All lists the rivals.
func All() []Entry {
	return []Entry{
		{"coder/hnsw", Vectors, func(dir string) Rival { return &coder{dir: dir} }},
		{"chromem-go", Vectors, func(dir string) Rival { return &chromem{dir: dir} }},
		{"bleve", Words, func(dir string) Rival { return &bleveIndex{dir: dir} }},
		{"SQLite FTS5", Words, func(dir string) Rival { return &fts5{dir: dir} }},
	}
}
