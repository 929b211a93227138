package config

import (
	"strings"
	"testing"
)

// meta_config.embedding_model is another place for the model of the catalog,
// which is one; what cannot be meant is refused with its line.
func TestEmbeddingModel(t *testing.T) {
	for _, tt := range []struct{ text, want string }{ // provider and model, or a part of the error
		{"meta_config: {embedding_model: text-embedding-3-large}", "openai text-embedding-3-large"},
		{"meta_config: {embedding_model: static-v1}", "builtin "},
		{"meta_config: {embedding_model: builtin/static-v1}\nembedding: {provider: builtin}", "builtin "},
		{"meta_config: {embedding_model: nomic-embed-text}\nembedding: {provider: ollama}", "ollama nomic-embed-text"},
		{"meta_server: {meta_config: {embedding_model: m}}\nembedding: {provider: openai, url: \"http://127.0.0.1:9/v1\", model: m}", "openai m"},
		{"meta_config: {embedding_model: text-embedding-3-small}\nembedding: {provider: none}", "none "},
		{"meta_config: {embedding_model: a}\nembedding: {provider: ollama, model: b}", `line 1: meta_config.embedding_model: "a" is not embedding.model, which is "b"`},
		{"embedding: {provider: builtin}\nmeta_server: {meta_config: {embedding_model: text-embedding-3-small}}", `line 2: meta_config.embedding_model: "text-embedding-3-small" is not built in, static-v1 is`},
		{"meta_config: {embedding_model: nomic-embed-text}", `line 1: meta_config.embedding_model: it is not said who serves "nomic-embed-text"; set embedding.provider to ollama or openai`},
		{"virtual_servers: {a: {meta_config: {embedding_model: static-v1}}}", "builtin "},
		{"virtual_servers: {a: {meta_config: {embedding_model: other}}}", `virtual_servers.a.meta_config.embedding_model: "other" is not the catalog's model, which is "static-v1"`},
		{"meta_config: {embedding_model: text-embedding-3-small}\nvirtual_servers: {a: {meta_config: {embedding_model: text-embedding-3-small}}, b: {}}", "openai text-embedding-3-small"},
	} {
		c, err := load(t, "tooldex.yaml", tt.text)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = c.Embedding.Provider + " " + c.Embedding.Model
		}
		if (err == nil && got != tt.want) || !strings.Contains(got, tt.want) {
			t.Errorf("%s\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// One that is made at run time is held to the catalog's model, too.
func TestDefinedModel(t *testing.T) {
	c, err := load(t, "tooldex.yaml", "meta_config: {embedding_model: text-embedding-3-small}")
	if err != nil {
		t.Fatal(err)
	}
	for definition, want := range map[string]string{
		`{"meta_config": {"embedding_model": "text-embedding-3-small"}}`: "",
		`{"meta_config": {"embedding_model": "static-v1"}}`:              `meta_config.embedding_model: "static-v1" is not the catalog's model, which is "text-embedding-3-small"`,
		`{}`: "",
	} {
		_, err := c.ReadEndpoint("x", []byte(definition))
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", definition, err, want)
		}
	}
}

// The catalog has vectors while one endpoint searches by meaning.
func TestSemantic(t *testing.T) {
	for text, want := range map[string]bool{
		"{}": true,
		"meta_config: {enable_semantic_search: false}": false,
		"meta_config: {enable_semantic_search: false}\nvirtual_servers: {a: {}, b: {meta_config: {enable_semantic_search: true}}}": true,
		"meta_server: {default: {meta_config: {enable_semantic_search: true}}}\nmeta_config: {enable_semantic_search: false}":      true,
		"virtual_servers: {a: {meta_config: {enable_semantic_search: false}}}":                                                     true,
	} {
		c, err := load(t, "tooldex.yaml", text)
		if err != nil || c.Semantic() != want {
			t.Errorf("%s: %t, %v", text, !want, err)
		}
	}
}
