package bm25

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"sync/atomic"
)

// A Lexicon numbers terms from 0 in the order they are first added. One
// goroutine may add while any number read through Views taken earlier. It
// only grows: whoever keeps one for long rebuilds it when most of its terms
// are dead.
type Lexicon struct {
	text  []byte   // all terms, end to end
	ends  []uint32 // ends[i] is where term i ends in text
	table []uint32 // open addressing, a power of two long; number + 1, 0 when free
}

// A View is an immutable state of a Lexicon.
type View struct{ l Lexicon }

var hashSeed = maphash.MakeSeed()

// NewLexicon numbers terms that lie end to end in text, by their ends in it.
// Both are kept. A term that is there twice is refused.
func NewLexicon(text []byte, ends []uint32) (Lexicon, error) {
	start, size := uint32(0), 1024
	for _, end := range ends {
		if end < start || int(end) > len(text) {
			return Lexicon{}, fmt.Errorf("restore terms: %w", errMalformed)
		}
		start = end
	}
	for size < 2*(len(ends)+1) {
		size *= 2
	}
	l := Lexicon{text: text[:start:start], table: make([]uint32, size)}
	if !l.number(ends[:len(ends):len(ends)]) {
		return Lexicon{}, fmt.Errorf("restore terms: %w: one is there twice", errMalformed)
	}
	return l, nil
}

// Flat is what NewLexicon takes, for those terms that keep chooses.
func (v View) Flat(keep func(id uint32) bool) (text []byte, ends []uint32) {
	for id := range uint32(len(v.l.ends)) {
		if keep(id) {
			text = append(text, v.l.term(id)...)
			ends = append(ends, uint32(len(text)))
		}
	}
	return text, ends
}

// Add returns the number of term, giving it one if need be.
func (l *Lexicon) Add(term string) uint32 {
	return l.addBytes([]byte(term))
}

func (l *Lexicon) addBytes(term []byte) uint32 {
	if 2*(len(l.ends)+1) > len(l.table) {
		l.grow()
	}
	id, slot, ok := l.find(term)
	if ok {
		return id
	}
	id = uint32(len(l.ends))
	l.text = append(l.text, term...)
	l.ends = append(l.ends, uint32(len(l.text)))
	atomic.StoreUint32(&l.table[slot], id+1)
	return id
}

// Len is the number of terms.
func (l *Lexicon) Len() int { return len(l.ends) }

// View returns the lexicon as it is, unchanged by later additions.
func (l *Lexicon) View() View { return View{*l} }

// Len is the number of terms.
func (v View) Len() int { return len(v.l.ends) }

// Find returns the number of term, if it has one.
func (v View) Find(term string) (uint32, bool) {
	if len(v.l.table) == 0 {
		return 0, false
	}
	id, _, ok := v.l.find([]byte(term))
	return id, ok
}

// Term returns the term numbered id.
func (v View) Term(id uint32) string { return string(v.l.term(id)) }

func (l *Lexicon) term(id uint32) []byte {
	start := uint32(0)
	if id > 0 {
		start = l.ends[id-1]
	}
	return l.text[start:l.ends[id]]
}

// find returns the number of term, or the free slot where it belongs. Slots
// taken by terms that a view does not know yet are passed over.
func (l *Lexicon) find(term []byte) (id, slot uint32, ok bool) {
	mask := uint32(len(l.table) - 1)
	slot = uint32(maphash.Bytes(hashSeed, term)) & mask
	for {
		n := atomic.LoadUint32(&l.table[slot])
		if n == 0 {
			return 0, slot, false
		}
		if int(n) <= len(l.ends) && bytes.Equal(l.term(n-1), term) {
			return n - 1, slot, true
		}
		slot = (slot + 1) & mask
	}
}

// grow doubles the table into a new one, so that views keep theirs.
func (l *Lexicon) grow() {
	l.table = make([]uint32, max(1024, 2*len(l.table)))
	l.number(l.ends)
}

// number gives all terms their numbers in an empty table, and says whether
// each is there once.
func (l *Lexicon) number(ends []uint32) (distinct bool) {
	distinct = true
	for i := range ends {
		l.ends = ends[:i+1]
		term := l.term(uint32(i))
		l.ends = ends[:i]
		_, slot, twice := l.find(term)
		if twice {
			distinct = false
			continue
		}
		l.table[slot] = uint32(i) + 1
	}
	l.ends = ends
	return distinct
}
