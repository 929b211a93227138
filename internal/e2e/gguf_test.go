//go:build unix

package e2e

import (
	"bytes"
	enc "encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// The shape of the model that tinyModel writes.
const (
	modelDims    = 64
	modelHeads   = 2
	modelFeed    = 128
	modelContext = 256
	alignment    = 32
)

// Value types of the format that are used here.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

// tinyModel is a BERT model with random weights in GGUF, the file format of
// llama.cpp and Ollama, so that real servers can be tested without a download.
// Its vectors mean nothing, but equal texts have equal vectors, different
// texts different ones, and another seed is another model.
//
// A file is, in little-endian: the magic "GGUF", version u32, number of
// tensors u64, number of metadata entries u64; the entries (key, type u32,
// value); a description a tensor (name, number of dimensions u32, dimensions
// u64 with the contiguous one first, type u32, offset u64); zeros up to a
// multiple of 32; the tensors' data, each begun at a multiple of 32. A string
// is its length u64 and its bytes, an array its element type u32, its length
// u64 and its elements.
func tinyModel(seed uint64) []byte {
	meta := &metadata{}
	vocab := modelVocabulary()
	meta.describe(vocab)
	return gguf(meta, modelTensors(len(vocab)), seed)
}

// gguf is a model file with random weights.
func gguf(meta *metadata, tensors []tensor, seed uint64) []byte {
	var out bytes.Buffer
	out.WriteString("GGUF")
	put(&out, uint32(3), uint64(len(tensors)), uint64(meta.entries))
	out.Write(meta.buf.Bytes())
	offset := uint64(0)
	for _, t := range tensors {
		t.describe(&out, offset)
		offset += padded(4 * uint64(t.size()))
	}
	out.Write(make([]byte, padded(uint64(out.Len()))-uint64(out.Len())))
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, t := range tensors {
		out.Write(t.data(rnd))
	}
	return out.Bytes()
}

func padded(n uint64) uint64 { return (n + alignment - 1) / alignment * alignment }

// put appends numbers; a bytes.Buffer takes every write.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		_ = enc.Write(b, enc.LittleEndian, v)
	}
}

func putString(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

// metadata gathers the entries.
type metadata struct {
	buf     bytes.Buffer
	entries int
}

func (m *metadata) key(name string, kind uint32) {
	m.entries++
	putString(&m.buf, name)
	put(&m.buf, kind)
}

func (m *metadata) text(name, s string) {
	m.key(name, typeString)
	putString(&m.buf, s)
}

func (m *metadata) number(name string, n int) {
	m.key(name, typeUint32)
	put(&m.buf, uint32(n))
}

func (m *metadata) describe(vocab []string) {
	m.text("general.architecture", "bert")
	m.text("general.name", "tiny")
	m.number("general.file_type", 0) // every tensor float32
	m.number("bert.context_length", modelContext)
	m.number("bert.embedding_length", modelDims)
	m.number("bert.feed_forward_length", modelFeed)
	m.number("bert.block_count", 1)
	m.number("bert.attention.head_count", modelHeads)
	m.key("bert.attention.layer_norm_epsilon", typeFloat32)
	put(&m.buf, float32(1e-12))
	m.key("bert.attention.causal", typeBool)
	put(&m.buf, uint8(0))
	m.number("bert.pooling_type", 1) // the mean
	m.text("tokenizer.ggml.model", "bert")
	m.text("tokenizer.ggml.pre", "default")
	m.number("tokenizer.ggml.token_type_count", 2)
	for i, name := range []string{"padding", "unknown", "cls", "seperator", "mask"} { // spelt so in the format
		m.number("tokenizer.ggml."+name+"_token_id", i)
	}
	m.number("tokenizer.ggml.bos_token_id", 2)
	m.number("tokenizer.ggml.eos_token_id", 3)
	m.tokens(vocab, func(i int) int32 {
		if i < 5 {
			return controlToken
		}
		return normalToken
	})
}

// Kinds of tokens.
const (
	normalToken  = 1
	unknownToken = 2
	controlToken = 3
	byteToken    = 6
)

func (m *metadata) tokens(vocab []string, kind func(i int) int32) {
	m.key("tokenizer.ggml.tokens", typeArray)
	put(&m.buf, uint32(typeString), uint64(len(vocab)))
	for _, w := range vocab {
		putString(&m.buf, w)
	}
	m.key("tokenizer.ggml.token_type", typeArray)
	put(&m.buf, uint32(typeInt32), uint64(len(vocab)))
	for i := range vocab {
		put(&m.buf, kind(i))
	}
}

// modelVocabulary is every printable ASCII character, as the beginning of a word
// (marked "▁") and inside one, so that every ASCII text has tokens.
func modelVocabulary() []string {
	words := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	for c := '!'; c <= '~'; c++ {
		words = append(words, "▁"+string(c), string(c))
	}
	return words
}

// A tensor is random, or all one value.
type tensor struct {
	name   string
	dims   []int   // the contiguous one first
	spread float64 // standard deviation
	value  float32 // where spread is 0
	every  int     // if above 0, each so many numbers from the first are value instead
	set    map[int]float32
}

func (t tensor) size() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	return n
}

func (t tensor) data(rnd *rand.Rand) []byte {
	out := make([]byte, padded(4*uint64(t.size())))
	for i := range t.size() {
		x := t.value
		if t.spread > 0 && (t.every == 0 || i%t.every > 0) {
			x = float32(rnd.NormFloat64() * t.spread)
		}
		if y, ok := t.set[i]; ok {
			x = y
		}
		enc.LittleEndian.PutUint32(out[4*i:], math.Float32bits(x))
	}
	return out
}

func (t tensor) describe(b *bytes.Buffer, offset uint64) {
	putString(b, t.name)
	put(b, uint32(len(t.dims)))
	for _, d := range t.dims {
		put(b, uint64(d))
	}
	put(b, uint32(0), offset) // float32
}

func modelTensors(words int) []tensor {
	const d = modelDims
	ts := []tensor{
		{name: "token_embd.weight", dims: []int{d, words}, spread: 1},
		{name: "token_types.weight", dims: []int{d, 2}, spread: .1},
		{name: "position_embd.weight", dims: []int{d, modelContext}, spread: .5},
	}
	ts = append(ts, layerNorm("token_embd_norm", d)...)
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		ts = append(ts, linear("blk.0."+name, d, d)...)
	}
	ts = append(ts, layerNorm("blk.0.attn_output_norm", d)...)
	ts = append(ts, linear("blk.0.ffn_up", d, modelFeed)...)
	ts = append(ts, linear("blk.0.ffn_down", modelFeed, d)...)
	return append(ts, layerNorm("blk.0.layer_output_norm", d)...)
}

func linear(name string, in, out int) []tensor {
	return []tensor{
		{name: name + ".weight", dims: []int{in, out}, spread: 1 / math.Sqrt(float64(in))},
		{name: name + ".bias", dims: []int{out}, spread: .02},
	}
}

func layerNorm(name string, d int) []tensor {
	return []tensor{
		{name: name + ".weight", dims: []int{d}, value: 1},
		{name: name + ".bias", dims: []int{d}, spread: .02},
	}
}

func TestTinyModelIsDeterministicAndSeeded(t *testing.T) {
	a, b := tinyModel(1), tinyModel(2)
	if !bytes.HasPrefix(a, []byte("GGUF\x03\x00\x00\x00")) || len(a)%alignment != 0 {
		t.Errorf("%d bytes that begin %x", len(a), a[:8])
	}
	if !bytes.Equal(a, tinyModel(1)) {
		t.Error("the same model twice differs")
	}
	if bytes.Equal(a, b) || len(a) != len(b) {
		t.Error("another seed gives the same weights")
	}
}
