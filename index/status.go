package index

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/store"
)

// Status describes the index.
func (ix *Index) Status() Status {
	st := Status{Dir: ix.folder.Dir, Format: store.Format, Bytes: folderBytes(ix.folder.Dir), Generation: ix.snapshot().Generation()}
	var problems []string
	if ix.folder.Store != nil {
		problems = ix.folder.Store.Notes()
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	problem, failure := ix.folder.Faults()
	for _, p := range []string{problem, failure} {
		if p != "" {
			problems = append(problems, p)
		}
	}
	if lost := ix.lost(); len(lost) > 0 {
		problems = append(problems, describeLost(lost))
	}
	st.Problem = strings.Join(problems, "; ")
	st.Unwritten = problem != ""
	st.Pending = ix.pending()
	for _, name := range slices.Sorted(maps.Keys(ix.servers)) {
		part := ix.servers[name].status(name)
		st.Tools += part.Tools
		st.Hidden += part.Hidden
		st.Servers = append(st.Servers, part)
	}
	st.Models = ix.embeddings.Status()
	return st
}

func (sv *server) status(name string) ServerStatus {
	part := ServerStatus{Name: name, Listed: sv.listed, Stale: !sv.confirmed, Warnings: slices.Clone(sv.warnings)}
	var odd []string
	for _, e := range sv.entries {
		if e.Tool.Hidden {
			part.Hidden++
			continue
		}
		part.Tools++
		for _, w := range e.Tool.Warnings {
			odd = append(odd, "tool "+e.Tool.Name+": "+w)
		}
	}
	slices.Sort(odd)
	part.Warnings = append(part.Warnings, odd[:min(len(odd), maxStatusWarnings)]...)
	return part
}

// maxStatusWarnings bounds what Status repeats of one server's tools.
const maxStatusWarnings = 50

// folderBytes is the size of the files of the state folder; what cannot be
// read counts as nothing.
func folderBytes(dir string) (n int64) {
	if dir == "" {
		return 0
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(dir, f.Name())); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}
