package index

import (
	"runtime"
	"strings"
	"sync"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/analysis"
)

const (
	// parallelFrom is the number of documents from which a pattern is matched
	// by several goroutines; below, waking them costs as much as it saves.
	parallelFrom = 2000
	maxParallel  = 4 // other searches want the cores too
)

// empty says whether the filter allows everything.
func (f *Filter) empty() bool {
	return len(f.Tags)+len(f.ExcludeTags)+len(f.Servers)+len(f.Categories)+len(f.Visibility)+len(f.Teams) == 0 &&
		f.integration() == "" && f.NamePattern == nil && f.DescriptionContains == "" && !f.HasExamples && f.Scope == nil
}

func (f *Filter) integration() string {
	if strings.EqualFold(f.Integration, "any") {
		return ""
	}
	return f.Integration
}

// allowed is the bitmap of the documents that pass f, and their number. A nil
// bitmap allows all.
func (s *snapshot) allowed(f *Filter) (*bitset.BitSet, int) {
	if f.empty() {
		return nil, len(s.docs)
	}
	set := s.all()
	s.keepLabels(set, byTag, f.Tags)
	s.keepLabels(set, byServer, f.Servers)
	s.keepLabels(set, byCategory, f.Categories)
	s.keepLabels(set, byVisibility, f.Visibility)
	s.keepLabels(set, byTeam, f.Teams)
	if i := f.integration(); i != "" {
		s.keepLabels(set, byIntegration, []string{i})
	}
	if len(f.ExcludeTags) > 0 {
		set.InPlaceDifference(s.labelled(byTag, f.ExcludeTags))
	}
	if f.HasExamples {
		s.keep(set, func(doc uint) bool { return len(s.docs[doc].tool.Examples) > 0 })
	}
	if f.Scope != nil {
		s.keep(set, func(doc uint) bool { return f.Scope(&s.docs[doc].tool) })
	}
	s.keepMatching(set, f)
	return set, int(set.Count())
}

// keepMatching applies the texts, last: they are the dear ones.
func (s *snapshot) keepMatching(set *bitset.BitSet, f *Filter) {
	if f.DescriptionContains != "" {
		descriptions, text := s.descriptions(), analysis.Fold(f.DescriptionContains)
		s.keep(set, func(doc uint) bool { return strings.Contains(descriptions[doc], text) })
	}
	if f.NamePattern != nil {
		s.keepParallel(set, func(doc uint) bool { return f.NamePattern.MatchString(s.docs[doc].tool.Name) })
	}
}

// keepLabels keeps the documents that have any of the labels; no labels keep
// all.
func (s *snapshot) keepLabels(set *bitset.BitSet, f facet, labels []string) {
	if len(labels) > 0 {
		set.InPlaceIntersection(s.labelled(f, labels))
	}
}

func (s *snapshot) labelled(f facet, labels []string) *bitset.BitSet {
	set := bitset.New(uint(len(s.docs)))
	for _, l := range labels {
		for _, d := range s.facets[f]().of(l) {
			set.Set(uint(d))
		}
	}
	return set
}

func (s *snapshot) keep(set *bitset.BitSet, ok func(doc uint) bool) {
	s.keepRange(set, 0, uint(len(s.docs)), ok)
}

func (s *snapshot) keepRange(set *bitset.BitSet, from, to uint, ok func(doc uint) bool) {
	for i, found := set.NextSet(from); found && i < to; i, found = set.NextSet(i + 1) {
		if !ok(i) {
			set.Clear(i)
		}
	}
}

// keepParallel is keep over parts of whole words of the bitmap, so that no two
// goroutines write the same one.
func (s *snapshot) keepParallel(set *bitset.BitSet, ok func(doc uint) bool) {
	n := uint(len(s.docs))
	parts := uint(min(maxParallel, runtime.GOMAXPROCS(0)))
	if n < parallelFrom || parts < 2 {
		s.keep(set, ok)
		return
	}
	size := (n/parts/64 + 1) * 64
	var wg sync.WaitGroup
	for from := uint(0); from < n; from += size {
		wg.Go(func() { s.keepRange(set, from, min(from+size, n), ok) })
	}
	wg.Wait()
}
