package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/group"
)

// A facet is a kind of label that filters match whole and without case.
type facet uint8

const (
	byTag facet = iota
	byServer
	byCategory
	byVisibility
	byTeam
	byIntegration
	facets // how many there are
)

// labels are a document's of one facet. The result may be kept in one, which
// has room for one label.
func (d *Document) labels(f facet, one *[1]string) []string {
	switch f {
	case byTag:
		return d.Tool.Tags
	case byTeam:
		return d.Tool.Teams
	case byServer:
		one[0] = d.Tool.Server
	case byCategory:
		one[0] = d.Category
	case byVisibility:
		one[0] = cmp.Or(d.Tool.Visibility, "public")
	case byIntegration:
		one[0] = cmp.Or(d.Tool.Integration, "MCP")
	}
	return one[:]
}

func foldLabel(label string) string { return analysis.Fold(strings.TrimSpace(label)) }

// A grouping lists documents by the labels of one facet.
type grouping struct {
	number map[string]uint32 // of a folded label
	groups [][]uint32        // documents by label number
}

func (g *grouping) of(label string) []uint32 {
	if n, ok := g.number[foldLabel(label)]; ok {
		return g.groups[n]
	}
	return nil
}

func groupBy(docs []*Document, f facet) *grouping {
	g := &grouping{number: map[string]uint32{}}
	written := map[string]uint32{} // numbers of labels that are not folded: folding is dear
	members, numbers := make([]uint32, 0, len(docs)), make([]uint32, 0, len(docs))
	var one [1]string
	for i, d := range docs {
		for _, label := range d.labels(f, &one) {
			n, ok := written[label]
			if !ok {
				n = group.Number(g.number, foldLabel(label))
				written[label] = n
			}
			members, numbers = append(members, uint32(i)), append(numbers, n)
		}
	}
	g.groups = group.By(members, numbers, len(g.number))
	return g
}

// numberServers numbers servers in order of their names, and after them each
// tool without a server.
func (s *Snapshot) numberServers() {
	met := map[string]uint32{} // numbers in the order in which they are met
	s.server = make([]uint32, len(s.docs))
	for i, d := range s.docs {
		s.server[i] = group.Number(met, d.Tool.Server)
	}
	s.servers = make([]string, 0, len(met))
	for name := range met {
		if name != "" {
			s.servers = append(s.servers, name)
		}
	}
	slices.Sort(s.servers)
	const unnamed = ^uint32(0)
	sorted := make([]uint32, len(met))
	if n, ok := met[""]; ok {
		s.unnamed, sorted[n] = true, unnamed
	}
	for i, name := range s.servers {
		sorted[met[name]] = uint32(i)
	}
	next := uint32(len(s.servers))
	members := make([]uint32, len(s.docs))
	for i, n := range s.server {
		members[i] = uint32(i)
		if s.server[i] = sorted[n]; s.server[i] == unnamed {
			s.server[i] = next
			next++
		}
	}
	s.tools = group.By(members, s.server, len(s.servers))
}
