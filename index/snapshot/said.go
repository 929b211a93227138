package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/tool"
)

// said is what people say when they need a tool, as far as it counts.
type said struct {
	phrases []phrase.Phrase
	terms   bm25.Doc   // the document's, with those of the phrases
	hashes  [][32]byte // of the phrases, for their vectors
}

// Saying is the document with the phrases of all that count, of which those
// of its configuration are in its terms already. Edit is which edit of the
// phrases this is.
func (d *Document) Saying(all []phrase.Phrase, edit uint64, lex *bm25.Lexicon) *Document {
	c := *d
	c.said, c.Phrased = nil, edit
	counted := phrase.Counted(all)
	if len(counted) == 0 {
		return &c
	}
	s := &said{phrases: counted, terms: d.Terms, hashes: make([][32]byte, len(counted))}
	for i, p := range counted {
		s.hashes[i] = PhraseHash(p.Text)
	}
	if slices.ContainsFunc(counted, func(p phrase.Phrase) bool { return p.Source != phrase.Config }) {
		s.terms = d.termsWith(phrase.Texts(counted), lex)
	}
	c.said = s
	return &c
}

// termsWith are the document's terms with other phrases than its own.
func (d *Document) termsWith(phrases []string, lex *bm25.Lexicon) bm25.Doc {
	an := analyzers.Get().(*analysis.Analyzer)
	defer analyzers.Put(an)
	c := d.Terms.Without(fieldPhrases)
	for _, tok := range an.Tokens(joinPhrases(phrases)) {
		c.Add(lex.Add(tok.Text), fieldPhrases, tok.Extra)
	}
	return c.Doc()
}

// Searched are the document's terms with those of its phrases.
func (d *Document) Searched() *bm25.Doc {
	if d.said != nil {
		return &d.said.terms
	}
	return &d.Terms
}

// Phrases are those that count, in the order in which they do.
func (d *Document) Phrases() []phrase.Phrase {
	if d.said != nil {
		return d.said.phrases
	}
	return nil
}

// PhraseHashes are what the vectors of the phrases that count are stored
// under.
func (d *Document) PhraseHashes() [][32]byte {
	if d.said != nil {
		return d.said.hashes
	}
	return nil
}

// PhraseHash is what the vector of a phrase is stored under. It is not that of
// the same text as a document: a model may read what somebody says otherwise
// than what a tool is.
func PhraseHash(text string) [32]byte { return sha256.Sum256([]byte("said\x00" + text)) }

// TextHash identifies the text of the tool, for which phrases are written.
func (d *Document) TextHash() string { return hex.EncodeToString(d.Embedded[tool.AsText][:8]) }

// Spoken says of the hash of a phrase whether it is of one that counts.
func (s *Snapshot) Spoken() func(hash [32]byte) bool {
	all := map[[32]byte]bool{}
	for _, d := range s.docs {
		for _, h := range d.PhraseHashes() {
			all[h] = true
		}
	}
	return func(hash [32]byte) bool { return all[hash] }
}
