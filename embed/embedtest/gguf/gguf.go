// Package gguf writes tiny BERT models with random weights in GGUF, the file
// format of llama.cpp and Ollama, so that real servers can be tested without
// a download. Their vectors mean nothing, but equal texts have equal vectors,
// different texts different ones, and another seed is another model.
//
// A file is, in little-endian: the magic "GGUF", version u32, number of
// tensors u64, number of metadata entries u64; the entries (key, type u32,
// value); a description a tensor (name, number of dimensions u32, dimensions
// u64 with the contiguous one first, type u32, offset u64); zeros up to a
// multiple of 32; the tensors' data, each begun at a multiple of 32. A string
// is its length u64 and its bytes, an array its element type u32, its length
// u64 and its elements.
package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// Model is the shape of a model. The zero value is a tiny one.
type Model struct {
	Seed    uint64 // of the weights
	Dims    int    // 0 means 64; a multiple of 32
	Layers  int    // 0 means 1
	Context int    // tokens; 0 means 256
}

const (
	heads     = 2
	feed      = 128
	alignment = 32
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

// Write writes the model's file.
func (m Model) Write(w io.Writer) error {
	def := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	def(&m.Dims, 64)
	def(&m.Layers, 1)
	def(&m.Context, 256)
	if m.Dims%alignment != 0 || m.Dims < 0 || m.Layers < 1 || m.Context < 8 {
		return fmt.Errorf("write model: %d dimensions, %d layers, context of %d", m.Dims, m.Layers, m.Context)
	}
	f := &file{}
	vocab := vocabulary()
	m.metadata(f, vocab)
	tensors := m.tensors(len(vocab))
	var head bytes.Buffer
	head.WriteString("GGUF")
	put(&head, uint32(3), uint64(len(tensors)), uint64(f.entries))
	head.Write(f.buf.Bytes())
	offset := uint64(0)
	for _, t := range tensors {
		describe(&head, t, offset)
		offset += padded(4 * uint64(t.size()))
	}
	head.Write(make([]byte, padded(uint64(head.Len()))-uint64(head.Len())))
	if _, err := w.Write(head.Bytes()); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(m.Seed, 1))
	for _, t := range tensors {
		if _, err := w.Write(t.data(rnd)); err != nil {
			return err
		}
	}
	return nil
}

func padded(n uint64) uint64 { return (n + alignment - 1) / alignment * alignment }

// put appends numbers; a bytes.Buffer takes every write.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		_ = binary.Write(b, binary.LittleEndian, v)
	}
}

func putString(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

// A file gathers the metadata entries.
type file struct {
	buf     bytes.Buffer
	entries int
}

func (f *file) key(name string, kind uint32) {
	f.entries++
	putString(&f.buf, name)
	put(&f.buf, kind)
}

func (f *file) text(name, s string) {
	f.key(name, typeString)
	putString(&f.buf, s)
}

func (f *file) number(name string, n int) {
	f.key(name, typeUint32)
	put(&f.buf, uint32(n))
}

func (m Model) metadata(f *file, vocab []string) {
	f.text("general.architecture", "bert")
	f.text("general.name", "tiny")
	f.number("general.file_type", 0) // every tensor float32
	f.number("bert.context_length", m.Context)
	f.number("bert.embedding_length", m.Dims)
	f.number("bert.feed_forward_length", feed)
	f.number("bert.block_count", m.Layers)
	f.number("bert.attention.head_count", heads)
	f.key("bert.attention.layer_norm_epsilon", typeFloat32)
	put(&f.buf, float32(1e-12))
	f.key("bert.attention.causal", typeBool)
	put(&f.buf, uint8(0))
	f.number("bert.pooling_type", 1) // the mean
	f.text("tokenizer.ggml.model", "bert")
	f.text("tokenizer.ggml.pre", "default")
	f.number("tokenizer.ggml.token_type_count", 2)
	for i, name := range []string{"padding", "unknown", "cls", "seperator", "mask"} { // spelt so in the format
		f.number("tokenizer.ggml."+name+"_token_id", i)
	}
	f.number("tokenizer.ggml.bos_token_id", 2)
	f.number("tokenizer.ggml.eos_token_id", 3)
	f.key("tokenizer.ggml.tokens", typeArray)
	put(&f.buf, uint32(typeString), uint64(len(vocab)))
	for _, w := range vocab {
		putString(&f.buf, w)
	}
	f.key("tokenizer.ggml.token_type", typeArray)
	put(&f.buf, uint32(typeInt32), uint64(len(vocab)))
	for i := range vocab {
		kind := int32(1) // a normal token
		if i < 5 {
			kind = 3 // a control token
		}
		put(&f.buf, kind)
	}
}

// vocabulary is every printable ASCII character, as the beginning of a word
// (marked "▁") and inside one, so that every ASCII text has tokens.
func vocabulary() []string {
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
		if t.spread > 0 {
			x = float32(rnd.NormFloat64() * t.spread)
		}
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(x))
	}
	return out
}

func describe(b *bytes.Buffer, t tensor, offset uint64) {
	putString(b, t.name)
	put(b, uint32(len(t.dims)))
	for _, d := range t.dims {
		put(b, uint64(d))
	}
	put(b, uint32(0), offset) // float32
}

func (m Model) tensors(words int) []tensor {
	d := m.Dims
	ts := []tensor{
		{"token_embd.weight", []int{d, words}, 1, 0},
		{"token_types.weight", []int{d, 2}, .1, 0},
		{"position_embd.weight", []int{d, m.Context}, .5, 0},
	}
	ts = append(ts, layerNorm("token_embd_norm", d)...)
	for i := range m.Layers {
		blk := fmt.Sprintf("blk.%d.", i)
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			ts = append(ts, linear(blk+name, d, d)...)
		}
		ts = append(ts, layerNorm(blk+"attn_output_norm", d)...)
		ts = append(ts, linear(blk+"ffn_up", d, feed)...)
		ts = append(ts, linear(blk+"ffn_down", feed, d)...)
		ts = append(ts, layerNorm(blk+"layer_output_norm", d)...)
	}
	return ts
}

func linear(name string, in, out int) []tensor {
	return []tensor{
		{name + ".weight", []int{in, out}, 1 / math.Sqrt(float64(in)), 0},
		{name + ".bias", []int{out}, .02, 0},
	}
}

func layerNorm(name string, d int) []tensor {
	return []tensor{
		{name + ".weight", []int{d}, 0, 1},
		{name + ".bias", []int{d}, .02, 0},
	}
}
