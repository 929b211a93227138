package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxMessage bounds one message of a server, in bytes.
const maxMessage = 32 << 20

// maxLine bounds a line that is read to its end only to get past it, in parts
// of the bound on lines.
const maxLine = 8

// errEndless reports a line that is not worth reading to its end.
var errEndless = errors.New("line without end")

// errLong reports a line over the bound; it is discarded to its end.
var errLong = errors.New("line too long")

// readLine returns the next line of r without its end. A line over limit
// bytes is read to its end and gives errLong with the id it answers, as far
// as one can be read.
func readLine(r *bufio.Reader, limit int) (line []byte, id jsonrpc.ID, err error) {
	var long *idScanner
	for size := 0; ; {
		part, err := r.ReadSlice('\n')
		if size += len(part); size > maxLine*limit {
			return nil, id, errEndless
		}
		switch {
		case long != nil:
			long.scan(part)
		case len(line)+len(part) > limit:
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
			return nil, long.id(), errLong
		}
		if err == io.EOF && len(line) > 0 {
			err = nil
		}
		return bytes.TrimRight(line, "\r\n"), id, err
	}
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
