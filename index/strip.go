package index

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/tooldex/tooldex/index/analysis"
)

// A strip holds one text of each document in one piece of memory: to read all
// of them takes a fraction of the time that as many strings take.
type strip struct {
	text []byte // and stride bytes more, for contains to read past the last
	from []int  // where the texts begin, by document, and where the last ends
}

const stride = 16 // of contains, in bytes

func newStrip(docs, size int) *strip {
	return &strip{text: make([]byte, 0, size+stride), from: make([]int, 1, docs+1)}
}

// end ends the text of the next document.
func (s *strip) end() { s.from = append(s.from, len(s.text)) }

// seal ends the strip.
func (s *strip) seal() *strip {
	s.text = append(s.text, make([]byte, stride)...)
	return s
}

func (s *strip) of(doc uint) []byte { return s.text[s.from[doc]:s.from[doc+1]] }

// foldDescriptions makes the strip of descriptions as DescriptionContains
// compares them.
func foldDescriptions(docs []*document) *strip {
	size := 0
	for _, d := range docs {
		size += len(d.tool.Description)
	}
	s := newStrip(len(docs), size)
	for _, d := range docs {
		at := len(s.text)
		s.text = append(s.text, d.tool.Description...)
		if !foldASCII(s.text[at:]) {
			s.text = append(s.text[:at], analysis.Fold(d.tool.Description)...)
		}
		s.end()
	}
	return s.seal()
}

// foldASCII does as analysis.Fold, in place and without garbage. It gives up
// at text that is not ASCII.
func foldASCII(text []byte) bool {
	for ; len(text) >= 8; text = text[8:] {
		w := binary.LittleEndian.Uint64(text)
		if w&highBits != 0 {
			return false
		}
		fromA, aboveZ := w+eachByte*(0x80-'A'), w+eachByte*(0x7f-'Z')
		upper := fromA &^ aboveZ & highBits
		binary.LittleEndian.PutUint64(text, w|upper>>2) // 0x80 to 0x20, the bit that makes lower case
	}
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
		if 'A' <= c && c <= 'Z' {
			text[i] = c | 0x20
		}
	}
	return true
}

// A needle is a text that is looked for in many others.
type needle struct {
	text        []byte
	first, last uint64 // its first and last byte, in each byte of a word
}

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

func newNeedle(text string) *needle {
	n := &needle{text: []byte(text)}
	if len(text) > 0 {
		n.first = eachByte * uint64(text[0])
		n.last = eachByte * uint64(text[len(text)-1])
	}
	return n
}

// contains says whether a document's text has the needle. It looks for places
// that have the first and the last byte at the right distance, sixteen at
// once, and reads what is between only there (W. Muła, "SIMD-friendly
// algorithms for substring searching", in words of eight bytes). bytes.Contains
// stops at each first byte, which text has every few words, and takes about
// three times as long.
func (s *strip) contains(doc uint, n *needle) bool {
	at, end := s.from[doc], s.from[doc+1]
	further := len(n.text) - 1
	if further < 0 {
		return true
	}
	for ; at+further < end; at += stride {
		first, last := (*[stride]byte)(s.text[at:]), (*[stride]byte)(s.text[at+further:])
		a := n.places(first[:8], last[:8])
		b := n.places(first[8:], last[8:])
		if a|b != 0 && (n.begins(s.text[at:end], a) || n.begins(s.text[min(at+8, end):end], b)) {
			return true
		}
	}
	return false
}

// places marks the bytes of a word where the needle may begin: all those where
// first has its first and last its last byte, and seldom others.
func (n *needle) places(first, last []byte) uint64 {
	differ := binary.LittleEndian.Uint64(first) ^ n.first
	differ |= binary.LittleEndian.Uint64(last) ^ n.last
	return (differ - eachByte) &^ differ & highBits // of bytes that are 0
}

// begins says whether the needle is in text at one of the places.
func (n *needle) begins(text []byte, places uint64) bool {
	for ; places != 0; places &= places - 1 {
		if bytes.HasPrefix(text[min(bits.TrailingZeros64(places)/8, len(text)):], n.text) {
			return true
		}
	}
	return false
}
