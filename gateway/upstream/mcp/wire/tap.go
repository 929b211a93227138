package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
)

// MaxAsked bounds the requests of one server that wait for our answer, so
// that a babbling one does not pile up goroutines.
const MaxAsked = 64

// Reserved begins the _meta keys that belong to the protocol.
const Reserved = "io.modelcontextprotocol/"

// ErrNotNeeded ends a connection that has served.
var ErrNotNeeded = errors.New("connection no longer needed")

// A Sink takes what comes back for one request of ours from the wire, before
// the SDK sees it.
type Sink struct {
	Token string // progress token; "" asks for none
	List  bool   // the request is tools/list

	// Params go to the server as they are, in place of what the SDK makes of
	// them; it leaves out empty ones and reads into others.
	Params []rawjson.Member

	Sent     atomic.Bool // a byte of it may have reached the server
	Refused  atomic.Bool // the server turned the whole session away: it has not run
	Held     atomic.Bool // its answer waits for room
	Progress chan upstream.Progress
	id       jsonrpc.ID      // guarded by the tap, as the next two
	ctx      context.Context // of the request; nil until it is sent
	share    *Share          // of the answer

	mu     sync.Mutex // guards the fields below
	result json.RawMessage
	err    error // the server's *jsonrpc.Error, or what was wrong with its answer
}

type sinkKey struct{}

// WithSink has the request of the returned context end in s.
func WithSink(ctx context.Context, s *Sink) context.Context {
	return context.WithValue(ctx, sinkKey{}, s)
}

// SinkFrom returns the sink of the request of ctx, nil if it has none.
func SinkFrom(ctx context.Context) *Sink {
	s, _ := ctx.Value(sinkKey{}).(*Sink)
	return s
}

// Fail notes what was wrong with the answer; the first cause counts.
func (s *Sink) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// Outcome is the result object byte for byte, or what was wrong with it; both
// are nil when no answer was seen.
func (s *Sink) Outcome() (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result, s.err
}

// A Tap sees the messages of one connection. It keeps the answers' bytes for
// the sinks and gives the SDK stand-ins that it cannot fail to decode: its
// typed values lose what they do not know, and one bad tool or content block
// would fail the whole answer.
type Tap struct {
	Log     *slog.Logger
	changed func() // the server says that its list of tools has changed
	mask    mask.Masker
	Ctx     context.Context // of the connection
	room    *Room
	Useless func() *Allowance // makes the allowance of a stream

	onceBytes sync.Once // bytes that are not UTF-8 are told of

	mu      sync.Mutex // guards the fields below
	waiting map[jsonrpc.ID]*Sink
	tokens  map[string]*Sink
	asked   int // requests of the server that we have not answered
}

// NewTap returns a tap of the connection that ends with ctx. Its large
// messages share r, nil for what the process has; changed is called when the
// server says that its tools have.
func NewTap(ctx context.Context, log *slog.Logger, secrets mask.Masker, r *Room, changed func()) *Tap {
	if r == nil {
		r = processRoom
	}
	return &Tap{
		Ctx: ctx, Log: log, mask: secrets, room: r, changed: changed, Useless: NewAllowance,
		waiting: map[jsonrpc.ID]*Sink{}, tokens: map[string]*Sink{},
	}
}

// Holding is the number of answers that wait for room.
func (t *Tap) Holding() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.waiting {
		if s.Held.Load() {
			n++
		}
	}
	return n
}

// Outgoing takes note of a message that is about to be written, and returns
// the sink of the request, nil if it has none.
func (t *Tap) Outgoing(ctx context.Context, m jsonrpc.Message) *Sink {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.asked = max(0, t.asked-1)
		return nil
	}
	s := SinkFrom(ctx)
	if s == nil || !r.IsCall() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.id, s.ctx = r.ID, ctx
	t.waiting[r.ID] = s
	if s.Token != "" {
		t.tokens[s.Token] = s
	}
	return s
}

// hold gives the room of its answer to a request, unless that has ended.
func (t *Tap) hold(s *Sink, room *Share) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[s.id] != s || s.share != nil {
		return false
	}
	s.share = room
	return true
}

// RoomOf takes the room of the answer from a request.
func (t *Tap) RoomOf(s *Sink) *Share {
	t.mu.Lock()
	defer t.mu.Unlock()
	room := s.share
	s.share = nil
	return room
}

// Forget ends a request: what still comes for it is dropped.
func (t *Tap) Forget(s *Sink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.share.Release()
	s.share = nil
	delete(t.tokens, s.Token)
	if t.waiting[s.id] == s {
		delete(t.waiting, s.id)
	}
}

// SinkOf returns the sink that waits for the answer to id, nil if none does.
func (t *Tap) SinkOf(id jsonrpc.ID) *Sink {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[id]
}

// Incoming takes note of a message that was read and returns what the SDK
// shall see of it, nil for nothing.
func (t *Tap) Incoming(m jsonrpc.Message) jsonrpc.Message {
	switch m := m.(type) {
	case *jsonrpc.Response:
		return t.answer(m)
	case *jsonrpc.Request:
		if m.IsCall() {
			return t.question(m)
		}
		return t.notification(m)
	}
	return m
}

func (t *Tap) answer(m *jsonrpc.Response) jsonrpc.Message {
	s := t.SinkOf(m.ID)
	if s == nil {
		return m
	}
	if m.Error != nil {
		s.Fail(m.Error)
		return m
	}
	if raw := bytes.TrimSpace(m.Result); len(raw) == 0 || raw[0] != '{' {
		s.Fail(errors.New("the answer has no result object"))
		return ErrorResponse(m.ID, "no result object")
	}
	s.mu.Lock()
	s.result = m.Result
	s.mu.Unlock()
	if !s.List {
		// Decoding a result would take the SDK 64 KB, of which it learns nothing.
		return ErrorResponse(m.ID, "the result was taken")
	}
	return &jsonrpc.Response{ID: m.ID, Result: standIn(m.Result)}
}

// standIn is a list of tools in place of raw that always decodes. It keeps
// what the SDK makes Mcp-Param headers from, without a ttlMs: the SDK would
// answer the next listing from its cache.
func standIn(raw json.RawMessage) json.RawMessage {
	type tool struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	page := struct {
		Tools []tool `json:"tools"`
		TTL   int    `json:"ttlMs"`
	}{Tools: []tool{}}
	var wire struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if bytes.Contains(raw, []byte("x-mcp-header")) && json.Unmarshal(raw, &wire) == nil {
		for _, object := range wire.Tools {
			var one tool
			if bytes.Contains(object, []byte("x-mcp-header")) && json.Unmarshal(object, &one) == nil {
				page.Tools = append(page.Tools, one)
			}
		}
	}
	text, err := json.Marshal(page)
	if err != nil {
		return json.RawMessage(`{"tools":[]}`)
	}
	return text
}

func (t *Tap) question(m *jsonrpc.Request) jsonrpc.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked >= MaxAsked {
		t.Log.Debug("request of the server dropped: too many unanswered", "method", m.Method)
		return nil
	}
	t.asked++
	return m
}

func (t *Tap) notification(m *jsonrpc.Request) jsonrpc.Message {
	switch {
	case m.Method == "notifications/progress":
		t.report(m.Params)
		return nil
	case m.Method == "notifications/message":
		t.Log.Debug("log of the server", "params", string(Clip(m.Params, 1000)))
		return nil
	case m.Method == "notifications/tools/list_changed":
		// Kept from the SDK, which would forget the schemas that it makes
		// Mcp-Param headers from until the next list.
		t.changed()
		return nil
	case m.Method == "notifications/cancelled",
		strings.HasPrefix(m.Method, "notifications/subscriptions/"):
		return m
	}
	return nil
}

// report hands a progress notification to its call. One that finds the
// call's buffer full is dropped: reading must not wait for a slow caller.
func (t *Tap) report(params json.RawMessage) {
	var p struct {
		Token any `json:"progressToken"`
		upstream.Progress
	}
	if err := json.Unmarshal(params, &p); err != nil {
		t.Log.Debug("progress that does not decode", "error", err)
		return
	}
	token, _ := p.Token.(string)
	t.mu.Lock()
	s := t.tokens[token]
	t.mu.Unlock()
	if s == nil || s.Progress == nil {
		return
	}
	maps.DeleteFunc(p.Meta, func(key string, _ json.RawMessage) bool { return strings.HasPrefix(key, Reserved) })
	select {
	case s.Progress <- p.Progress:
	default:
	}
}

// ErrorResponse is an answer that fails the request id with text.
func ErrorResponse(id jsonrpc.ID, text string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}}
}

// Clip is at most n bytes of b, and an ellipsis for the rest.
func Clip(b []byte, n int) []byte {
	if len(b) > n {
		return append(bytes.Clone(b[:n]), "…"...)
	}
	return b
}
