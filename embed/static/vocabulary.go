package static

import (
	"fmt"
	"strings"
)

// A vocabulary finds rows by name. The names stay in the vocabulary file,
// whose lines are the rows; an open-addressing hash table finds them. A map
// of 40,000 strings would take four times the memory and start-up time.
type vocabulary struct {
	file    string
	starts  []uint32 // starts[r] is where row r's name begins in file
	slots   []uint32 // hash tag in the upper half, row+1 in the lower; 0 is free
	longest int      // bytes of the longest name, "##" not counted
}

// A name is looked up either as a whole piece or as the continuation of one;
// continuations are written "##name". The two hash with different seeds.
type place uint32

const (
	whole place = 2166136261 // the offset basis of FNV-1a
	after place = 0x9e3779b9
)

const contMark = "##"

func (h place) add(c byte) place { return (h ^ place(c)) * 16777619 }

// mix spreads FNV's weak upper bits before they choose a slot and a tag.
func (h place) mix() uint32 {
	x := uint32(h)
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	return x
}

const (
	maxRows  = 1<<16 - 2
	slotBits = 17
)

// checkVocabulary reports a file that newVocabulary cannot take.
func checkVocabulary(file string, rows int) error {
	if rows < 1 || rows > maxRows {
		return fmt.Errorf("%d rows, at most %d are possible", rows, maxRows)
	}
	if n := strings.Count(file, "\n"); n != rows || !strings.HasSuffix(file, "\n") {
		return fmt.Errorf("%d lines, want %d", n, rows)
	}
	return nil
}

func newVocabulary(file string, rows int) *vocabulary {
	v := &vocabulary{file: file, starts: make([]uint32, 1, rows+1), slots: make([]uint32, 1<<slotBits)}
	for start := 0; start < len(file); {
		end := start + strings.IndexByte(file[start:], '\n')
		v.insert(uint32(len(v.starts)-1), file[start:end])
		start = end + 1
		v.starts = append(v.starts, uint32(start))
	}
	return v
}

func (v *vocabulary) insert(row uint32, name string) {
	h := whole
	if rest, ok := strings.CutPrefix(name, contMark); ok {
		h, name = after, rest
	}
	v.longest = max(v.longest, len(name))
	for i := range len(name) {
		h = h.add(name[i])
	}
	x := h.mix()
	i := x >> (32 - slotBits)
	for v.slots[i] != 0 {
		i = (i + 1) % (1 << slotBits)
	}
	v.slots[i] = x<<16 | (row + 1)
}

// name is the row's line in the vocabulary file.
func (v *vocabulary) name(row uint32) string {
	return v.file[v.starts[row] : v.starts[row+1]-1]
}

// find returns the row of a name whose hash, begun at from, is h.
func (v *vocabulary) find(name []byte, from, h place) (uint32, bool) {
	x := h.mix()
	for i := x >> (32 - slotBits); v.slots[i] != 0; i = (i + 1) % (1 << slotBits) {
		slot := v.slots[i]
		if slot>>16 != x&0xffff {
			continue
		}
		row := slot&0xffff - 1
		line := v.name(row)
		if from == after {
			if len(line) < len(contMark) || line[:len(contMark)] != contMark {
				continue
			}
			line = line[len(contMark):]
		}
		if line == string(name) {
			return row, true
		}
	}
	return 0, false
}

// row finds a whole name.
func (v *vocabulary) row(name []byte) (uint32, bool) {
	if len(name) > v.longest {
		return 0, false
	}
	h := whole
	for _, c := range name {
		h = h.add(c)
	}
	return v.find(name, whole, h)
}

// prefix finds the longest name that begins word, and its length. hashes is
// room for one hash a byte of the longest name.
func (v *vocabulary) prefix(word []byte, from place, hashes []place) (row uint32, n int) {
	word = word[:min(len(word), v.longest)]
	h := from
	for i, c := range word {
		h = h.add(c)
		hashes[i] = h
	}
	for n := len(word); n > 0; n-- {
		if row, ok := v.find(word[:n], from, hashes[n-1]); ok {
			return row, n
		}
	}
	return 0, 0
}
