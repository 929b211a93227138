package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/tool"
)

// Saying is the document with the phrases of all that count. Sum is of what all
// is gathered from.
func (d *Document) Saying(all []phrase.Phrase, sum uint64, lex *bm25.Lexicon) *Document {
	c := *d
	c.PhraseSum = sum
	counted := phrase.Counted(all)
	if len(counted) == 0 && d.Terms.Lengths[fieldPhrases] == 0 && len(d.PhraseHashes) == 0 {
		return &c
	}
	c.phrases = func() []phrase.Phrase { return counted }
	c.PhraseHashes = make([][32]byte, len(counted))
	for i, p := range counted {
		c.PhraseHashes[i] = PhraseHash(p.Text)
	}
	c.Terms = d.termsWith(phrase.Texts(counted), lex)
	return &c
}

// Remember has a document that was read find its phrases in what gather
// returns, when it is asked for them: opening a catalog does not wait for
// that. Nobody
// else may hold the document yet.
func (d *Document) Remember(gather func() []phrase.Phrase) {
	d.phrases = sync.OnceValue(func() []phrase.Phrase { return phrase.Counted(gather()) })
}

// Forgotten says that the document has phrases of which it knows the hashes
// alone.
func (d *Document) Forgotten() bool { return len(d.PhraseHashes) > 0 && d.phrases == nil }

// termsWith are the document's terms with other phrases.
func (d *Document) termsWith(phrases []string, lex *bm25.Lexicon) bm25.Doc {
	an := analyzers.Get().(*analysis.Analyzer)
	defer analyzers.Put(an)
	c := d.Terms.Without(fieldPhrases)
	countPhrases(&c, an, phrases, lex)
	return c.Doc()
}

// countPhrases counts the words of a document's phrases, each once: one phrase
// that says what somebody says is as good as twelve, so that no tool gains by
// their number or by repeating words in them.
func countPhrases(c *bm25.Counter, an *analysis.Analyzer, phrases []string, lex *bm25.Lexicon) {
	seen := map[uint32]bool{}
	for _, tok := range an.Tokens(strings.Join(phrases, " \n ")) {
		if term := lex.Add(tok.Text); !seen[term] {
			seen[term] = true
			c.Add(term, fieldPhrases, tok.Extra)
		}
	}
}

// Phrases are those that count, in the order in which they do, that of
// PhraseHashes.
func (d *Document) Phrases() []phrase.Phrase {
	if d.phrases == nil {
		return nil
	}
	return d.phrases()
}

// PhraseHash is what the vector of a phrase is stored under. It is not that of
// the same text as a document: a model may read what somebody says otherwise
// than what a tool is.
func PhraseHash(text string) [32]byte { return sha256.Sum256([]byte("said\x00" + text)) }

// TextHash identifies the text of the tool, for which phrases are written.
func (d *Document) TextHash() string { return textHash(d.Embedded[tool.AsText]) }

// TextHash is that of the document of a tool.
func TextHash(t *tool.Tool) string {
	return textHash(tool.EmbeddedHashes(t, tool.ParametersOf(t.Raw))[tool.AsText])
}

func textHash(embedded [32]byte) string { return hex.EncodeToString(embedded[:8]) }

// Spoken says of the hash of a phrase whether it is of one that counts.
func (s *Snapshot) Spoken() func(hash [32]byte) bool {
	all := map[[32]byte]bool{}
	for _, d := range s.docs {
		for _, h := range d.PhraseHashes {
			all[h] = true
		}
	}
	return func(hash [32]byte) bool { return all[hash] }
}
