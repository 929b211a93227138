package config

import (
	"errors"
	"fmt"
	"strings"
)

// The values of embedding.provider.
const (
	builtin = "builtin"
	ollama  = "ollama"
	openAI  = "openai"
	none    = "none"
)

// builtinModel is what the model inside the binary is called.
const builtinModel = "static-v1"

// openAIModels begin the names of OpenAI's own embedding models.
const openAIModels = "text-embedding-"

// chooseModel gives the catalog the model that meta_config.embedding_model
// names. It is another place for embedding.model, as the catalog has one model
// for all who search it.
func (f *file) chooseModel() error {
	e, model := &f.Embedding, f.Meta.EmbeddingModel
	f.Meta.EmbeddingModel = "" // from here on embedding has it
	chosen := e.Provider != ""
	if !chosen {
		e.Provider = builtin
	}
	switch {
	case model == "" || e.Provider == none || e.embeds(model):
		return nil
	case e.Model != "":
		return fmt.Errorf("meta_config.embedding_model: %q is not embedding.model, which is %q; the catalog has one model: keep one of them", model, e.Model)
	case e.Provider != builtin:
		e.Model = model
		return nil
	case chosen:
		return fmt.Errorf("meta_config.embedding_model: %q is not built in, %s is; set embedding.provider to %s or %s", model, builtinModel, ollama, openAI)
	case strings.HasPrefix(model, openAIModels):
		e.Provider, e.Model = openAI, model
		return nil
	}
	return fmt.Errorf("meta_config.embedding_model: it is not said who serves %q; set embedding.provider to %s or %s", model, ollama, openAI)
}

// embeds says whether the catalog's model goes by that name, with its provider
// or without.
func (e *Embedding) embeds(model string) bool {
	model = strings.TrimPrefix(model, e.Provider+"/")
	if e.Provider == builtin {
		return model == builtinModel || model == builtin
	}
	return e.Model != "" && model == e.Model
}

// checkModel says what is wrong with the model that an endpoint asks for.
func (e *Embedding) checkModel(model string) error {
	if model == "" || e.Provider == none || e.embeds(model) {
		return nil
	}
	own := e.Model
	if e.Provider == builtin {
		own = builtinModel
	}
	if own == "" {
		return errors.New("the catalog has no model yet: embedding.model names it; leave this out")
	}
	return fmt.Errorf("%q is not the catalog's model, which is %q for all virtual servers (embedding.model); name that, or leave it out", model, own)
}

// Semantic says whether an endpoint searches by meaning, so that the catalog
// needs vectors. Those that are made later do as Meta says.
func (c *Config) Semantic() bool {
	wanted := c.Meta.EnableSemanticSearch || c.Default.Meta.EnableSemanticSearch
	for i := range c.Endpoints {
		wanted = wanted || c.Endpoints[i].Meta.EnableSemanticSearch
	}
	return wanted
}
