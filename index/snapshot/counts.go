package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/analysis"
)

// Categories counts the allowed tools by category ("Other" last), tag and
// server; the most frequent first, ties by name.
func (s *Snapshot) Categories(f Filter) (categories, tags, servers []CategoryCount, total int) {
	set, total := s.allowed(&f)
	byKind := [3]counter{{}, {}, {}}
	for i, d := range s.docs {
		if set != nil && !set.Test(uint(i)) {
			continue
		}
		byKind[0].add(d.Category)
		for _, t := range d.Tool.Tags {
			byKind[1].add(t)
		}
		if d.Tool.Server != "" {
			byKind[2].add(d.Tool.Server)
		}
	}
	categories = byKind[0].sorted()
	for i := range categories {
		categories[i].Description = describeCategory(categories[i].Name)
	}
	return categories, byKind[1].sorted(), byKind[2].sorted(), total
}

func describeCategory(name string) string {
	for _, d := range descriptors {
		if strings.EqualFold(d.name, name) {
			return d.description
		}
	}
	return ""
}

// A counter counts labels without case, under the spelling that sorts first.
type counter map[string]*CategoryCount

func (c counter) add(label string) {
	key := analysis.Fold(label)
	if key == "" {
		return
	}
	n := c[key]
	if n == nil {
		n = &CategoryCount{Name: label}
		c[key] = n
	}
	n.Name = min(n.Name, label)
	n.Count++
}

func (c counter) sorted() []CategoryCount {
	out := make([]CategoryCount, 0, len(c))
	for _, n := range c {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b CategoryCount) int {
		if other := a.Name == otherCategory; other != (b.Name == otherCategory) {
			if other {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	return out
}
