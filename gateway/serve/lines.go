package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/words"
)

// A messageReader passes on the lines of in that are messages which the SDK
// is to see. Others are answered here, as the SDK would end the session over
// them; a batch is taken apart, as the SDK loses count of its notifications.
type messageReader struct {
	io.Closer
	lines   *bufio.Scanner
	rest    []byte // of what is being read
	out     *lockedWriter
	version string // that initialize asked for
	batches *batches
}

func newMessageReader(in io.ReadCloser, out *lockedWriter, b *batches) *messageReader {
	r := &messageReader{Closer: in, lines: bufio.NewScanner(in), out: out, batches: b}
	r.lines.Buffer(nil, maxBody)
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
		var err error
		if line[0] == '[' && json.Valid(line) {
			err = r.batch(line)
		} else if passed, id, refused := r.check(line); refused == nil {
			r.rest = append(passed, '\n') // over the line's own end in the scanner's buffer, or a copy
		} else if id != nil {
			err = r.write(errorMessage(id, refused))
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *messageReader) write(line []byte) error {
	_, err := r.out.Write(append(line, '\n'))
	return err
}

// check reads a message. It returns its form for the SDK, or why it is not
// passed on and which id the answer has, nil where a notification gets none.
func (r *messageReader) check(raw []byte) (passed, id json.RawMessage, refused *jsonrpc.Error) {
	m, wrong := readMessage(raw)
	if wrong == nil {
		wrong = m.refusal(m.version())
	}
	id = m.id
	if id == nil && (m.method == "" || wrong != nil && wrong.Code == jsonrpc.CodeInvalidRequest) {
		id = json.RawMessage("null")
	}
	if wrong != nil {
		return nil, id, wrong
	}
	passed, marked := m.forSDK()
	if marked {
		r.out.restore.Store(true)
	}
	if _, err := jsonrpc.DecodeMessage(passed); err != nil { // it would end the session
		return nil, id, invalid("%v", err)
	}
	if m.method == "initialize" {
		r.version = text(m.params, "protocolVersion")
	}
	return passed, id, nil
}

// batch passes on the messages of a batch. Their answers, and those of the
// messages that are refused, go out as one line.
func (r *messageReader) batch(line []byte) error {
	refuse := func(why string) error {
		return r.write(errorMessage(nil, invalid("%s", why)))
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(line, &messages); err != nil || len(messages) == 0 {
		return refuse("an empty batch")
	}
	if r.version >= firstWithoutBatches {
		return refuse("protocol version " + words.Excerpt(r.version) + " has no batches")
	}
	if len(messages) > maxBatch {
		return refuse(fmt.Sprintf("a batch of %d messages, of at most %d: send it in parts", len(messages), maxBatch))
	}
	b := &batch{}
	var passed []byte
	for _, raw := range messages {
		one, id, refused := r.check(raw)
		if refused == nil {
			// check has decoded it before
			msg, _ := jsonrpc.DecodeMessage(one)
			if request, ok := msg.(*jsonrpc.Request); ok && request.IsCall() && !r.batches.add(request.ID, b) {
				refused = invalid("its id is in use")
			}
		}
		switch {
		case refused == nil:
			passed = append(append(passed, one...), '\n')
		case id != nil:
			b.answers = append(b.answers, errorMessage(id, refused))
		}
	}
	r.rest = passed
	if b.waiting == 0 && len(b.answers) > 0 { // no request is open, so nobody else answers b
		return r.write(rawjson.Array(b.answers))
	}
	return nil
}

// maxBatch bounds the messages of a batch, as each of them may be a call.
const maxBatch = 100

// firstWithoutBatches is the protocol version that took batches away.
const firstWithoutBatches = "2025-06-18"

// batches are the batches whose requests are not all answered.
type batches struct {
	mu   sync.Mutex // guards byID and every batch in it
	byID map[jsonrpc.ID]*batch
}

type batch struct {
	waiting int // requests without an answer
	answers []json.RawMessage
}

// add counts a request into b, unless its id is in use.
func (all *batches) add(id jsonrpc.ID, b *batch) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byID == nil {
		all.byID = map[jsonrpc.ID]*batch{}
	}
	if all.byID[id] != nil {
		return false
	}
	all.byID[id] = b
	b.waiting++
	return true
}

// answered takes the answer to a request, nil for one that was cancelled. It
// reports whether the request is of a batch, and the line to write when the
// batch is complete.
func (all *batches) answered(id jsonrpc.ID, answer func() ([]byte, error)) (line []byte, of bool, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	b := all.byID[id]
	if b == nil {
		return nil, false, nil
	}
	delete(all.byID, id)
	b.waiting--
	if answer != nil {
		text, err := answer()
		if err != nil {
			return nil, true, err
		}
		b.answers = append(b.answers, text)
	}
	if b.waiting == 0 && len(b.answers) > 0 {
		line = append(rawjson.Array(b.answers), '\n')
	}
	return line, true, nil
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

// A lockedWriter keeps whole lines together that two writers write. Its Close
// leaves the output open.
type lockedWriter struct {
	restore atomic.Bool // lines may have ids to restore

	mu sync.Mutex // guards w
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := p
	if l.restore.Load() {
		line = restoreIDs(p)
	}
	if _, err := l.w.Write(line); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (*lockedWriter) Close() error { return nil }
