package index

import (
	"fmt"
	"io"

	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/flat"
	"github.com/tooldex/tooldex/index/store"
)

// saveDerived writes the file of what is derived if one tool or vector in
// share is not in it. While another process writes it, it waits for the next
// time.
func (ix *Index) saveDerived(share int) error {
	if ix.store == nil || !ix.dueToSave(share) {
		return nil
	}
	unlock, err := store.TryLock(ix.dir, "derived.lock")
	if unlock == nil || err != nil {
		return err
	}
	defer unlock()
	c := ix.deriveAll()
	err = atomicfile.Write(ix.derivedPath(), func(to io.Writer) error {
		return flat.Write(to, derivedMagic, derivedVersion, c.write)
	})
	if err != nil {
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
	unsaved = max(unsaved, ix.embeddings.unsaved())
	return !ix.readOnly() && unsaved > 0 && unsaved*share >= entries
}

// deriveAll takes in what there is to save, and counts from there.
func (ix *Index) deriveAll() *columns {
	ix.mu.Lock()
	servers := make(map[string]*server, len(ix.servers))
	for name, sv := range ix.servers {
		if !sv.pending() && !sv.suspect && !sv.lost { // what is stored is what memory has
			frozen := *sv
			servers[name] = &frozen
		}
	}
	models := ix.embeddings.draft()
	lex, file := ix.lexicon.View(), ix.counters.File
	ix.unsaved = 0
	ix.mu.Unlock()
	return derive(file, servers, lex, models)
}

// takeDerived makes memory what the file says, as if it had been loaded from
// the store of that moment. The caller holds mu.
func (ix *Index) takeDerived(d derived) {
	ix.lexicon = d.lexicon
	ix.embeddings.take(d.vectors)
	for _, sv := range d.servers {
		ix.servers[sv.name] = &server{key: sv.key, entries: sv.entries, generation: sv.generation, changed: map[string]bool{}}
		ix.raws.place(sv.name, sv.key)
	}
	ix.counters.File = d.file
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
