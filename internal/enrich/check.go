package enrich

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/phrase"
)

// fewest phrases that a tool gets: a model that writes fewer that pass has not
// understood what it was asked for.
const fewest = 3

// mostOfKind is how many phrases of a kind are taken.
const mostOfKind = 2

var (
	link        = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://|\bwww\.|\]\(|\bmailto:`)
	markup      = regexp.MustCompile("[<>{}`|]|\\*\\*|\\[/?[A-Z]+\\]")
	instruction = regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.*\b(instructions?|prompts?|rules?|above|previous|everything)\b` +
		`|\b(system|developer) (prompt|message)\b|\byou (must|should|are|will)\b|\byour (instructions?|task is)\b` +
		`|\b(always|never|only|must) (use|call|choose|pick|prefer|select|invoke)\b|\b(use|call|choose|pick|prefer|select|invoke) (this|the) tools?\b` +
		`|\bbest tool\b|\bthis tool\b|\binstead of (any|all|every) other\b|\bas an? (ai|assistant|language model)\b`)
)

// described is a description without the sentences that instruct whoever reads
// it: the model does not see them, and what a phrase has in common with them
// does not relate it to the tool.
func described(description string) string {
	sentences := strings.FieldsFunc(description, func(r rune) bool { return strings.ContainsRune(".!?\n。", r) })
	var kept []string
	for _, s := range sentences {
		if !instruction.MatchString(s) {
			kept = append(kept, strings.TrimSpace(s))
		}
	}
	return strings.Join(kept, ". ")
}

// check keeps the phrases that may be stored, and says why each other one may
// not.
func check(t Tool, said []phrase.Phrase, names map[string]bool) (good []phrase.Phrase, refused []string) {
	c := checker{tool: t, names: names, text: " " + key(t.Description) + " ", seen: map[string]bool{}, kinds: map[string]int{}}
	c.own = stems(t.Server + " " + t.Name + " " + t.Title + " " + described(t.Description) + " " + strings.Join(t.Parameters, " "))
	for _, p := range said {
		text, err := phrase.Clean(p.Text)
		if err != nil {
			refused = append(refused, strings.TrimPrefix(err.Error(), "it "))
			continue
		}
		if why := c.refuse(p.Kind, text); why != "" {
			refused = append(refused, why)
			continue
		}
		good = append(good, phrase.Phrase{Kind: p.Kind, Text: text})
	}
	if len(good) > 0 && !c.related(good) {
		for range good {
			refused = append(refused, "has nothing to do with the tool")
		}
		return nil, refused
	}
	return good, refused
}

type checker struct {
	tool  Tool
	names map[string]bool // of other tools, and this one's
	text  string          // the description's words
	own   map[string]bool // stems of the tool's text
	seen  map[string]bool // phrases so far
	kinds map[string]int
}

// refuse says why a clean text is no phrase of the tool; "" if it is one.
func (c *checker) refuse(kind, text string) string {
	k := key(text)
	switch {
	case link.MatchString(text):
		return "has a link"
	case markup.MatchString(text):
		return "has markup"
	case instruction.MatchString(text):
		return "is an instruction"
	case c.namesOther(text):
		return "names another tool"
	case k == key(c.tool.Name) || k == key(c.tool.Title):
		return "is the tool's name"
	case strings.Count(k, " ") >= 3 && strings.Contains(c.text, " "+k+" "):
		return "is copied from the description"
	case nonsense(text):
		return "is no phrase"
	case c.seen[k]:
		return "is said twice"
	case c.kinds[kind] >= mostOfKind:
		return "is one too many of its kind"
	}
	c.seen[k] = true
	c.kinds[kind]++
	return ""
}

// key is a text's words, as they are compared.
func key(text string) string {
	return strings.Join(strings.FieldsFunc(analysis.Fold(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	}), " ")
}

// nonsense is a text that nobody says: too few words, or the same one again
// and again, or hardly a letter in it.
func nonsense(text string) bool {
	letters, all, wide := 0, 0, 0
	for _, r := range text {
		if unicode.IsSpace(r) {
			continue
		}
		all++
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			letters++
		}
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
			wide++
		}
	}
	words := strings.Fields(key(text))
	count, most := map[string]int{}, 0
	for _, w := range words {
		count[w]++
		most = max(most, count[w])
	}
	few := len(words) < 2 && wide < 3
	return few || 3*letters < 2*all || most > 2 && 2*most >= len(words)
}

// namesOther says whether a word of the text is the name of another tool: of
// one that has parts, since "search" is also a word.
func (c *checker) namesOther(text string) bool {
	for _, w := range strings.Fields(text) {
		w = strings.ToLower(strings.Trim(w, ".,;:!?\"'()[]"))
		if c.names[w] && w != strings.ToLower(c.tool.Name) && w != strings.ToLower(c.tool.QualifiedName()) {
			return true
		}
	}
	return false
}

// namesOf are the names that a phrase must not have, in lower case.
func namesOf(all []string) map[string]bool {
	names := map[string]bool{}
	for _, n := range all {
		if strings.ContainsAny(n, "_-/.") || strings.IndexFunc(n, unicode.IsUpper) > 0 {
			names[strings.ToLower(n)] = true
		}
	}
	return names
}

// related says whether any phrase shares a word with the tool's own text: what
// a model writes that has not read it does not. A text whose script is not the
// phrases' cannot be compared.
func (c *checker) related(good []phrase.Phrase) bool {
	compared := false
	for _, p := range good {
		for s := range stems(p.Text) {
			compared = compared || s[0] < 0x80
			if c.own[s] {
				return true
			}
		}
	}
	return !compared || len(c.own) == 0
}

func stems(text string) map[string]bool {
	out := map[string]bool{}
	for _, tok := range new(analysis.Analyzer).Tokens(text) {
		if len(tok.Text) > 2 {
			out[tok.Text] = true
		}
	}
	return out
}
