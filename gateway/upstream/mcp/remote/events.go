package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// drainTime is how long a stream may go on after the answer to its call: its
// end lets the connection be used again.
const drainTime = time.Second

// An eventStream is a body of server-sent events with each message replaced
// by what the tap lets through. Everything else passes as it came.
type eventStream struct {
	tap  *wire.Tap
	x    *exchange
	body io.ReadCloser
	r    *wire.LineReader
	room *wire.Intake
	drop bool // pass no answers and no event ids
	bare bool // pass endpoints and messages and nothing else: legacy SSE

	discovered func(*exchange, *jsonrpc.Response) // told of the answer to server/discover
	doubt      func(error)                        // told of a server that babbles
	useless    *wire.Allowance
	cost       int // of the event that is read; negative if it has an answer

	out  []byte // not yet read
	err  error  // what comes after out
	over bool   // the answer to the call was seen
	fail bool   // the answer was an error, or none of MCP
}

func newEventStream(t *wire.Tap, x *exchange, body io.ReadCloser) *eventStream {
	s := &eventStream{tap: t, x: x, body: body, doubt: func(error) {}, useless: t.Useless()}
	s.room = wire.NewIntake(t, x.ctx, func() { x.cancel(wire.ErrStalled) })
	s.r = wire.NewLineReader(wire.NewEvents(body), 4<<10, s.room)
	return s
}

// Read implements io.Reader.
func (s *eventStream) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.next()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *eventStream) Close() error {
	s.x.cancel(nil)
	return s.body.Close()
}

// next reads one event into out.
func (s *eventStream) next() {
	var lines, data []byte
	var kind string
	found := false
	s.cost = 0
	defer s.room.End()
	for {
		line, id, err := s.r.Next()
		if err == nil && len(data)+len(lines) > 0 {
			s.r.Refuses(data, len(lines)+len(line), &err)
		}
		if wire.IsRefused(err) {
			s.refused(id, err)
			return
		}
		if err != nil {
			s.err = err
			if s.discovered != nil && !s.over && s.x.silent() {
				s.unanswered()
				return
			}
		}
		if len(line) == 0 {
			break
		}
		s.cost += len(line)
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(key) {
		case "data":
			if found {
				data = append(data, '\n')
			}
			data, found = append(data, value...), true
			continue
		case "event":
			kind = string(value)
			continue
		case "id":
			if s.drop {
				continue
			}
		case "retry":
		default: // comments, which no event need ever follow
			if s.cost -= len(line); s.babbles(len(line)) {
				return
			}
			continue
		}
		lines = append(append(lines, line...), '\n')
		if err != nil {
			break
		}
	}
	if found && (kind == "" || kind == "message") {
		data = s.message(data)
	}
	if s.err == nil && s.cost >= 0 && s.babbles(s.cost) { // at the end it may be an answer that was cut off
		return
	}
	// The SDK takes any event of legacy SSE for a message.
	if s.bare && (len(data) == 0 || kind != "" && kind != "message" && kind != "endpoint") {
		return
	}
	if len(data) > 0 && kind != "" {
		lines = append(append(append(lines, "event: "...), kind...), '\n')
	}
	s.emit(lines, data)
}

// babbles takes n bytes from the allowance, and ends the stream if there is
// no more.
func (s *eventStream) babbles(n int) bool {
	if s.useless.Take(n, time.Now()) {
		return false
	}
	s.err = wire.ErrBabble
	if s.x.sink != nil {
		s.x.sink.Fail(fmt.Errorf("%w: %w", upstream.ErrGone, wire.ErrBabble))
	}
	s.x.cancel(wire.ErrBabble)
	s.doubt(wire.ErrBabble)
	return true
}

// sinkOf returns the sink of the request that r answers, nil for none.
func (s *eventStream) sinkOf(r *jsonrpc.Response) *wire.Sink {
	if r == nil {
		return nil
	}
	return s.tap.SinkOf(r.ID)
}

// emit puts one event into out.
func (s *eventStream) emit(lines, data []byte) {
	s.out = append(s.out[:0], lines...)
	if len(data) > 0 {
		for part := range strings.SplitSeq(string(data), "\n") {
			s.out = append(append(append(s.out, "data: "...), part...), '\n')
		}
	}
	if len(s.out) > 0 {
		s.out = append(s.out, '\n')
	}
}

// message returns what the SDK shall see of one message.
func (s *eventStream) message(data []byte) []byte {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	m, err := s.tap.Read(data)
	if err != nil {
		s.tap.Log.Debug("event that is not of MCP", "error", err, "data", string(wire.Clip(data, 200)))
		return nil
	}
	s.cost /= wire.OwnCost
	r, answer := m.(*jsonrpc.Response)
	if answer && s.drop {
		s.fail = s.fail || r.Error != nil
		return nil
	}
	if answer && s.discovered != nil && r.ID == s.x.call.ID {
		s.discovered(s.x, r)
	}
	if waiting := s.sinkOf(r); waiting != nil {
		s.room.Pass(waiting, len(data))
		s.cost = -1
	}
	if m = s.tap.Incoming(m); m == nil {
		return nil
	}
	if answer && s.x.call != nil && r.ID == s.x.call.ID {
		s.finish()
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		s.tap.Log.Debug("message does not encode", "error", err)
		return nil
	}
	return text
}

// unanswered ends a stream that should have answered server/discover.
func (s *eventStream) unanswered() {
	s.discovered(s.x, nil)
	s.err = io.EOF
	text, err := jsonrpc.EncodeMessage(wire.NotSupported(s.x.call.ID))
	if err != nil {
		s.err = err
		return
	}
	s.emit(nil, text)
}

// finish lets the stream run out for a moment, whatever becomes of the call.
func (s *eventStream) finish() {
	if s.over {
		return
	}
	s.over = true
	s.x.detach()
	time.AfterFunc(drainTime, func() { s.x.cancel(wire.ErrNotNeeded) })
}

// refused fails the request that a discarded event answers, and ends a stream
// that is for one call.
func (s *eventStream) refused(id jsonrpc.ID, why error) {
	if !id.IsValid() && s.x.call != nil {
		id = s.x.call.ID
	}
	waiting := s.tap.SinkOf(id)
	if waiting == nil {
		s.tap.Log.Warn("event discarded", "error", why)
		return
	}
	waiting.Fail(why)
	if s.x.call != nil {
		s.err = io.EOF
		s.finish()
	}
	text, err := jsonrpc.EncodeMessage(wire.ErrorResponse(id, why.Error()))
	if err != nil {
		s.err = errors.Join(why, err)
		return
	}
	s.emit(nil, text)
}
