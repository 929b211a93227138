package index

import (
	"encoding/json"

	"github.com/tooldex/tooldex/index/catalog"
	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/spaces"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
)

// A Tool is one tool of one server: the object its upstream sent, and the
// parts of it that are searched, filtered and shown. [Decode] makes one.
type Tool = tool.Tool

// An Example is one documented call of a tool.
type Example = tool.Example

// Decode reads a tool object as tools/list carries it. It fails only when raw
// is no JSON object or has no name; anything else wrong becomes a warning, or
// the reason why the tool must not be called.
func Decode(server string, raw json.RawMessage) (Tool, error) { return tool.Decode(server, raw) }

// A Mode is a way of ranking.
type Mode = rank.Mode

// The modes of a search. The empty Mode means Hybrid.
const (
	Keyword  = rank.Keyword  // BM25F over its upper bound
	Semantic = rank.Semantic // cosine of the vectors, not below 0
	Hybrid   = rank.Hybrid   // a convex combination of both and the server prior
)

// A Query asks for the tools that best serve a need: a text, a [Filter], a
// limit. The zero value of each field is ready to use.
type Query = snapshot.Query

// A Filter allows some tools and not others, before ranking: by labels, names,
// texts, and by what the caller may see.
type Filter = snapshot.Filter

// A Scope says which tools a caller may see: see [snapshot.Scope].
type Scope = snapshot.Scope

// NewScope is the Scope of a pure rule: see [snapshot.NewScope].
func NewScope(sees func(*Tool) bool) *Scope { return snapshot.NewScope(sees) }

// Results are the answer to one search, over one state of the catalog.
type Results = snapshot.Results

// A Hit is one row of Results: a tool and its score in [0, 1].
type Hit = snapshot.Hit

// An Entry is one tool of the whole catalog.
type Entry = snapshot.Entry

// A State stands for the tools of a catalog: it is equal as long as these are
// the same.
type State = snapshot.State

// An Explanation accounts for one score: the parts add up to it.
type Explanation = snapshot.Explanation

// A Term is one query term's share of a BM25F score.
type Term = snapshot.Term

// A PhraseMatch is what a phrase of a tool has in common with a query.
type PhraseMatch = snapshot.PhraseMatch

// A Listing asks for one page of the catalog.
type Listing = snapshot.Listing

// A SortKey orders a listing.
type SortKey = snapshot.SortKey

// The sort keys of List. Tools without a value come last in both orders; ties
// break by qualified name, ascending.
const (
	ByName           = snapshot.ByName
	ByCreatedAt      = snapshot.ByCreatedAt
	ByExecutionCount = snapshot.ByExecutionCount
	BySuccessRate    = snapshot.BySuccessRate
	ByCategory       = snapshot.ByCategory
)

// A Neighbor is a tool like another one, with what the two share.
type Neighbor = snapshot.Neighbor

// A CategoryCount is one category, tag or server with its number of tools.
type CategoryCount = snapshot.CategoryCount

// Params are the ranking's parameters. They are applied when searching, so a
// change of them never invalidates what is stored.
type Params = snapshot.Params

// FieldParams weigh one field in BM25F.
type FieldParams = snapshot.FieldParams

// Fusion weighs the two arms and the server prior.
type Fusion = snapshot.Fusion

// Thresholds cut the first row's score into claims about it.
type Thresholds = snapshot.Thresholds

// DefaultParams are the shipped parameters; docs/decisions says where each
// comes from.
func DefaultParams() Params { return snapshot.DefaultParams() }

// An Embedder turns texts into vectors of one space. Implementations are safe
// for concurrent use.
type Embedder = spaces.Embedder

// A FieldEmbedder reads a tool's fields instead of one text. The index finds
// it by assertion.
type FieldEmbedder = spaces.FieldEmbedder

// A QueriesEmbedder embeds many search texts in few requests. The index finds
// it by assertion.
type QueriesEmbedder = spaces.QueriesEmbedder

// A Diff says what one Replace changed, by qualified name in name order.
type Diff = catalog.Diff

// ServerStatus describes one server's part of the catalog.
type ServerStatus = catalog.ServerStatus

// Phrases are what people say when they need the tools of an [Index], from
// every source.
type Phrases = catalog.Phrases

// ToolPhrases are the phrases of one tool.
type ToolPhrases = catalog.ToolPhrases

// A Packer knows phrases for tools that it has never been told of.
type Packer = catalog.Packer

// Metrics count one tool's executions.
type Metrics = store.Metrics

// ModelStatus describes the vectors of one identity.
type ModelStatus = spaces.Status

// An Audit compares graph searches with the exact scan.
type Audit = spaces.Audit

// A Beam is what searches with one width of the beam found.
type Beam = spaces.Beam

var (
	// ErrGone reports a tool that the catalog had and has no more.
	ErrGone = catalog.ErrGone
	// ErrNoVectors reports a semantic search while no embedder can answer.
	ErrNoVectors = snapshot.ErrNoVectors
	// ErrUnknownWords reports a semantic search for a text of which the
	// embedding model knows no word. It comes with ErrNoVectors.
	ErrUnknownWords = snapshot.ErrUnknownWords
)
