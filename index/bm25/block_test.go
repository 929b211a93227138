package bm25

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestBlockRoundTrip cuts documents of all sizes out of a block again.
func TestBlockRoundTrip(t *testing.T) {
	b, docs := randomBlock()
	got, err := b.Docs(1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range docs {
		if fmt.Sprint(got[i]) != fmt.Sprint(d) {
			t.Errorf("document %d is %v, want %v", i, got[i], d)
		}
	}
}

func randomBlock() (b Block, docs []Doc) {
	r := rand.New(rand.NewPCG(1, 1))
	var c Counter
	for n := range 40 {
		for range n {
			for range 1 + r.IntN(3) {
				c.Add(r.Uint32N(1000), r.IntN(MaxFields), r.IntN(4) == 0)
			}
		}
		docs = append(docs, c.Doc())
		b.Append(&docs[n], func(id uint32) uint32 { return id })
	}
	return b, docs
}

func TestBlockRefusesWhatDoesNotFit(t *testing.T) {
	tests := map[string]func(b *Block){
		"a term too large":    func(b *Block) { b.Terms[len(b.Terms)-1] = 1000 },
		"terms out of order":  func(b *Block) { slices.Reverse(b.Terms) },
		"a term twice":        func(b *Block) { b.Terms[len(b.Terms)-1] = b.Terms[len(b.Terms)-2] },
		"a term in no field":  func(b *Block) { b.Counts = b.Counts[:len(b.Counts)-1]; b.Masks[len(b.Masks)-1] = 0 },
		"no field far inside": func(b *Block) { b.Masks[len(b.Masks)-20] = 0 },
		"counts too few":      func(b *Block) { b.Counts = b.Counts[:len(b.Counts)-1] },
		"counts too many":     func(b *Block) { b.Counts = append(b.Counts, 1) },
		"masks too few":       func(b *Block) { b.Masks = b.Masks[:len(b.Masks)-1] },
		"lengths too few":     func(b *Block) { b.Lengths = b.Lengths[:len(b.Lengths)-1] },
		"sizes too large":     func(b *Block) { b.Sizes[3]++ },
		"terms left over":     func(b *Block) { b.Sizes, b.Lengths = b.Sizes[:39], b.Lengths[:39*MaxFields] },
	}
	for name, spoil := range tests {
		b, _ := randomBlock()
		spoil(&b)
		if _, err := b.Docs(1000); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

// TestNewLexicon restores a lexicon that has lost some terms and adds to it.
func TestNewLexicon(t *testing.T) {
	var l Lexicon
	for i := range 3000 {
		l.Add(fmt.Sprint("t", i))
	}
	text, ends := l.View().Flat(func(id uint32) bool { return id%3 == 0 })
	got, err := NewLexicon(text, ends)
	if err != nil || got.Len() != 1000 {
		t.Fatalf("%d terms, %v", got.Len(), err)
	}
	view := got.View()
	for i := range 2000 {
		got.Add(fmt.Sprint("new", i))
	}
	for id := range uint32(1000) {
		want := fmt.Sprint("t", 3*id)
		if n, ok := view.Find(want); !ok || n != id || view.Term(id) != want || got.Add(want) != id {
			t.Errorf("%s is %d, %v", want, n, ok)
		}
	}
	if _, ok := view.Find("t1"); ok {
		t.Error("a term that was left out is found")
	}
	for name, ends := range map[string][]uint32{"twice": {1, 2}, "past the end": {1, 4}, "backwards": {2, 1}} {
		if l, err := NewLexicon([]byte("aab"), ends); err == nil {
			t.Errorf("%s: got %v", name, reflect.ValueOf(l))
		}
	}
}
