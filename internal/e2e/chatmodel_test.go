//go:build unix

package e2e

import "fmt"

// quoting makes a quotation mark likelier than any other byte, by the number
// that all tokens have in common, so that a text of the answer comes to its end.
const quoting = 1.1

// The chat model's context has room for a prompt of which each byte is a token.
const chatContext = 16384

// tinyChatModel is a Llama model with random weights: it says nonsense, byte by
// byte, until it may say no more.
func tinyChatModel(seed uint64) []byte {
	m := &metadata{}
	m.text("general.architecture", "llama")
	m.text("general.name", "tiny")
	m.number("general.file_type", 0) // every tensor float32
	m.number("llama.context_length", chatContext)
	m.number("llama.embedding_length", modelDims)
	m.number("llama.feed_forward_length", modelFeed)
	m.number("llama.block_count", 1)
	m.number("llama.attention.head_count", modelHeads)
	m.number("llama.attention.head_count_kv", modelHeads)
	m.number("llama.rope.dimension_count", modelDims/modelHeads)
	m.number("llama.vocab_size", len(chatVocabulary()))
	m.key("llama.attention.layer_norm_rms_epsilon", typeFloat32)
	put(&m.buf, float32(1e-5))
	m.describeBytes(chatVocabulary())
	return gguf(m, chatTensors(len(chatVocabulary())), seed)
}

// chatVocabulary is every byte, so that every text has tokens, and the printable
// characters of ASCII as themselves.
func chatVocabulary() []string {
	words := []string{"<unk>", "<s>", "</s>"}
	for b := range 256 {
		words = append(words, fmt.Sprintf("<0x%02X>", b))
	}
	for c := '!'; c <= '~'; c++ {
		words = append(words, string(c))
	}
	return append(words, "▁") // a space
}

// describeBytes describes a tokenizer that knows bytes alone.
func (m *metadata) describeBytes(vocab []string) {
	m.text("tokenizer.ggml.model", "llama")
	m.text("tokenizer.ggml.pre", "default")
	for i, name := range []string{"unknown", "bos", "eos"} {
		m.number("tokenizer.ggml."+name+"_token_id", i)
	}
	m.key("tokenizer.ggml.add_space_prefix", typeBool)
	put(&m.buf, uint8(0))
	m.key("tokenizer.ggml.scores", typeArray)
	put(&m.buf, uint32(typeFloat32), uint64(len(vocab)))
	for range vocab {
		put(&m.buf, float32(0))
	}
	m.tokens(vocab, func(i int) int32 {
		switch i {
		case 0:
			return unknownToken
		case 1, 2:
			return controlToken
		}
		if i >= 3+256 {
			return normalToken
		}
		return byteToken
	})
}

func chatTensors(words int) []tensor {
	weights := func(name string, in, out int) tensor { return linear(name, in, out)[0] }
	norm := func(name string) tensor { return layerNorm(name, modelDims)[0] }
	embed := tensor{name: "token_embd.weight", dims: []int{modelDims, words}, spread: 1, every: modelDims, value: 3}
	output := weights("output", modelDims, words)
	output.set = map[int]float32{modelDims * (3 + 256 + 1): quoting}
	ts := []tensor{embed, output, norm("output_norm"), norm("blk.0.attn_norm"), norm("blk.0.ffn_norm")}
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		ts = append(ts, weights("blk.0."+name, modelDims, modelDims))
	}
	for _, name := range []string{"ffn_gate", "ffn_up"} {
		ts = append(ts, weights("blk.0."+name, modelDims, modelFeed))
	}
	return append(ts, weights("blk.0.ffn_down", modelFeed, modelDims))
}
