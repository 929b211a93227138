package catalog

import (
	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/store"
)

// Unsaved counts the tools, and of them those that are not in the derived
// file.
func (cat *Catalog) Unsaved() (tools, unsaved int) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	for _, sv := range cat.servers {
		tools += len(sv.entries)
	}
	return tools, cat.unsaved
}

// Draft takes in what there is to save in the derived file, and counts from
// there.
func (cat *Catalog) Draft() derived.Draft {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	d := derived.Draft{File: cat.counters.File, Lexicon: cat.lexicon.View()}
	for name, sv := range cat.servers {
		if !sv.pending() && !sv.suspect && !sv.lost { // what is stored is what memory has
			d.Servers = append(d.Servers, derived.Server{Name: name, Key: sv.key, Generation: sv.generation, Docs: sv.entries}) // a map that is replaced, never changed
		}
	}
	cat.unsaved = 0
	return d
}

// take makes memory what the file says, as if it had been loaded from
// the store of that moment. The caller holds Catalog.mu.
func (in *contents) take(d derived.State) {
	in.lexicon = d.Lexicon
	for _, sv := range d.Servers {
		in.servers[sv.Name] = &server{key: sv.Key, entries: sv.Docs, generation: sv.Generation, changed: map[string]bool{}}
		in.raws.place(sv.Name, sv.Key)
	}
	in.counters.File = d.File
}

// settle brings what the file said in line with the servers that are stored:
// those that are there no more are forgotten, the others get the dates of
// their records, which change without the tools. The caller holds Catalog.mu.
func (in *contents) settle(stored map[store.Key]store.Server, c store.Counters) {
	for name, sv := range in.servers {
		record, ok := stored[sv.key]
		if !ok {
			delete(in.servers, name)
			continue
		}
		if in.counters.File != c.File {
			sv.generation = 0
		}
		sv.listed, sv.warnings = record.Listed, record.Warnings
	}
}
