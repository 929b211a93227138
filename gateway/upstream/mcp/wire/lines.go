package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
)

// MaxMessage bounds one message of a server, in bytes.
const MaxMessage = 32 << 20

// maxLine bounds a line that is read to its end only to get past it, in parts
// of the bound on lines.
const maxLine = 8

// ErrEndless reports a line that is not worth reading to its end.
var ErrEndless = errors.New("line without end")

// A LineReader reads lines of bounded length.
type LineReader struct {
	*bufio.Reader
	limit int
	in    *Intake // makes room for lines over smallMessage
}

// NewLineReader returns a reader of messages through a buffer of size bytes; in
// has room for the large ones.
func NewLineReader(r io.Reader, size int, in *Intake) *LineReader {
	return &LineReader{bufio.NewReaderSize(arriving{r, in}, size), MaxMessage, in}
}

// Next returns the next line without its end. One over the limit, which gives
// ErrTooLarge, or not admitted is read to its end and gives the id it
// answers, as far as one can be read.
func (r *LineReader) Next() (line []byte, id jsonrpc.ID, err error) {
	var long *idScanner
	var refused error
	for size := 0; ; {
		part, err := r.ReadSlice('\n')
		if size += len(part); size > maxLine*r.limit {
			return nil, id, ErrEndless
		}
		switch {
		case long != nil:
			long.scan(part)
		case r.Refuses(line, len(part), &refused):
			long = new(idScanner)
			long.scan(line)
			long.scan(part)
			line = nil
		case line == nil && err == nil:
			return bytes.TrimRight(part, "\r\n"), id, nil // valid until the next read
		default:
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long != nil && (err == nil || err == io.EOF) {
			return nil, long.id(), refused
		}
		if err == io.EOF && len(line) > 0 {
			err = nil
		}
		return bytes.TrimRight(line, "\r\n"), id, err
	}
}

// More waits for what follows, and says whether anything does.
func (r *LineReader) More() bool {
	_, err := r.Peek(1)
	return err == nil
}

// Refuses says, and leaves in why, that line must not grow by more bytes.
func (r *LineReader) Refuses(line []byte, more int, why *error) bool {
	switch {
	case len(line)+more > r.limit:
		*why = upstream.ErrTooLarge
	case len(line) > smallMessage:
		*why = r.in.wanted()
	case len(line)+more > smallMessage:
		*why = r.in.admit(line)
	}
	return *why != nil
}

// An idScanner finds the id of a JSON-RPC message in constant memory: the
// value of the key "id" at the top level.
type idScanner struct {
	depth    int
	inString bool
	escaped  bool
	token    []byte // at most 256 bytes
	key      []byte // the key whose value comes next, at depth 1
	value    []byte // of id
}

func (s *idScanner) scan(b []byte) {
	for _, c := range b {
		s.step(c)
	}
}

func (s *idScanner) step(c byte) {
	if s.inString {
		s.collect(c)
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.inString = false
		}
		return
	}
	switch c {
	case '"':
		s.inString = true
		s.token = s.token[:0]
		s.collect(c)
	case '{', '[':
		s.depth++
		s.token = s.token[:0]
	case '}', ']':
		s.end()
		s.depth--
	case ',':
		s.end()
	case ':':
		if s.depth == 1 {
			s.key = append(s.key[:0], s.token...)
		}
		s.token = s.token[:0]
	case ' ', '\t', '\r', '\n':
	default:
		s.collect(c)
	}
}

func (s *idScanner) collect(c byte) {
	if s.depth == 1 && len(s.token) < 256 {
		s.token = append(s.token, c)
	}
}

func (s *idScanner) end() {
	if s.depth == 1 && string(s.key) == `"id"` && s.value == nil {
		s.value = bytes.Clone(s.token)
	}
	s.token = s.token[:0]
	if s.depth == 1 {
		s.key = s.key[:0]
	}
}

func (s *idScanner) id() jsonrpc.ID {
	var v any
	if json.Unmarshal(s.value, &v) != nil {
		return jsonrpc.ID{}
	}
	id, err := jsonrpc.MakeID(v)
	if err != nil {
		return jsonrpc.ID{}
	}
	return id
}
