package snapshot

import (
	"regexp"

	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/tool"
)

// A Mode is a way of ranking.
type Mode = rank.Mode

// The modes of a search. The empty Mode means Hybrid.
const (
	Keyword  = rank.Keyword  // BM25F over its upper bound
	Semantic = rank.Semantic // cosine of the vectors, not below 0
	Hybrid   = rank.Hybrid   // a convex combination of both and the server prior
)

// A Query asks for the tools that best serve a need. The zero value of each
// field is ready to use.
type Query struct {
	Text     string   // what is needed; "" lists the allowed tools in name order, unscored
	Mode     Mode     // "" means Hybrid
	Filter   Filter   // which tools are allowed at all
	Limit    int      // most rows to return; 0 means 10
	MinScore *float64 // rows scoring below it are cut; nil cuts none
	Explain  bool     // fill Hit.Explanation
	// WordsOnly is why vectors are not to be used, as if there were none; "" when
	// they are.
	WordsOnly string
	Fold      bool // show tools of the same text as one row with Homes; Total counts them all
}

// A Filter allows some tools and not others, before ranking. Within one field
// any value matches, all fields must; an empty field allows everything.
// Strings compare without case except where said.
type Filter struct {
	Tags, ExcludeTags, Servers, Categories []string
	Visibility, Teams                      []string

	Integration         string         // "MCP" or "REST"; "" or "any" allows both
	NamePattern         *regexp.Regexp // on the bare name, case-sensitive, unanchored
	DescriptionContains string         // substring of the effective description after NFKC and case folding
	HasExamples         bool           // only tools with examples

	Scope *Scope // which tools the caller may see; nil allows all
}

// Results are the answer to one search, over one snapshot of the catalog.
type Results struct {
	Hits              []Hit
	Total             int     // allowed tools that reach the floor, before Limit
	TotalIsLowerBound bool    // Total counts candidates only (above the HNSW threshold)
	Allowed           int     // tools that pass the filter and scope
	Best              float64 // the best score, also when MinScore cut its row
	Requested         Mode    // the mode asked for
	Mode              Mode    // the mode that answered
	Degraded          bool    // Mode is less than Requested
	Reason            string  // why, when Degraded, or when the fallback embedder answered
	UnknownWords      bool    // no model knows a word of the query, so that words alone had to do
	Model             string  // identity of the vectors used; "" when none were
	Confidence        string  // "high" when the first row is right by calibration, else ""
	WeakMatch         bool    // calibration says that the first row is likely wrong
	Calibrated        bool    // thresholds exist for Mode and Model; without them the two above say nothing
	Generation        uint64  // of the catalog searched
}

// A Hit is one row of Results.
type Hit struct {
	Tool        tool.Tool // without Raw
	ID          string
	Category    string   // effective: configured, of the upstream, or derived
	Score       float64  // in [0, 1], absolute; 0 for an empty query
	Signature   string   // what the tool takes on one line: (a: string, b?: number)
	Homes       []string // qualified names of its near-duplicates, folded into this row
	Explanation *Explanation
}

// An Explanation accounts for one score: the parts add up to it.
type Explanation struct {
	Score     float64 `json:"score"`
	Keyword   float64 `json:"keyword"`   // BM25F / Upper
	BM25F     float64 `json:"bm25f"`     // raw score
	Upper     float64 `json:"upper"`     // the query's upper bound
	Cosine    float64 `json:"cosine"`    // 0 without a vector
	Prior     float64 `json:"prior"`     // query vector times the server's mean vector
	Lambda    float64 `json:"lambda"`    // weight of Keyword
	Gamma     float64 `json:"gamma"`     // weight of Prior
	ExactName bool    `json:"exactName"` // the exact-name rule raised the score
	HasVector bool    `json:"hasVector"`
	Terms     []Term  `json:"terms"`
	// Phrases are those of the tool that count, the nearest to the query first.
	Phrases []PhraseMatch `json:"phrases,omitempty"`
	Rank    int           `json:"rank"`              // 1-based among the allowed tools, 0 when not allowed
	Dropped []string      `json:"dropped,omitempty"` // why the tool is not among the hits: filters, scope, floor, limit
}

// A PhraseMatch is what a phrase of a tool has in common with a query. Its
// terms are part of the tool's field "phrases", its vector of the tool's.
type PhraseMatch struct {
	Text   string        `json:"text"`
	Source phrase.Source `json:"source"`
	Stale  bool          `json:"stale,omitempty"` // written for another text of the tool
	Terms  []string      `json:"terms,omitempty"` // of the query
	Cosine float64       `json:"cosine"`          // 0 without a vector
}

// A Term is one query term's share of a BM25F score.
type Term struct {
	Text         string         `json:"text"`
	IDF          float64        `json:"idf"`
	QueryCount   int            `json:"queryCount"` // as counted, at most 2
	Frequency    float64        `json:"frequency"`  // the weighted, normalised tf
	Contribution float64        `json:"contribution"`
	Fields       map[string]int `json:"fields"` // raw count by field
}

// A SortKey orders a listing.
type SortKey string

// The sort keys of List. Tools without a value come last in both orders; ties
// break by qualified name, ascending.
const (
	ByName           SortKey = "name"
	ByCreatedAt      SortKey = "created_at"
	ByExecutionCount SortKey = "execution_count"
	BySuccessRate    SortKey = "success_rate"
	ByCategory       SortKey = "category"
)

// A Listing asks for one page of the catalog.
type Listing struct {
	Filter     Filter
	Sort       SortKey // "" means ByName
	Descending bool
	Offset     int
	Limit      int // 0 means all
}

// A Neighbor is a tool like another one.
type Neighbor struct {
	Hit
	Reason string // what the two share: inputs, rare words, category
}

// A CategoryCount is one category, tag or server with its number of tools.
type CategoryCount struct {
	Name        string
	Description string // "" for tags and servers
	Count       int
}
