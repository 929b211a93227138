package static

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// A scratch holds one text's tokens and the room to find them, so that
// embedding allocates nothing but its result.
type scratch struct {
	vocab  *vocabulary
	counts []uint32 // by row; only the rows below are not 0
	rows   []uint32 // the distinct rows, in order of appearance
	total  int      // tokens, repetitions counted

	piece  []uint32 // rows of one word until it is known to be covered
	hashes []place
	buf    []byte // the segment being read, lower-case
	spare  []byte
	lower  cases.Caser // keeps state, so it is not shared
}

func newScratch(rows int) *scratch {
	return &scratch{counts: make([]uint32, rows), lower: cases.Lower(language.Und)}
}

// keep is the size above which a buffer that one long text grew is dropped.
const keep = 1 << 16

func (s *scratch) clear() {
	s.reset()
	if cap(s.buf) > keep || cap(s.spare) > keep {
		s.buf, s.spare = nil, nil
	}
	if cap(s.rows) > keep || cap(s.piece) > keep {
		s.rows, s.piece = nil, nil
	}
}

func (s *scratch) reset() {
	for _, r := range s.rows {
		s.counts[r] = 0
	}
	s.rows, s.total = s.rows[:0], 0
}

// segment is how much text is lower-cased at a time: a capped field needs
// only the beginning of a long text.
const segment = 256

// tokenise replaces the tokens of s by those of text. It stops before the
// first piece that finds limit tokens taken, so a field may pass its limit by
// the last piece's.
func (s *scratch) tokenise(text string, limit int) {
	s.reset()
	if len(s.hashes) < s.vocab.longest {
		s.hashes = make([]place, s.vocab.longest)
	}
	for start := 0; start < len(text) && s.total < limit; {
		end := min(start+segment, len(text))
		for end < len(text) && text[end] != ' ' && text[end] != '\n' {
			end++
		}
		s.fold(text[start:end])
		s.pieces(limit)
		start = end
	}
}

// fold writes text to s.buf: a space where an identifier's humps meet,
// lower case, no accents.
func (s *scratch) fold(text string) {
	buf, ascii := s.buf[:0], true
	for i := range len(text) {
		c := text[i]
		switch {
		case 'A' <= c && c <= 'Z':
			if hump(text, i) {
				buf = append(buf, ' ')
			}
			c |= 0x20
		case c >= utf8.RuneSelf:
			ascii = false
		}
		buf = append(buf, c)
	}
	s.buf = buf
	if !ascii {
		s.foldUnicode()
	}
}

// hump reports whether the capital at i begins a part of an identifier:
// after a small letter or digit (getHTTP), or as the last capital of a run
// before a small letter (HTTPStatus).
func hump(text string, i int) bool {
	if i == 0 {
		return false
	}
	prev := text[i-1]
	if 'a' <= prev && prev <= 'z' || '0' <= prev && prev <= '9' {
		return true
	}
	return 'A' <= prev && prev <= 'Z' && i+1 < len(text) && 'a' <= text[i+1] && text[i+1] <= 'z'
}

// foldUnicode lower-cases s.buf and removes the accents U+0300 to U+036F.
// Other marks stay: Japanese voicing marks tell letters apart.
func (s *scratch) foldUnicode() {
	need := 3*len(s.buf) + utf8.UTFMax // no lower-case form is longer
	if cap(s.spare) < need {
		s.spare = make([]byte, need)
	}
	s.lower.Reset()
	n, _, err := s.lower.Transform(s.spare[:need], s.buf, true)
	if err == transform.ErrShortDst {
		n = copy(s.spare[:need], s.buf) // cannot be, by need; unfolded beats lost
	}
	s.buf = stripAccents(s.buf[:0], s.spare[:n])
	s.spare = norm.NFC.Append(s.spare[:0], s.buf...)
	s.buf, s.spare = s.spare, s.buf
}

// stripAccents appends text to dst without accents, canonically equivalent
// to text decomposed and stripped. Only characters with an accent are
// decomposed: what stays whole needs no room to be composed again.
func stripAccents(dst, text []byte) []byte {
	for len(text) > 0 {
		p := norm.NFD.Properties(text)
		size := max(p.Size(), 1)
		if d := p.Decomposition(); hasAccent(d) {
			dst = appendUnaccented(dst, d)
		} else {
			dst = appendUnaccented(dst, text[:size])
		}
		text = text[size:]
	}
	return dst
}

func isAccent(r rune) bool { return 0x300 <= r && r <= 0x36f }

func hasAccent(decomposed []byte) bool {
	for b := decomposed; len(b) > 0; {
		r, size := utf8.DecodeRune(b)
		if isAccent(r) {
			return true
		}
		b = b[size:]
	}
	return false
}

func appendUnaccented(dst, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if !isAccent(r) {
			dst = append(dst, text[:size]...)
		}
		text = text[size:]
	}
	return dst
}

// pieces cuts s.buf into runs of a-z, of 0-9 and of other letters, and adds
// each one's rows. Everything else separates.
func (s *scratch) pieces(limit int) {
	for b := s.buf; len(b) > 0 && s.total < limit; {
		c, n := b[0], 1
		switch {
		case 'a' <= c && c <= 'z':
			for n < len(b) && 'a' <= b[n] && b[n] <= 'z' {
				n++
			}
			s.word(b[:n])
		case '0' <= c && c <= '9':
			for n < len(b) && '0' <= b[n] && b[n] <= '9' {
				n++
			}
			s.number(b[:n])
		case c >= utf8.RuneSelf:
			n = s.letters(b)
		}
		b = b[n:]
	}
}

func (s *scratch) add(row uint32) {
	if s.counts[row] == 0 {
		s.rows = append(s.rows, row)
	}
	s.counts[row]++
	s.total++
}

func (s *scratch) addNamed(name []byte) {
	if row, ok := s.vocab.row(name); ok {
		s.add(row)
	}
}

// word adds the rows that cover w, greedily longest first (WordPiece); a
// word that they do not cover gives none.
func (s *scratch) word(w []byte) {
	s.piece = s.piece[:0]
	for from := whole; len(w) > 0; from = after {
		row, n := s.vocab.prefix(w, from, s.hashes)
		if n == 0 {
			return
		}
		s.piece = append(s.piece, row)
		w = w[n:]
	}
	for _, row := range s.piece {
		s.add(row)
	}
}

var numbers = [...][]byte{2: []byte("<num2>"), 3: []byte("<num3>"), 4: []byte("<num4>")}

var year = []byte("<year>")

func (s *scratch) number(d []byte) {
	switch {
	case len(d) == 1:
		s.addNamed(d)
	case len(d) == 4 && "1900" <= string(d) && string(d) <= "2099":
		s.addNamed(year)
	default:
		s.addNamed(numbers[min(len(d), 4)])
	}
}

// letters adds the rows of the run of letters outside a-z that begins b, and
// returns its length in bytes, at least that of one character.
func (s *scratch) letters(b []byte) int {
	n, east := 0, false
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if r < utf8.RuneSelf || !unicode.In(r, unicode.L, unicode.Nl, unicode.No) {
			if n == 0 {
				return size
			}
			break
		}
		east = east || isCJK(r)
		n += size
	}
	if east {
		s.characters(b[:n])
	} else {
		s.addNamed(b[:n])
	}
	return n
}

func isCJK(r rune) bool {
	return 0x3040 <= r && r <= 0x30ff || 0x3400 <= r && r <= 0x9fff || 0xac00 <= r && r <= 0xd7af
}

// characters adds every character of a run that is a row, then every pair of
// neighbours that is one.
func (s *scratch) characters(run []byte) {
	for b := run; len(b) > 0; {
		_, size := utf8.DecodeRune(b)
		s.addNamed(b[:size])
		b = b[size:]
	}
	for b := run; len(b) > 0; {
		_, first := utf8.DecodeRune(b)
		if _, second := utf8.DecodeRune(b[first:]); second > 0 {
			s.addNamed(b[:first+second])
		}
		b = b[first:]
	}
}
