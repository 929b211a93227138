package snapshot

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
func (s *Snapshot) allowed(f *Filter) (*bitset.BitSet, int) {
	if f.empty() {
		return nil, len(s.docs)
	}
	n := uint(len(s.docs))
	sel := selection{s, bitset.New(n)}
	if seen := seenBy(s, f.Scope); seen == nil {
		sel.set.FlipRange(0, n)
	} else {
		seen.Copy(sel.set)
	}
	sel.keepLabels(byTag, f.Tags)
	sel.keepLabels(byServer, f.Servers)
	sel.keepLabels(byCategory, f.Categories)
	sel.keepLabels(byVisibility, f.Visibility)
	sel.keepLabels(byTeam, f.Teams)
	if i := f.integration(); i != "" {
		sel.keepLabels(byIntegration, []string{i})
	}
	if len(f.ExcludeTags) > 0 {
		sel.set.InPlaceDifference(s.labelled(byTag, f.ExcludeTags))
	}
	if f.HasExamples {
		sel.keep(func(doc uint) bool { return len(s.docs[doc].Tool.Examples) > 0 })
	}
	sel.keepMatching(f)
	return sel.set, int(sel.set.Count())
}

// A selection is a set of documents that conditions make smaller.
type selection struct {
	s   *Snapshot
	set *bitset.BitSet
}

// keepMatching applies the texts, last: they are the dear ones.
func (sel selection) keepMatching(f *Filter) {
	if f.DescriptionContains != "" {
		descriptions, text := sel.s.descriptions(), analysis.Fold(f.DescriptionContains)
		sel.keep(func(doc uint) bool { return strings.Contains(descriptions[doc], text) })
	}
	if f.NamePattern != nil {
		sel.keepParallel(func(doc uint) bool { return f.NamePattern.MatchString(sel.s.docs[doc].Tool.Name) })
	}
}

// keepLabels keeps the documents that have any of the labels; no labels keep
// all.
func (sel selection) keepLabels(f facet, labels []string) {
	if len(labels) > 0 {
		sel.set.InPlaceIntersection(sel.s.labelled(f, labels))
	}
}

func (s *Snapshot) labelled(f facet, labels []string) *bitset.BitSet {
	set := bitset.New(uint(len(s.docs)))
	for _, l := range labels {
		for _, d := range s.facets[f]().of(l) {
			set.Set(uint(d))
		}
	}
	return set
}

func (sel selection) keep(ok func(doc uint) bool) {
	sel.keepRange(0, uint(len(sel.s.docs)), ok)
}

func (sel selection) keepRange(from, to uint, ok func(doc uint) bool) {
	for i, found := sel.set.NextSet(from); found && i < to; i, found = sel.set.NextSet(i + 1) {
		if !ok(i) {
			sel.set.Clear(i)
		}
	}
}

// keepParallel is keep over parts of whole words of the bitmap, so that no two
// goroutines write the same one.
func (sel selection) keepParallel(ok func(doc uint) bool) {
	n := uint(len(sel.s.docs))
	parts := uint(min(maxParallel, runtime.GOMAXPROCS(0)))
	if n < parallelFrom || parts < 2 {
		sel.keep(ok)
		return
	}
	size := (n/parts/64 + 1) * 64
	var wg sync.WaitGroup
	for from := uint(0); from < n; from += size {
		wg.Go(func() { sel.keepRange(from, min(from+size, n), ok) })
	}
	wg.Wait()
}
