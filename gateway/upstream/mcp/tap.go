package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream/mask"
)

// maxAsked bounds the requests of one server that wait for our answer, so
// that a babbling one does not pile up goroutines.
const maxAsked = 64

// A sink takes what comes back for one request of ours from the wire, before
// the SDK sees it.
type sink struct {
	token string // progress token; "" asks for none
	list  bool   // the request is tools/list

	sent     atomic.Bool // a byte of it may have reached the server
	refused  atomic.Bool // the server turned the whole session away: it has not run
	held     atomic.Bool // its answer waits for room
	progress chan progress
	id       jsonrpc.ID      // guarded by the tap, as the next two
	ctx      context.Context // of the request; nil until it is sent
	share    *share          // of the answer

	mu     sync.Mutex // guards the fields below
	result json.RawMessage
	err    error // the server's *jsonrpc.Error, or what was wrong with its answer
}

type progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
	Message  string  `json:"message"`
}

type sinkKey struct{}

func withSink(ctx context.Context, s *sink) context.Context {
	return context.WithValue(ctx, sinkKey{}, s)
}

// fail notes what was wrong with the answer; the first cause counts.
func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *sink) outcome() (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result, s.err
}

// A tap sees the messages of one connection. It keeps the answers' bytes for
// the sinks and gives the SDK stand-ins that it cannot fail to decode: its
// typed values lose what they do not know, and one bad tool or content block
// would fail the whole answer.
type tap struct {
	log     *slog.Logger
	changed func() // the server says that its list of tools has changed
	mask    mask.Masker
	ctx     context.Context // of the connection
	room    *room

	onceBytes sync.Once // bytes that are not UTF-8 are told of

	mu      sync.Mutex // guards the fields below
	waiting map[jsonrpc.ID]*sink
	tokens  map[string]*sink
	asked   int // requests of the server that we have not answered
}

func newTap(log *slog.Logger, changed func()) *tap {
	return &tap{log: log, changed: changed, ctx: context.Background(), room: processRoom, waiting: map[jsonrpc.ID]*sink{}, tokens: map[string]*sink{}}
}

// outgoing takes note of a message that is about to be written, and returns
// the sink of the request, nil if it has none.
func (t *tap) outgoing(ctx context.Context, m jsonrpc.Message) *sink {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.asked = max(0, t.asked-1)
		return nil
	}
	s, _ := ctx.Value(sinkKey{}).(*sink)
	if s == nil || !r.IsCall() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.id, s.ctx = r.ID, ctx
	t.waiting[r.ID] = s
	if s.token != "" {
		t.tokens[s.token] = s
	}
	return s
}

// hold gives the room of its answer to a request, unless that has ended.
func (t *tap) hold(s *sink, room *share) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[s.id] != s || s.share != nil {
		return false
	}
	s.share = room
	return true
}

// roomOf takes the room of the answer from a request.
func (t *tap) roomOf(s *sink) *share {
	t.mu.Lock()
	defer t.mu.Unlock()
	room := s.share
	s.share = nil
	return room
}

// forget ends a request: what still comes for it is dropped.
func (t *tap) forget(s *sink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.share.release()
	s.share = nil
	delete(t.tokens, s.token)
	if t.waiting[s.id] == s {
		delete(t.waiting, s.id)
	}
}

// sinkOf returns the sink that waits for the answer to id, nil if none does.
func (t *tap) sinkOf(id jsonrpc.ID) *sink {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[id]
}

// incoming takes note of a message that was read and returns what the SDK
// shall see of it, nil for nothing.
func (t *tap) incoming(m jsonrpc.Message) jsonrpc.Message {
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

func (t *tap) answer(m *jsonrpc.Response) jsonrpc.Message {
	s := t.sinkOf(m.ID)
	if s == nil {
		return m
	}
	if m.Error != nil {
		s.fail(m.Error)
		return m
	}
	if raw := bytes.TrimSpace(m.Result); len(raw) == 0 || raw[0] != '{' {
		s.fail(errors.New("the answer has no result object"))
		return errorResponse(m.ID, "no result object")
	}
	s.mu.Lock()
	s.result = m.Result
	s.mu.Unlock()
	if !s.list {
		// Decoding a result would take the SDK 64 KB, of which it learns nothing.
		return errorResponse(m.ID, "the result was taken")
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

func (t *tap) question(m *jsonrpc.Request) jsonrpc.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked >= maxAsked {
		t.log.Debug("request of the server dropped: too many unanswered", "method", m.Method)
		return nil
	}
	t.asked++
	return m
}

func (t *tap) notification(m *jsonrpc.Request) jsonrpc.Message {
	switch {
	case m.Method == "notifications/progress":
		t.report(m.Params)
		return nil
	case m.Method == "notifications/message":
		t.log.Debug("log of the server", "params", string(clip(m.Params, 1000)))
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
func (t *tap) report(params json.RawMessage) {
	var p struct {
		Token any `json:"progressToken"`
		progress
	}
	if err := json.Unmarshal(params, &p); err != nil {
		t.log.Debug("progress that does not decode", "error", err)
		return
	}
	token, _ := p.Token.(string)
	t.mu.Lock()
	s := t.tokens[token]
	t.mu.Unlock()
	if s == nil || s.progress == nil {
		return
	}
	select {
	case s.progress <- p.progress:
	default:
	}
}

func errorResponse(id jsonrpc.ID, text string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}}
}

func clip(b []byte, n int) []byte {
	if len(b) > n {
		return append(bytes.Clone(b[:n]), "…"...)
	}
	return b
}
