package catalog

import (
	"maps"
	"slices"
	"time"
)

// A Status describes a Catalog.
type Status struct {
	Problems []string       // why nothing is written, or what was lost
	Pending  []string       // servers whose change waits for the store's lock
	Servers  []ServerStatus // by name
}

// ServerStatus describes one server's part of the catalog.
type ServerStatus struct {
	Name     string    `json:"name"`
	Tools    int       `json:"tools"`
	Hidden   int       `json:"hidden"`
	Listed   time.Time `json:"listed"` // when its tools were last replaced or confirmed
	Warnings []string  `json:"warnings,omitempty"`
}

// Status describes the catalog.
func (cat *Catalog) Status() (st Status) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	problem, failure := cat.folder.Faults()
	for _, p := range []string{problem, failure} {
		if p != "" {
			st.Problems = append(st.Problems, p)
		}
	}
	if lost := cat.lost(); len(lost) > 0 {
		st.Problems = append(st.Problems, describeLost(lost))
	}
	st.Pending = cat.pending()
	for _, name := range slices.Sorted(maps.Keys(cat.servers)) {
		st.Servers = append(st.Servers, cat.servers[name].status(name))
	}
	return st
}

func (sv *server) status(name string) ServerStatus {
	part := ServerStatus{Name: name, Listed: sv.listed, Warnings: slices.Clone(sv.warnings)}
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
