package gateway

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

const (
	// maxCompared bounds the names that are compared, in bytes: edit distance
	// is quadratic. maxCandidates bounds how many.
	maxCompared   = 100
	maxCandidates = 500
)

// didYouMean is `; did you mean "x"?` for the candidate nearest to name, or
// nothing when none is near: at most half of name differs, or one contains
// the other.
func didYouMean(name string, candidates []string) string {
	if name == "" || len(name) > maxCompared {
		return ""
	}
	best, least := "", 0
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		if len(c) > maxCompared {
			continue
		}
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

// lineBreaks are line ends with the indentation around them.
var lineBreaks = regexp.MustCompile(`[ \t\r]*\n\s*`)

// shortened cuts s at a sentence's end within most characters, marked "…";
// without one at a line's end, else at a word's. Indentation and empty lines
// go in any case.
func shortened(s string, most int) string {
	s = s[:min(len(s), 64*most)] // what lies behind is never shown
	s = lineBreaks.ReplaceAllString(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	room := string([]rune(s)[:most-1])
	if cut := sentenceEnd(room); cut > 0 {
		return room[:cut] + "…"
	}
	if cut := max(strings.LastIndexByte(room, '\n'), strings.LastIndexByte(room, ' ')); cut > 0 {
		room = room[:cut]
	}
	return strings.TrimRight(room, " \n,;:") + "…"
}

// sentenceEnd is the byte after the last sentence's end in s, 0 without one.
func sentenceEnd(s string) int {
	cut := 0
	for i, r := range s {
		switch r {
		case '.', '!', '?':
			if i+1 < len(s) && (s[i+1] == ' ' || s[i+1] == '\n') && !abbreviates(s[:i]) {
				cut = i + 1
			}
		case '。', '！', '？':
			cut = i + utf8.RuneLen(r)
		}
	}
	return cut
}

// abbreviates says that the full stop after s ends no sentence.
func abbreviates(s string) bool {
	return strings.HasSuffix(s, "e.g") || strings.HasSuffix(s, "i.e") || strings.HasSuffix(s, "etc")
}
