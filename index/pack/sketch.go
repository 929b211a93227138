package pack

import (
	"hash/fnv"
	"unicode"
	"unicode/utf8"
)

const (
	// sketchSize is the number of bytes of a sketch, and of the minima in it.
	sketchSize = 48
	// closeEnough is how many bytes of two sketches must be equal for tools of
	// one name to be the same tool, and leastWords how many different words
	// each description must have: of shorter ones, a word more or less is
	// another product. Both are measured, see docs/decisions/pack.md.
	closeEnough = 20
	leastWords  = 12
)

const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
)

func nameHash(name string) uint32 {
	h := fnv.New64a()
	h.Write([]byte(name))
	sum := h.Sum64()
	return uint32(sum ^ sum>>32)
}

// wordsOf hashes the words of a text in turn, without case. A character of a
// script that is written without spaces is a word.
func wordsOf(text string) []uint64 {
	words := make([]uint64, 0, len(text)/6+1)
	h := uint64(offset64)
	flush := func() {
		if h != offset64 {
			words = append(words, h)
			h = offset64
		}
	}
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
				h = (h ^ uint64(r)) * prime64
			} else {
				flush()
			}
		case !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r):
			flush()
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			flush()
			words = append(words, (offset64^uint64(r))*prime64)
		default:
			h = (h ^ uint64(unicode.ToLower(r))) * prime64
		}
	}
	flush()
	return words
}

// keyOf is equal for tools of the same name and words.
func keyOf(name string, words []uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	key := h.Sum64()
	for _, w := range words {
		key = mix(key ^ w)
	}
	return key
}

// mix is the finaliser of splitmix64: every bit of x moves half of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func distinct(words []uint64) int {
	seen := make(map[uint64]bool, len(words))
	for _, w := range words {
		seen[w] = true
	}
	return len(seen)
}

// sketchOf is a minhash of the pairs of neighbouring words (Broder 1997), the
// lowest byte of each minimum (Li and König 2010): the share of bytes that two
// sketches have in common estimates the share of pairs that the texts have.
func sketchOf(words []uint64) (sketch [sketchSize]byte) {
	var least [sketchSize]uint64
	for i := range least {
		least[i] = ^uint64(0)
	}
	last := uint64(offset64)
	for _, w := range words {
		pair := mix(last) ^ w
		for i := range least {
			least[i] = min(least[i], mix(pair+uint64(i)*prime64))
		}
		last = w
	}
	for i, l := range least {
		sketch[i] = byte(l)
	}
	return sketch
}

// same counts the bytes that two sketches have in common.
func same(a *[sketchSize]byte, b []byte) (n int) {
	for i, x := range a {
		if x == b[i] {
			n++
		}
	}
	return n
}
