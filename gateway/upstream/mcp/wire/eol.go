package wire

import (
	"bytes"
	"io"
)

// An eolReader ends the lines of an event stream by a newline each: they may
// come with a carriage return before it or in its place, and a byte order mark
// before all.
type eolReader struct {
	io.Reader
	begun bool
	cr    bool // the last byte was a carriage return, and is a newline already
}

// NewEvents returns the events of r with lines that end by a newline.
func NewEvents(r io.Reader) io.Reader { return &eolReader{Reader: r} }

// Read implements io.Reader.
func (r *eolReader) Read(p []byte) (int, error) {
	for {
		n, err := r.Reader.Read(p)
		data := p[:n]
		if !r.begun && n > 0 {
			r.begun = true
			data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		}
		kept := p[:0]
		for _, c := range data {
			lf := c == '\n' && r.cr
			if r.cr = c == '\r'; r.cr {
				c = '\n'
			}
			if !lf {
				kept = append(kept, c)
			}
		}
		if len(kept) > 0 || err != nil || len(p) == 0 {
			return len(kept), err
		}
	}
}
