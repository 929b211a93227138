package index

import (
	"hash/fnv"
	"strings"
	"sync"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
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

// A document is one tool as a snapshot holds it. It is immutable and shared
// between the snapshots that hold it.
type document struct {
	tool      tool.Tool // without Raw; FirstSeen set
	id        string    // 12 hex digits
	qualified string
	embedded  [tool.Forms][32]byte
	analysed
}

// analysed is what a tool's analysis came to: all that has to be stored of
// it, under analysisVersion.
type analysed struct {
	terms    bm25.Doc
	twin     uint64 // equal for tools of the same normalised text
	category string // effective; set once its server's tools are known
	inputs   string // names of the top-level parameters, joined by spaces
}

// texts are the fields' texts of a tool with these parameters.
func texts(t *tool.Tool, p tool.Parameters) [fieldCount]string {
	return [fieldCount]string{
		fieldName:        t.Name,
		fieldTitle:       t.Title,
		fieldDescription: t.Description,
		fieldServer:      t.Server,
		fieldParams:      strings.Join(p.Names, " "),
		fieldParamText:   strings.Join(p.Texts, " "),
		fieldPhrases:     strings.Join(t.Phrases, " \n "),
	}
}

var analyzers = sync.Pool{New: func() any { return new(analysis.Analyzer) }}

// newDocument analyses a tool; its terms are numbered by lex.
func newDocument(t tool.Tool, lex *bm25.Lexicon) *document {
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
	a := analysed{terms: c.Doc(), twin: twinHash(&fields), category: t.Category, inputs: tool.Inputs(t.Raw)}
	d := &document{tool: t, id: t.ID(), qualified: t.QualifiedName(), embedded: tool.EmbeddedHashes(&t, p), analysed: a}
	d.tool.Raw = nil
	return d
}

// twinHash hashes what a tool says, but for its server's name, with spaces
// and case normalised.
func twinHash(fields *[fieldCount]string) uint64 {
	h := fnv.New64a()
	for f, text := range fields {
		if f == fieldServer || f == fieldPhrases {
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

// analysisVersion changes when the analysis of any tool comes to something
// else, so that what is stored under another version is made anew.
const analysisVersion = analysis.Version<<8 | categoriesVersion
