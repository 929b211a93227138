package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A Screen writes for people. Names, descriptions and errors come from servers
// that may mean harm, and a terminal obeys control characters, so whatever
// moves the cursor, reorders text or is not seen is written as JSON escapes
// it: ESC is \u001b. Only line ends and tabs pass. JSON that is written
// through it stays the same when it is read.
type Screen struct {
	w io.Writer

	mu   sync.Mutex // guards the field below
	rest []byte     // the beginning of a character whose end is not written yet
}

// NewScreen is a screen on w.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// Write escapes p.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, p...)
	s.rest = nil
	for i := max(0, len(text)-utf8.UTFMax+1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			s.rest = append([]byte(nil), text[i:]...)
			text = text[:i]
		}
	}
	if _, err := io.WriteString(s.w, Visible(string(text))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes what is left of a character that never ended.
func (s *Screen) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) == 0 {
		return nil
	}
	s.rest = nil
	_, err := io.WriteString(s.w, string(utf8.RuneError))
	return err
}

// bold writes a line in bold type, if w is a terminal.
func bold(w io.Writer, line string) {
	if Width(w) == 0 {
		fmt.Fprintln(w, line)
		return
	}
	fmt.Fprintf(under(w), "\x1b[1m%s\x1b[0m\n", Visible(line))
}

// under is what a screen writes to; other writers are themselves.
func under(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok {
		return s.w
	}
	return w
}

// Visible escapes what a terminal would obey or not show, but for line ends
// and tabs.
func Visible(s string) string {
	return escaped(s, func(r rune) bool { return r != '\n' && r != '\t' && Unseen(r) })
}

// Flat is Visible for a text that must stay on its line.
func Flat(s string) string { return escaped(s, Unseen) }

func escaped(s string, hide func(rune) bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || hide(r) }) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n") && !hide('\n'): // a line end of Windows
		case !hide(r):
			b.WriteRune(r) // bytes that are no UTF-8 become U+FFFD
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Unseen tells whether r is a control or format character, a separator of
// lines, or one of those that are drawn as nothing: bidi marks, zero width
// ones, tags, fillers, selectors of variants.
func Unseen(r rune) bool {
	return r < ' ' || r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) ||
		r >= 0xe0100 && r <= 0xe01ef
}
