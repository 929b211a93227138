package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
)

const (
	reasonTerms = 4 // inputs and words that a reason names at most

	// What half of a server's tools have, where it has at least so many, says
	// nothing about two of them.
	commonShare  = 2
	commonServer = 4

	// What one tool in so many has, in a catalog of that size, is in tools of
	// every kind: an input called name, the word returns.
	everywhere   = 12
	smallCatalog = 50

	// A word that weighs less than this share of the weightiest one that both
	// have, or of the reference's own weightiest, is there by the way.
	sharedShare = .5
	ownShare    = .25
)

// paging are inputs that say how much of a list is wanted, in any spelling.
var paging = map[string]bool{
	"page": true, "perpage": true, "pagesize": true, "pagenumber": true, "limit": true, "offset": true, "cursor": true,
	"before": true, "after": true, "sort": true, "order": true, "orderby": true, "sortby": true, "sortorder": true,
}

// A reference is the tool that others are compared with.
type reference struct {
	*search
	doc     uint32
	surface map[string]string   // by term: how its text writes it first
	written map[string]bool     // its words
	weight  []bm25.Contribution // by term of the search
	common  map[membership]bool
}

// A membership is an input's or a term's among the tools of a server.
type membership struct {
	server uint32
	term   uint32
	input  string
}

func newReference(r *search, doc uint32) *reference {
	ref := &reference{search: r, doc: doc, surface: map[string]string{}, written: map[string]bool{}, common: map[membership]bool{}}
	ref.weight = r.s.lexical.Explain(doc, &r.lexical)
	an := analyzers.Get().(*analysis.Analyzer)
	defer analyzers.Put(an)
	t := &r.s.docs[doc].Tool
	for _, tok := range an.Tokens(t.Name + " " + t.Title + " " + t.Description) {
		word := strings.ToLower(tok.Source)
		if _, known := ref.surface[tok.Text]; !known && worthNaming(word) {
			ref.surface[tok.Text] = word
		}
		ref.written[word] = true
	}
	return ref
}

// worthNaming leaves out numbers, single letters and, as they have no source,
// identifiers run together.
func worthNaming(word string) bool {
	return strings.Trim(word, "0123456789") != "" && (len(word) > 1 || word[0] >= utf8.RuneSelf)
}

// reason names what the reference shares with a tool: text, inputs, words,
// category; the most telling first. What all the server's tools have is named
// where nothing else is.
func (ref *reference) reason(doc uint32) string {
	x, y := ref.s.docs[ref.doc], ref.s.docs[doc]
	if x.Twin == y.Twin {
		return "same text"
	}
	why := ref.shared(doc, ref.boilerplate)
	if x.Category == y.Category && x.Category != otherCategory {
		why = append(why, "category "+x.Category)
	}
	if len(why) == 0 {
		why = ref.shared(doc, func(uint32, membership) bool { return false })
	}
	if len(why) == 0 {
		return "similar meaning"
	}
	return "shares " + strings.Join(why, "; ")
}

// shared are the inputs and the words that the reference and another tool
// have in common, but for what skip says to leave out.
func (ref *reference) shared(other uint32, skip func(other uint32, m membership) bool) (why []string) {
	inputs := ref.inputs(other, skip)
	if len(inputs) > 0 {
		why = append(why, "inputs "+strings.Join(inputs, ", "))
	}
	if words := ref.words(other, skip, inputs); len(words) > 0 {
		why = append(why, "words "+strings.Join(words, ", "))
	}
	return why
}

// inputs are the rarest inputs that both tools have.
func (ref *reference) inputs(other uint32, skip func(uint32, membership) bool) []string {
	all, n := ref.s.inputs(), len(ref.s.docs)
	var out []string
	for name := range strings.FieldsSeq(ref.s.docs[ref.doc].Inputs) {
		if hasInput(ref.s.docs[other], name) && !usual(all[name], n) && !paging[spelling.Replace(strings.ToLower(name))] &&
			!skip(other, membership{input: name}) {
			out = append(out, name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(all[a], all[b]) })
	return out[:min(len(out), reasonTerms)]
}

var spelling = strings.NewReplacer("_", "", "-", "")

// usual says that n of a catalog's tools are so many that they have nothing
// to do with each other.
func usual(n, catalog int) bool { return catalog >= smallCatalog && n*everywhere >= catalog }

// words are the words that weigh most in name, title and description of both
// tools, as the reference writes them, without those that inputs name.
func (ref *reference) words(other uint32, skip func(uint32, membership) bool, inputs []string) []string {
	type weighed struct {
		word   string
		weight float64
	}
	var list []weighed
	most := 0.0
	for i, c := range ref.s.lexical.Explain(other, &ref.lexical) {
		most = max(most, ref.weight[i].Score)
		word := ref.surface[ref.lexical.Terms[i].Text]
		if word != "" && ref.telling(i, c) && !ref.runTogether(word) && !skip(other, membership{term: ref.lexical.Terms[i].ID}) {
			list = append(list, weighed{word, min(c.Score, ref.weight[i].Score)})
		}
	}
	slices.SortStableFunc(list, func(a, b weighed) int { return cmp.Compare(b.weight, a.weight) })
	var out []string
	for _, w := range list {
		if w.weight < max(sharedShare*list[0].weight, ownShare*most) {
			break
		}
		if !slices.Contains(inputs, w.word) {
			out = append(out, w.word)
		}
	}
	return out[:min(len(out), reasonTerms)]
}

// telling says whether term i of the reference, which counts c in another
// tool, says something of both: a usual word does so only in a name.
func (ref *reference) telling(i int, c bm25.Contribution) bool {
	own := ref.weight[i]
	named := own.Counts[fieldName] > 0 || c.Counts[fieldName] > 0
	df := int(ref.s.lexical.Stats().DF[ref.lexical.Terms[i].ID])
	return inText(c) && inText(own) && (named || !usual(df, len(ref.s.docs)))
}

// runTogether says whether a word is two others of the reference's text:
// localstorage, keyvault.
func (ref *reference) runTogether(word string) bool {
	for i := 3; i <= len(word)-3; i++ {
		if ref.written[word[:i]] && ref.written[word[i:]] {
			return true
		}
	}
	return false
}

func inText(c bm25.Contribution) bool {
	return c.Counts[fieldName]+c.Counts[fieldTitle]+c.Counts[fieldDescription] > 0
}

// boilerplate says that much of what the servers of the reference and of
// another tool have is alike in this respect.
func (ref *reference) boilerplate(other uint32, m membership) bool {
	return ref.commonAt(ref.s.server[ref.doc], m) && ref.commonAt(ref.s.server[other], m)
}

func (ref *reference) commonAt(server uint32, m membership) bool {
	if int(server) >= len(ref.s.servers) || len(ref.s.tools[server]) < commonServer {
		return false
	}
	m.server = server
	common, known := ref.common[m]
	if !known {
		n := 0
		for _, doc := range ref.s.tools[server] {
			if ref.s.docs[doc].has(m) {
				n++
			}
		}
		common = n*commonShare >= len(ref.s.tools[server])
		ref.common[m] = common
	}
	return common
}

func (d *Document) has(m membership) bool {
	if m.input != "" {
		return hasInput(d, m.input)
	}
	_, ok := slices.BinarySearch(d.Terms.Terms, m.term)
	return ok
}

func hasInput(d *Document, name string) bool {
	for in := range strings.FieldsSeq(d.Inputs) {
		if in == name {
			return true
		}
	}
	return false
}

func countInputs(docs []*Document) map[string]int {
	n := map[string]int{}
	for _, d := range docs {
		for name := range strings.FieldsSeq(d.Inputs) {
			n[name]++
		}
	}
	return n
}
