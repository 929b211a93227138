package snapshot

import (
	"hash/fnv"
	"strings"
	"sync"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/tool"
)

// The fields of a tool that the lexical arm searches, numbered as in bm25.
const (
	fieldName = iota
	fieldTitle
	fieldDescription
	fieldServer
	fieldParams
	fieldParamText
	fieldPhrases
	fieldCount
)

// fieldNames are the fields as Params, explanations and dumps name them.
var fieldNames = [fieldCount]string{"name", "title", "description", "server", "params", "param_text", "phrases"}

// A Document is one tool as a snapshot holds it. It is immutable and shared
// between the snapshots that hold it.
type Document struct {
	Tool      tool.Tool // without Raw; FirstSeen set
	ID        string    // 12 hex digits
	Sum       [16]byte  // tool.Hash of the tool, with Raw
	Qualified string
	Embedded  [tool.Forms][32]byte // hashes of what is embedded of it

	// What the tool's analysis came to: all that has to be stored of it, under
	// AnalysisVersion.
	Terms    bm25.Doc // with those of the phrases that count
	Twin     uint64   // equal for tools of the same normalised text
	Category string   // effective; set once its server's tools are known
	Inputs   string   // names of the top-level parameters, joined by spaces
	// Signature is what the tool takes on one line, "(a: string, b?: number)".
	Signature string

	PhraseHashes [][32]byte             // of the phrases that count, for their vectors
	PhraseSum    uint64                 // of what the phrases were chosen from; 0 before they are
	phrases      func() []phrase.Phrase // those that count; nil for none
}

// texts are the fields' texts of a tool with these parameters, but for its
// phrases.
func texts(t *tool.Tool, p tool.Parameters) [fieldCount]string {
	return [fieldCount]string{
		fieldName:        t.Name,
		fieldTitle:       t.Title,
		fieldDescription: t.Description,
		fieldServer:      t.Server,
		fieldParams:      strings.Join(p.Names, " "),
		fieldParamText:   strings.Join(p.Texts, " "),
	}
}

// Configured are the phrases that came with the tool.
func Configured(t *tool.Tool) (all []phrase.Phrase) {
	for _, text := range t.Phrases {
		all = append(all, phrase.Phrase{Text: text, Source: phrase.Config})
	}
	return all
}

var analyzers = sync.Pool{New: func() any { return new(analysis.Analyzer) }}

// NewDocument analyses a tool; its terms are numbered by lex. Sum is its hash.
func NewDocument(t tool.Tool, sum [16]byte, lex *bm25.Lexicon) *Document {
	p := tool.ParametersOf(t.Raw)
	fields := texts(&t, p)
	an := analyzers.Get().(*analysis.Analyzer)
	defer analyzers.Put(an)
	var c bm25.Counter
	for f, text := range fields {
		for _, tok := range an.Tokens(text) {
			c.Add(lex.Add(tok.Text), f, tok.Extra)
		}
	}
	countPhrases(&c, an, phrase.Texts(phrase.Counted(Configured(&t))), lex)
	d := &Document{
		Tool: t, ID: t.ID(), Sum: sum, Qualified: t.QualifiedName(), Embedded: tool.EmbeddedHashes(&t, p),
		Terms: c.Doc(), Twin: twinHash(&fields), Category: t.Category, Inputs: tool.Inputs(t.Raw),
		Signature: tool.Signature(t.Raw),
	}
	d.Tool.Raw, d.Tool.Effect, d.Tool.Group = nil, tool.EffectOf(t.Raw), tool.GroupOf(t.Raw)
	return d
}

// twinHash hashes what a tool says, but for its server's name, with spaces
// and case normalised.
func twinHash(fields *[fieldCount]string) uint64 {
	h := fnv.New64a()
	for f, text := range fields {
		if f == fieldServer {
			continue
		}
		for _, w := range strings.Fields(analysis.Fold(text)) {
			h.Write([]byte(w))
			h.Write([]byte{' '})
		}
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// AnalysisVersion changes when the analysis of any tool comes to something
// else, so that what is stored under another version is made anew.
const AnalysisVersion = analysis.Version<<16 | phrase.Version<<8 | categoriesVersion

// Renumbered is the document with other numbers for its terms, in the same
// order.
func (d *Document) Renumbered(number []uint32) *Document {
	c := *d
	c.Terms.Terms = make([]uint32, len(d.Terms.Terms))
	for i, id := range d.Terms.Terms {
		c.Terms.Terms[i] = number[id]
	}
	return &c
}
