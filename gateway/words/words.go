// Package words makes texts for models and people: names and descriptions cut
// to bounds, and the nearest of some names. What servers say of themselves is
// cut wherever somebody gets to read it unasked, as one of them could fill a
// context or a screen.
package words

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Bounds of what servers say, in characters.
const (
	MaxName        = 128 // of a tool; longer ones are called by id
	MaxServer      = 64
	MaxLabel       = 64  // a tag, category or team
	MaxReason      = 300 // why something is so
	MaxDescription = 300 // of a tool or server among others

	MaxLabels    = 32        // labels of one tool
	MaxDescribed = 256 << 10 // bytes of a tool's own words where it is described
)

// Cut shortens s to most characters, marked "…".
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end, n := 0, 0
	for i := range s {
		if n == most-1 {
			end = i
		}
		if n++; n > most {
			return s[:end] + "…"
		}
	}
	return s
}

// CutAll cuts each of at most n values.
func CutAll(values []string, most, n int) []string {
	values = values[:min(len(values), n)]
	for i, v := range values {
		if len(v) > most {
			out := append([]string(nil), values[:i]...)
			for _, v := range values[i:] {
				out = append(out, Cut(v, most))
			}
			return out
		}
	}
	return values
}

// ToolName is a tool's qualified name, cut.
func ToolName(server, name string) string {
	name = Cut(name, MaxName)
	if server == "" {
		return name
	}
	return Cut(server, MaxServer) + "/" + name
}

// Excerpt keeps messages readable when a name that a caller gave is not.
func Excerpt(s string) string { return Cut(s, 201) }

// Value shows the start of a JSON value.
func Value(raw json.RawMessage) string {
	return Cut(string(raw[:min(len(raw), 400)]), 60)
}

// Article puts the article before a kind of JSON value.
func Article(kind string) string {
	switch kind {
	case "object", "array":
		return "an " + kind
	case "null", "":
		return "nothing"
	}
	return "a " + kind
}

// OfServer is a text about a server with its name before it, unless it begins
// with that.
func OfServer(server, text string) string {
	if name := "server " + server; !strings.HasPrefix(text, name+" ") {
		return name + ": " + text
	}
	return text
}

// Join lists names.
func Join(names []string) string { return strings.Join(names, ", ") }

const (
	// maxCompared bounds the names that are compared, in bytes: edit distance
	// is quadratic. maxCandidates bounds how many.
	maxCompared   = 100
	maxCandidates = 500
)

// DidYouMean is `; did you mean "x"?` for the candidate nearest to name, or
// nothing when none is near: at most half of name differs, or one contains
// the other and is no mere letter or two.
func DidYouMean(name string, candidates []string) string {
	if name == "" || len(name) > maxCompared {
		return ""
	}
	best, least := "", 0
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		if len(c) > maxCompared {
			continue
		}
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c))
		near := d <= len(name)/2 || min(len(c), len(name)) > 2 && (strings.Contains(c, name) || strings.Contains(name, c))
		if near && (best == "" || d < least) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// lineBreaks are line ends with the indentation around them.
var lineBreaks = regexp.MustCompile(`[ \t\r]*\n\s*`)

// Shorten cuts s at a sentence's end within most characters, marked "…";
// without one at a line's end, else at a word's. Indentation and empty lines
// go in any case.
func Shorten(s string, most int) string {
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
