package wire

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream/mask"
)

// A slowMessage is a message of 2 MB of which a part comes every half minute.
type slowMessage struct {
	t       *testing.T
	tap     *Tap
	cancel  context.CancelFunc // of the call that the message answers
	dropped chan struct{}
	in      *Intake
	out     *io.PipeWriter
	lines   *LineReader
	text    string
}

func newSlowMessage(t *testing.T) *slowMessage {
	m := &slowMessage{t: t, dropped: make(chan struct{})}
	m.tap = NewTap(t.Context(), slog.New(slog.DiscardHandler), mask.Masker{}, NewRoom(MaxMessage), nil)
	id, err := jsonrpc.MakeID(5.0)
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(WithSink(t.Context(), &Sink{}))
	m.tap.Outgoing(ctx, &jsonrpc.Request{ID: id, Method: "tools/call"})
	in, out := io.Pipe()
	m.in = NewIntake(m.tap, t.Context(), func() { close(m.dropped); out.CloseWithError(ErrStalled) })
	m.out, m.lines = out, NewLineReader(in, 4<<10, m.in)
	m.text = `{"jsonrpc":"2.0","id":5,"result":{"text":"` + strings.Repeat("x", 2*smallMessage) + `"}}`
	return m
}

// send writes parts of the message until so much of it is sent.
func (m *slowMessage) send(from, to int) {
	const part = 64 << 10
	for ; from < to; from += part {
		if _, err := io.WriteString(m.out, m.text[from:min(from+part, to)]); err != nil {
			return // dropped
		}
		<-time.After(arrivalTime / 2)
	}
}

// free reports whether all the room is there again.
func (m *slowMessage) free() bool {
	m.in.End()
	return m.tap.room.TryAcquire(MaxMessage)
}

func TestSlowMessageArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSlowMessage(t)
		defer m.cancel()
		go func() {
			m.send(0, len(m.text))
			io.WriteString(m.out, "\n")
		}()
		line, _, err := m.lines.Next()
		if err != nil || string(line) != m.text {
			t.Errorf("got %d bytes of %d, %v", len(line), len(m.text), err)
		}
		if !m.free() {
			t.Error("the room was not given back")
		}
	})
}

func TestStalledMessageIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSlowMessage(t)
		defer m.cancel()
		go m.send(0, smallMessage+smallMessage/2)
		if _, _, err := m.lines.Next(); err != ErrStalled {
			t.Errorf("got %v, want ErrStalled", err)
		}
		<-m.dropped
		if !m.free() {
			t.Error("the room was not given back")
		}
	})
}

// A message for which nobody waits any more is read past, and takes no room.
func TestSlowMessageForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSlowMessage(t)
		go func() {
			half := smallMessage + smallMessage/2
			m.send(0, half)
			m.cancel()
			m.send(half, len(m.text))
			io.WriteString(m.out, "\nnext\n")
		}()
		if _, id, err := m.lines.Next(); err != errUnwanted || !IsRefused(err) || id.Raw() != int64(5) {
			t.Errorf("got id %v, %v, want 5, errUnwanted", id.Raw(), err)
		}
		if !m.free() {
			t.Error("the room was not given back")
		}
		if line, _, err := m.lines.Next(); err != nil || string(line) != "next" {
			t.Errorf("after it: %q, %v", line, err)
		}
	})
}
