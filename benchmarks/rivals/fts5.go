//go:build !windows

package rivals

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"unicode"

	_ "modernc.org/sqlite"
)

// fts5 is SQLite's full-text index by modernc.org/sqlite, with its Porter
// stemmer and BM25.
type fts5 struct {
	dir string
	db  *sql.DB
}

func (f *fts5) Build(ctx context.Context, docs []Doc) (err error) {
	if f.db, err = sql.Open("sqlite", filepath.Join(f.dir, "fts5.db")); err != nil {
		return err
	}
	if _, err := f.db.ExecContext(ctx, `CREATE VIRTUAL TABLE tools USING fts5(id UNINDEXED, text, tokenize = 'porter unicode61')`); err != nil {
		return err
	}
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	insert, err := tx.PrepareContext(ctx, `INSERT INTO tools (id, text) VALUES (?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, d := range docs {
		if _, err := insert.ExecContext(ctx, d.ID, d.Text); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Search asks for any of the words: FTS5's own default asks for all, which no
// request in sentences meets.
func (f *fts5) Search(ctx context.Context, q Query, k int) (ids []string, err error) {
	words := strings.FieldsFunc(q.Text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	rows, err := f.db.QueryContext(ctx, `SELECT id FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT ?`, strings.Join(words, " OR "), k)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (f *fts5) Close() error {
	if f.db == nil {
		return nil
	}
	return f.db.Close()
}
