package embed

import "strings"

// A Prefix is what a model was trained to see before queries and documents.
type Prefix struct {
	Query, Document string
	Source          string // where the model's makers say so
}

// A knownModel is found by a part of its name; Without excludes names that
// contain it.
type knownModel struct {
	part, without string
	prefix        Prefix
}

// known is searched in order: particular names stand before general ones.
// Names are as Ollama, Hugging Face and GGUF files write them, compared in
// lower case with "_" as "-".
var known = []knownModel{
	{"nomic-embed-text", "", Prefix{"search_query: ", "search_document: ", "https://huggingface.co/nomic-ai/nomic-embed-text-v1.5"}},
	{"e5-mistral", "", Prefix{instruct + " ", "", "https://huggingface.co/intfloat/e5-mistral-7b-instruct"}},
	{"e5-large-instruct", "", Prefix{instruct + " ", "", "https://huggingface.co/intfloat/multilingual-e5-large-instruct"}},
	{"e5-small", "", e5},
	{"e5-base", "", e5},
	{"e5-large", "", e5},
	{"bge-m3", "", Prefix{Source: "https://huggingface.co/BAAI/bge-m3"}},
	{"bge-", "-zh", Prefix{represent, "", "https://huggingface.co/BAAI/bge-large-en-v1.5"}},
	{"bge-", "", Prefix{"为这个句子生成表示以用于检索相关文章：", "", "https://huggingface.co/BAAI/bge-large-zh-v1.5"}},
	{"qwen3-embedding", "", Prefix{instruct, "", "https://huggingface.co/Qwen/Qwen3-Embedding-0.6B"}},
	{"embeddinggemma", "", gemma},
	{"embedding-gemma", "", gemma},
	{"mxbai-embed-large", "", Prefix{represent, "", "https://huggingface.co/mixedbread-ai/mxbai-embed-large-v1"}},
	{"snowflake-arctic-embed2", "", arctic2},
	{"snowflake-arctic-embed-m-v2", "", arctic2},
	{"snowflake-arctic-embed-l-v2", "", arctic2},
	{"snowflake-arctic-embed", "", Prefix{represent, "", "https://huggingface.co/Snowflake/snowflake-arctic-embed-m-v1.5"}},
}

const (
	represent = "Represent this sentence for searching relevant passages: "
	// The task is the card's own; Qwen's form has no space at the end.
	instruct = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

var (
	e5      = Prefix{"query: ", "passage: ", "https://huggingface.co/intfloat/multilingual-e5-small"}
	gemma   = Prefix{"task: search result | query: ", "title: none | text: ", "https://huggingface.co/google/embeddinggemma-300m"}
	arctic2 = Prefix{"query: ", "", "https://huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0"}
)

// Prefixes are those of a known model, found by its name; the zero Prefix
// belongs to every other.
func Prefixes(model string) Prefix {
	name := strings.ReplaceAll(strings.ToLower(model), "_", "-")
	for _, k := range known {
		if strings.Contains(name, k.part) && (k.without == "" || !strings.Contains(name, k.without)) {
			return k.prefix
		}
	}
	return Prefix{}
}
