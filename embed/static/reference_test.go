package static

import (
	"regexp"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// referenceTokens is README.md's tokenising word for word, with a map,
// regular expressions and the whole text at once: the oracle of the fuzz
// test.
func referenceTokens(rows map[string]uint32, text string, limit int) (out []uint32) {
	text = cases.Lower(language.Und).String(camel(strings.ToValidUTF8(text, " ")))
	text = norm.NFC.String(strings.Map(func(r rune) rune {
		if 0x300 <= r && r <= 0x36f {
			return -1
		}
		return r
	}, norm.NFD.String(text)))
	add := func(name string) {
		if r, ok := rows[name]; ok {
			out = append(out, r)
		}
	}
	for _, w := range referencePiece.FindAllString(text, -1) {
		if len(out) >= limit {
			break
		}
		switch {
		case 'a' <= w[0] && w[0] <= 'z':
			out = append(out, referenceWord(rows, w)...)
		case len(w) == 1:
			add(w)
		case len(w) == 4 && referenceYear.MatchString(w):
			add("<year>")
		case '0' <= w[0] && w[0] <= '9':
			add("<num" + string(rune('0'+min(len(w), 4))) + ">")
		case strings.ContainsFunc(w, isCJK):
			rs := []rune(w)
			for _, r := range rs {
				add(string(r))
			}
			for i := range len(rs) - 1 {
				add(string(rs[i : i+2]))
			}
		default:
			add(w)
		}
	}
	return out
}

var referencePiece = regexp.MustCompile(`[a-z]+|[0-9]+|(?:[^\P{L}a-z]|\p{Nl}|\p{No})+`)

var (
	referenceYear  = regexp.MustCompile(`^(19|20)[0-9][0-9]$`)
	referenceHump  = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	referenceShout = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// camel is the two lookarounds of the rule, which RE2 has not: a hump's
// second letter may begin the next, hence twice.
func camel(s string) string {
	for range 2 {
		s = referenceHump.ReplaceAllString(s, "$1 $2")
		s = referenceShout.ReplaceAllString(s, "$1 $2")
	}
	return s
}

func referenceWord(rows map[string]uint32, w string) (out []uint32) {
	for mark := ""; w != ""; mark = contMark {
		n := len(w)
		for ; n > 0; n-- {
			if r, ok := rows[mark+w[:n]]; ok {
				out = append(out, r)
				break
			}
		}
		if n == 0 {
			return nil
		}
		w = w[n:]
	}
	return out
}
