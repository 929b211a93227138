package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A messageReader passes on the lines of in that are messages. Others are
// answered with a parse error, as the SDK would end the session over them.
type messageReader struct {
	io.Closer
	lines  *bufio.Scanner
	rest   []byte // of the line being read
	refuse func(code int, why error) error
}

func newMessageReader(in io.ReadCloser, out io.Writer) *messageReader {
	r := &messageReader{Closer: in, lines: bufio.NewScanner(in)}
	r.lines.Buffer(nil, maxBody)
	r.refuse = func(code int, why error) error {
		_, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`+"\n", code, quote(why.Error()))
		return err
	}
	return r
}

func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if !r.lines.Scan() {
			return 0, r.end()
		}
		line := bytes.TrimSpace(r.lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if code, err := checkMessage(line); err != nil {
			if err := r.refuse(code, err); err != nil {
				return 0, err
			}
			continue
		}
		r.rest = append(line, '\n') // over the line's own end in the scanner's buffer, or a copy
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// end is why there are no further lines.
func (r *messageReader) end() error {
	switch err := r.lines.Err(); {
	case err == nil:
		return io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("read message: a line is longer than %d bytes", maxBody)
	default:
		return fmt.Errorf("read message: %w", err)
	}
}

// checkMessage says why line is no message or batch of them.
func checkMessage(line []byte) (code int, err error) {
	if !json.Valid(line) {
		return jsonrpc.CodeParseError, fmt.Errorf("parse error: not JSON: %s", excerpt(line))
	}
	if line[0] == '[' {
		return 0, nil
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return jsonrpc.CodeInvalidRequest, fmt.Errorf("invalid request: %w", err)
	}
	return 0, nil
}

// A lockedWriter keeps whole lines together that two writers write. Its Close
// leaves the output open.
type lockedWriter struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (*lockedWriter) Close() error { return nil }
