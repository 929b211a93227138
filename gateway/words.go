package gateway

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// didYouMean is `; did you mean "x"?` for the candidate nearest to name, or
// nothing when none is near: at most half of name differs, or one contains
// the other.
func didYouMean(name string, candidates []string) string {
	if name == "" {
		return ""
	}
	best, least := "", 0
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c))
		near := d <= len(name)/2 || strings.Contains(c, name) || strings.Contains(name, c)
		if near && (best == "" || d < least) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

func join(names []string) string { return strings.Join(names, ", ") }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// shortened cuts s at a sentence's end within most characters, marked "…";
// without one at a word's end.
func shortened(s string, most int) string {
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	room := string([]rune(s)[:most-1])
	if cut := sentenceEnd(room); cut > 0 {
		return strings.TrimSpace(room[:cut]) + "…"
	}
	if cut := strings.LastIndexAny(room, " \t\n"); cut > 0 {
		room = room[:cut]
	}
	return strings.TrimRight(room, " \t\n,;:") + "…"
}

// sentenceEnd is the byte after the last sentence's end in s, 0 without one.
func sentenceEnd(s string) int {
	cut := 0
	for i, r := range s {
		next := i + utf8.RuneLen(r)
		switch r {
		case '.', '!', '?':
			if next < len(s) && (s[next] == ' ' || s[next] == '\n' || s[next] == '\t') {
				cut = next
			}
		case '\n', '。', '！', '？':
			cut = next
		}
	}
	return cut
}
