// Package analysis turns text into the terms that a lexical index counts. A
// query and a tool go through the same code, so that they meet.
//
// Text is NFKC-normalised and case-folded; everything but letters, marks and
// digits separates. An identifier is a run of letters, marks, digits and
// underscores; it is split at underscores, at camel humps and at letter/digit
// borders. Its parts are terms; when there are two or more of them the parts
// run together ("getpullrequest") are an extra term, which meets other
// spellings of the same name ("GitHub", "github") but counts in no length. Words
// in Latin script lose stop words and are reduced to Porter2 stems. Han,
// Hiragana, Katakana and Hangul give bigrams, a single character itself.
//
// Input is bounded: see [MaxBytes] and [MaxTerm]. Accents are kept, and stems
// are English ones whatever the language.
package analysis

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Version changes when the terms of any text change, so that stored terms of
// another version are made anew.
const Version = 1

const (
	// MaxBytes is how much of a text is analysed, in bytes.
	MaxBytes = 32 << 10
	// MaxTerm is how much of a word is kept, in bytes.
	MaxTerm = 128
)

// maxStems bounds the memory of an Analyzer's stem cache. Tool descriptions
// of a large catalog use some 40,000 words, of which few make up most text.
const maxStems = 16 << 10

//go:embed stopwords.txt
var stopText string

var stopWords = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(stopText) {
		m[w] = true
	}
	return m
})

// A Token is one term of a text.
type Token struct {
	Text   string
	Extra  bool   // a whole identifier beside its parts: counts in no length
	Source string // the part of the normalised text that the term was made of; "" when extra
}

// An Analyzer keeps the scratch space of analysis. The zero value is ready
// for use, by one goroutine at a time.
type Analyzer struct {
	stems  map[string]string // word to term; "" for a stop word
	fold   cases.Caser
	ready  bool
	out    []Token
	parts  []string
	joined []byte
}

// Tokens returns the terms of text in order. They are valid until the next
// call.
func (a *Analyzer) Tokens(text string) []Token {
	if !a.ready {
		a.stems, a.fold, a.ready = map[string]string{}, cases.Fold(), true
	}
	a.out = a.out[:0]
	text = Normalize(Bound(text, MaxBytes))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch c := classOf(r); c {
		case separator, joiner, mark:
			i += n
		case ideograph:
			i += a.bigrams(text[i:])
		default:
			i += a.identifier(text[i:])
		}
	}
	return a.out
}

// Bound cuts s to at most n bytes at a rune's border.
func Bound(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Normalize is NFKC.
func Normalize(s string) string {
	if isASCII(s) {
		return s
	}
	return norm.NFKC.String(s)
}

// Fold is NFKC and case folding, as description filters compare.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// class is what analysis sees in a rune.
type class uint8

const (
	separator class = iota
	joiner          // binds the parts of an identifier: the underscore
	lower
	upper
	caseless // a letter without case
	digit
	mark
	ideograph // Han, Hiragana, Katakana, Hangul
)

func (c class) letter() bool { return c == lower || c == upper || c == caseless }

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return asciiClass[r]
	case isIdeograph(r):
		return ideograph
	case unicode.IsLower(r):
		return lower
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return upper
	case unicode.IsLetter(r):
		return caseless
	case unicode.IsDigit(r):
		return digit
	case unicode.IsMark(r):
		return mark
	}
	return separator
}

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = lower
		case 'A' <= c && c <= 'Z':
			t[c] = upper
		case '0' <= c && c <= '9':
			t[c] = digit
		case c == '_':
			t[c] = joiner
		}
	}
	return t
}()

// isIdeograph counts the marks that lengthen or repeat kana as kana, though
// Unicode gives them no script.
func isIdeograph(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return r == 0x30fc || 0x3031 <= r && r <= 0x3035 ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) &&
			unicode.In(r, unicode.Letter, unicode.Number)
}

// bigrams takes the run of ideographs that s begins with and returns its
// length. Marks stay with the character before them.
func (a *Analyzer) bigrams(s string) int {
	prev, cur, end, units := 0, 0, 0, 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		c := classOf(r)
		if c != ideograph && c != mark {
			break
		}
		if c == ideograph {
			if units >= 2 {
				a.emit(s[prev:end], s[prev:end])
			}
			prev, cur = cur, end
			units++
		}
		end += n
	}
	if units == 1 {
		prev = cur
	}
	a.emit(s[prev:end], s[prev:end])
	return end
}

// emit adds a term that was made of a source; one without is extra.
func (a *Analyzer) emit(term, source string) {
	if term != "" {
		a.out = append(a.out, Token{Text: Bound(term, MaxTerm), Extra: source == "", Source: source})
	}
}

// identifier takes the identifier that s begins with and returns its length.
func (a *Analyzer) identifier(s string) int {
	end := a.split(s)
	for _, p := range a.parts {
		a.emit(a.term(p), p)
	}
	if len(a.parts) > 1 {
		a.joined = a.joined[:0]
		for _, p := range a.parts {
			a.joined = append(a.joined, p...)
		}
		if len(a.joined) <= MaxTerm {
			a.emit(a.whole(string(a.joined)), "")
		}
	}
	return end
}

// split fills a.parts with the parts of the identifier that s begins with
// and returns its length.
func (a *Analyzer) split(s string) int {
	a.parts = a.parts[:0]
	start, end := 0, 0
	prev := separator
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		c := classOf(r)
		if c == separator || c == ideograph {
			break
		}
		switch {
		case c == joiner:
			a.part(s[start:end])
			start, prev = end+n, separator
		case border(prev, c, s[end+n:]):
			a.part(s[start:end])
			start, prev = end, c
		case c != mark:
			prev = c
		}
		end += n
	}
	if start < end {
		a.part(s[start:end])
	}
	return end
}

func (a *Analyzer) part(s string) {
	for _, r := range s {
		if c := classOf(r); c.letter() || c == digit {
			a.parts = append(a.parts, s)
			return
		}
	}
}

// border says whether a part ends between a rune of class prev and one of
// class c that rest follows.
func border(prev, c class, rest string) bool {
	switch {
	case prev == separator || c == mark:
		return false
	case (prev == digit) != (c == digit):
		return true
	case c != upper:
		return false
	case prev == lower:
		return true
	}
	return prev == upper && humpFollows(rest)
}

// humpFollows says whether rest continues an upper-case letter as a
// capitalised word ("S|erver"), rather than as a plural ("URL|s").
func humpFollows(rest string) bool {
	r, n := utf8.DecodeRuneInString(rest)
	if classOf(r) != lower {
		return false
	}
	if r != 's' {
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest[n:])
	return classOf(next) == lower
}

// term is the term of one part: "" for a stop word.
func (a *Analyzer) term(part string) string {
	return a.reduce(part, true)
}

// whole is the term of a whole identifier, which is no stop word.
func (a *Analyzer) whole(joined string) string {
	return a.reduce(joined, false)
}

func (a *Analyzer) reduce(word string, stop bool) string {
	word = a.lower(Bound(word, MaxTerm))
	if t, ok := a.stems[word]; ok && (stop || t != "") {
		return t
	}
	t := word
	switch {
	case stop && stopWords()[word]:
		t = ""
	case isLatin(word):
		t = stem(word)
	}
	if len(a.stems) >= maxStems {
		clear(a.stems)
	}
	if stop {
		a.stems[strings.Clone(word)] = strings.Clone(t)
	}
	return t
}

func (a *Analyzer) lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFKC.String(a.fold.String(s))
}

// isLatin says whether all letters of word are of the Latin script and there
// is at least one.
func isLatin(word string) bool {
	latin := false
	for _, r := range word {
		switch {
		case 'a' <= r && r <= 'z':
			latin = true
		case r < utf8.RuneSelf || !unicode.IsLetter(r):
		case unicode.Is(unicode.Latin, r):
			latin = true
		default:
			return false
		}
	}
	return latin
}

func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}
