package phrase

import (
	"cmp"
	"slices"
	"time"
)

// useLife is how long a phrase of use is kept without being confirmed.
const useLife = 90 * 24 * time.Hour

// Merge adds phrases to those that are stored of a tool. A phrase that is
// there already, whatever its source, stays as it is; one of use that is
// there as such is confirmed: its counts add up. What one source has beyond
// MostStored goes, of use what the fewest have confirmed and then the least
// used, and of the others the stale and the oldest. Added counts the new ones. Neither slice is changed.
func Merge(stored, more []Phrase) (all []Phrase, added int) {
	all = slices.Clone(stored)
	place := make(map[string]int, len(all))
	for i, p := range all {
		place[Key(p.Text)] = i
	}
	for _, p := range more {
		k := Key(p.Text)
		i, there := place[k]
		switch {
		case k == "":
		case !there:
			place[k] = len(all)
			all = append(all, p)
			added++
		case p.Source == Use && all[i].Source == Use:
			all[i] = Confirmed(all[i], p)
		case all[i].Stale && rank(p.Source) <= rank(all[i].Source):
			all[i] = p // it is written for the tool's new text
		}
	}
	return bounded(all), added
}

// Confirmed is a phrase of use with what a further use adds to it.
func Confirmed(old, p Phrase) Phrase {
	old.Count += p.Count
	if p.Time.After(old.Time) {
		old.Time, old.Of, old.Stale = p.Time, p.Of, p.Stale
	}
	old.By = slices.Clone(old.By)
	for _, who := range p.By {
		if !slices.Contains(old.By, who) && len(old.By) < mostBy {
			old.By = append(old.By, who)
		}
	}
	return old
}

// mostBy is how many of those who confirmed a phrase are remembered: more
// than any threshold asks for.
const mostBy = 8

// bounded keeps MostStored phrases of each source.
func bounded(all []Phrase) []Phrase {
	kept := make([]Phrase, 0, len(all))
	for _, s := range Sources() {
		var of []Phrase
		for _, p := range all {
			if p.Source == s {
				of = append(of, p)
			}
		}
		if len(of) > MostStored {
			slices.SortStableFunc(of, func(a, b Phrase) int {
				return cmp.Or(compareBool(a.Stale, b.Stale), cmp.Compare(len(b.By), len(a.By)), cmp.Compare(b.Count, a.Count), b.Time.Compare(a.Time))
			})
			of = of[:MostStored]
		}
		kept = append(kept, of...)
	}
	return kept
}

// Replace is Merge that first forgets what the tool has of source: its
// phrases are made anew.
func Replace(stored []Phrase, source Source, more []Phrase) (all []Phrase, added int) {
	return Merge(slices.DeleteFunc(slices.Clone(stored), func(p Phrase) bool { return p.Source == source }), more)
}

// Expired says whether a phrase of use was not confirmed for too long.
func (p Phrase) Expired(now time.Time) bool {
	return p.Source == Use && now.Sub(p.Time) > useLife
}
