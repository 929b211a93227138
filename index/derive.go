package index

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/store"
)

// When the file is written: opening one costs the more the less it has.
const (
	savedShare = 20  // one tool in so many is not in it
	closeShare = 100 // the same when the index closes, which cannot happen often
)

// saveDerived writes the file of what is derived if one tool or vector in
// share is not in it. While another process writes it, it waits for the next
// time.
func (ix *Index) saveDerived(share int) error {
	if ix.folder.Store == nil || !ix.dueToSave(share) {
		return nil
	}
	unlock, err := store.TryLock(ix.folder.Dir, "derived.lock")
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	if err := derived.Write(ix.folder.DerivedPath(), ix.draftDerived()); err != nil {
		return fmt.Errorf("write what is derived: %w", err)
	}
	return nil
}

// dueToSave says whether a new file is worth its while.
func (ix *Index) dueToSave(share int) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	entries, unsaved := 0, ix.unsaved
	for _, sv := range ix.servers {
		entries += len(sv.entries)
	}
	unsaved = max(unsaved, ix.embeddings.Unsaved())
	return !ix.folder.ReadOnly() && unsaved > 0 && unsaved*share >= entries
}

// draftDerived takes in what there is to save, and counts from there.
func (ix *Index) draftDerived() derived.Draft {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	d := derived.Draft{File: ix.counters.File, Lexicon: ix.lexicon.View(), Models: ix.embeddings.Draft()}
	for name, sv := range ix.servers {
		if !sv.pending() && !sv.suspect && !sv.lost { // what is stored is what memory has
			d.Servers = append(d.Servers, derived.Server{Name: name, Key: sv.key, Generation: sv.generation, Docs: sv.entries}) // a map that is replaced, never changed
		}
	}
	ix.unsaved = 0
	return d
}

// takeDerived makes memory what the file says, as if it had been loaded from
// the store of that moment. The caller holds mu.
func (ix *Index) takeDerived(d derived.State) {
	ix.lexicon = d.Lexicon
	ix.embeddings.Take(d.Vectors)
	for _, sv := range d.Servers {
		ix.servers[sv.Name] = &server{key: sv.Key, entries: sv.Docs, generation: sv.Generation, changed: map[string]bool{}}
		ix.raws.place(sv.Name, sv.Key)
	}
	ix.counters.File = d.File
}

// settleDerived brings what the file said in line with the servers that are stored:
// those that are there no more are forgotten, the others get the dates of
// their records, which change without the tools. The caller holds mu.
func (ix *Index) settleDerived(stored map[store.Key]store.Server, c store.Counters) {
	for name, sv := range ix.servers {
		record, ok := stored[sv.key]
		if !ok {
			delete(ix.servers, name)
			continue
		}
		if ix.counters.File != c.File {
			sv.generation = 0
		}
		sv.listed, sv.warnings = record.Listed, record.Warnings
		sv.confirmed = record.Listed.After(ix.started)
	}
}

// readDerived reads the file; that it cannot be read costs time only.
func (ix *Index) readDerived() derived.State {
	d, err := derived.Read(ix.folder.DerivedPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ix.folder.Log.Info("the catalog is derived anew", "file", ix.folder.DerivedPath(), "error", err)
	}
	return d
}
