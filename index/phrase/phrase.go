// Package phrase is what people say when they need a tool: texts with the
// source that each comes from.
//
// A tool may have many phrases. Those that count in its ranking are at most
// [Most], each of at most [MaxBytes], in the order of their sources, so that
// no server gains by length and what an operator wrote comes first. Which
// they are is [Counted]'s answer.
package phrase

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tooldex/tooldex/index/analysis"
)

// Version changes when other phrases count of the same ones, or other texts of
// theirs, or their words otherwise.
const Version = 2

const (
	// Most is how many phrases of a tool count.
	Most = 12
	// MaxBytes is the length of a phrase in bytes of UTF-8.
	MaxBytes = 120
	// MostStored is how many phrases of one source are kept of a tool.
	MostStored = 20
)

// A Source is where a phrase comes from.
type Source string

// The sources, in the order in which they count.
const (
	Config Source = "config" // the operator wrote it in the configuration
	Pack   Source = "pack"   // it came with the binary or a file that the configuration names
	Model  Source = "model"  // a chat model was asked
	Import Source = "import" // phrases import or phrases add
	Use    Source = "use"    // somebody searched with it and executed the tool
)

// Sources are all sources in the order in which they count.
func Sources() []Source { return []Source{Config, Pack, Model, Import, Use} }

// Stored says whether phrases of the source are kept in the state folder. The
// others are there as long as the configuration and the binary say so.
func (s Source) Stored() bool { return s == Model || s == Import || s == Use }

// ParseSource reads the name of a source.
func ParseSource(name string) (Source, error) {
	if s := Source(name); slices.Contains(Sources(), s) {
		return s, nil
	}
	return "", fmt.Errorf("unknown source %q: use one of %q", name, Sources())
}

// Kinds are the kinds of phrases that packs and models tell apart; a phrase
// without one has "".
//
//	can    the capability in other words
//	ask    what somebody says who needs it
//	ask2   what somebody else says
//	goal   what it is a step of
//	words  synonyms, formats and brands that the tool's text lacks
//	local  one of these in another language
var Kinds = []string{"can", "ask", "ask2", "goal", "words", "local"}

// A Phrase is one thing that people say when they need a tool.
type Phrase struct {
	Text   string    `json:"text"`
	Kind   string    `json:"kind,omitempty"` // one of Kinds
	Source Source    `json:"source"`
	Time   time.Time `json:"time,omitzero"`   // when it was written, or last confirmed by use
	Count  int       `json:"count,omitempty"` // how many uses confirmed it
	Model  string    `json:"model,omitempty"` // that wrote it
	Of     string    `json:"of,omitempty"`    // hash of the tool's text for which it was written; "" for any
	Stale  bool      `json:"stale,omitempty"` // the tool's text is another one by now
	By     []string  `json:"by,omitempty"`    // hashes of those whose use confirmed it
	Waits  bool      `json:"waits,omitempty"` // too few have confirmed it: it does not count
}

// Why a text is no phrase.
var (
	errEmpty   = errors.New("it is empty")
	errInvalid = errors.New("it is not UTF-8")
	errControl = errors.New("it has control characters")
	errLong    = fmt.Errorf("it is longer than %d bytes", MaxBytes)
)

// Clean returns text with its spaces normalised, or why it is no phrase.
func Clean(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errInvalid
	}
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return "", errEmpty
	case strings.ContainsFunc(text, unprintable):
		return "", errControl
	case len(text) > MaxBytes:
		return "", errLong
	}
	return text, nil
}

// unprintable are control characters and what changes a text's direction or
// hides in it, but for joiners, which scripts need.
func unprintable(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != zwnj && r != zwj
}

// Clip cuts text to MaxBytes, at a space where there is one.
func Clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= MaxBytes {
		return text
	}
	cut := MaxBytes
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	if space := strings.LastIndexByte(text[:cut+1], ' '); space > 0 {
		cut = space
	}
	return text[:cut]
}

// Key is equal for texts that are the same phrase: their case, width and
// spaces do not matter, nor does the mark at the end.
func Key(text string) string {
	words := strings.Fields(analysis.Fold(text))
	return strings.TrimRight(strings.Join(words, " "), ".!?… ")
}

// Counted are the phrases of all that count, in the order in which they do:
// none that waits, by source, those that are not stale first, then what use confirmed most,
// then the oldest. Of two that are the same phrase the first counts. The
// texts are clipped; all is not changed.
func Counted(all []Phrase) []Phrase {
	if len(all) == 0 {
		return nil
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, Compare)
	seen := make(map[string]bool, len(order))
	var counted []Phrase
	for _, p := range order {
		p.Text = Clip(p.Text)
		if k := Key(p.Text); k != "" && !p.Waits && !seen[k] && len(counted) < Most {
			seen[k] = true
			counted = append(counted, p)
		}
	}
	return counted
}

// Compare orders phrases as they count; phrases of one source and time keep
// the order in which they were given.
func Compare(a, b Phrase) int {
	return cmp.Or(
		cmp.Compare(rank(a.Source), rank(b.Source)),
		compareBool(a.Stale, b.Stale),
		cmp.Compare(b.Count, a.Count),
		a.Time.Compare(b.Time))
}

func rank(s Source) int {
	if i := slices.Index(Sources(), s); i >= 0 {
		return i
	}
	return len(Sources())
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Texts are the texts of phrases.
func Texts(all []Phrase) []string {
	if len(all) == 0 {
		return nil
	}
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.Text
	}
	return texts
}
