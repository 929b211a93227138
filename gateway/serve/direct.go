package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// maxDirectDepth bounds the brackets of a direct call, and so its depth, below
// that to which the SDK reads.
const maxDirectDepth = 1000

// A directCall is a tools/call over HTTP that is answered without the SDK,
// which reads such a message up to fifteen times, each into a buffer of 32 KB.
// It takes only messages about which there is nothing to say; the SDK answers
// all others, so that its words hold for whatever is wrong.
type directCall struct {
	*message
	protocol string
	tool     string
	token    json.RawMessage    // of progress; nil for none
	session  *mcp.ServerSession // nil for none
}

// direct answers the request if it is a direct call of the era without a
// handshake.
func (s *Server) direct(w http.ResponseWriter, r *http.Request, m *message) bool {
	d, ok := readDirect(r.Header, m, gateway.StatelessEra)
	if !ok || !s.offer.has(viewOf(r.Context(), s), d.tool) {
		return false
	}
	s.answerDirectly(r.Context(), w, r, d)
	return true
}

// directInSession answers the request if it is a direct call in a session. A
// client that hangs up has not cancelled it.
func (s *Server) directInSession(w http.ResponseWriter, r *http.Request, m *message, session string) bool {
	known := s.sessionOf(session)
	if known == nil || known.InitializeParams() == nil {
		return false
	}
	d, ok := readDirect(r.Header, m, known.InitializeParams().ProtocolVersion)
	if !ok || !s.offer.has(viewOf(r.Context(), s), d.tool) {
		return false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	ended, ok := s.sessions.begin(sessionKey{s, session}, string(d.id), cancel)
	if !ok {
		return false
	}
	defer ended()
	d.session = known
	s.answerDirectly(ctx, w, r, d)
	return true
}

func (s *Server) answerDirectly(ctx context.Context, w http.ResponseWriter, r *http.Request, d *directCall) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	c := d.call(r.Context(), w)
	c.Session = s.memories.session(d.session, d.protocol)
	answer := s.call(s.arrived(ctx, r.Header), c)
	defer answer.Done()
	refused := refusalOf(answer)
	if refused != nil && d.token == nil { // nothing is written yet
		refuseMessage(w, d.protocol, d.session != nil, d.message, refused)
		return
	}
	response, err := s.response(d, answer)
	if err != nil {
		s.log.Error("answer does not encode", "tool", d.tool, "error", err)
		refused = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	if refused != nil {
		response = errorMessage(d.id, refused)
	}
	_ = writeEvent(w, response) // a client that has gone needs no answer
}

// refusalOf is the server's error that the client is to see, nil for none.
func refusalOf(a *surface.Answer) *jsonrpc.Error {
	if a.Refused == nil {
		return nil
	}
	return &jsonrpc.Error{Code: a.Refused.Code, Message: a.Refused.Message, Data: a.Refused.Data}
}

// readDirect says whether a message that is not refused is a direct call of
// the protocol version.
func readDirect(h http.Header, m *message, protocol string) (d *directCall, ok bool) {
	stateless := protocol >= gateway.StatelessEra
	if m.method != "tools/call" || m.id == nil || h.Get(versionHeader) != protocol || h.Get("Content-Type") != "application/json" ||
		h.Get("Accept") != "application/json, text/event-stream" || h.Get("Last-Event-ID") != "" ||
		bytes.Count(m.raw, []byte("{"))+bytes.Count(m.raw, []byte("[")) > maxDirectDepth {
		return nil, false
	}
	d = &directCall{message: m, protocol: protocol, tool: text(m.params, "name")}
	if token := m.meta["progressToken"]; rawjson.Kind(token) != "null" {
		d.token = token
	}
	if stateless {
		return d, h.Get("Mcp-Method") == m.method && h.Get(nameHeader) == d.tool && m.version() == protocol && m.soundMeta()
	}
	return d, m.meta[mcp.MetaKeyProtocolVersion] == nil
}

// soundMeta says that _meta has what the era without a handshake asks for.
func (m *message) soundMeta() bool {
	var info *mcp.Implementation
	var caps *mcp.ClientCapabilities
	if raw := m.meta[mcp.MetaKeyClientInfo]; raw != nil && (json.Unmarshal(raw, &info) != nil || info == nil) {
		return false
	}
	return json.Unmarshal(m.meta[mcp.MetaKeyClientCapabilities], &caps) == nil && caps != nil
}

// call is what the surface is asked; progress goes to w.
func (d *directCall) call(ctx context.Context, w http.ResponseWriter) surface.Call {
	c := surface.Call{Tool: d.tool, Arguments: d.params["arguments"], Protocol: d.protocol, Client: clientOf(d.params, d.meta, d.protocol), Request: string(d.id)}
	if d.token == nil {
		return c
	}
	c.Client.Progress = func(p upstream.Progress) {
		params, err := rawjson.Marshal(progressParams(d.token, p))
		if err != nil || ctx.Err() != nil {
			return // a number that JSON does not have, or nobody listens
		}
		var o rawjson.Writer
		o.Add("jsonrpc", json.RawMessage(`"2.0"`))
		o.Add("method", json.RawMessage(`"notifications/progress"`))
		o.Add("params", params)
		if writeEvent(w, o.Bytes()) == nil {
			_ = http.NewResponseController(w).Flush() // as above
		}
	}
	return c
}

// response is the JSON-RPC response that carries the answer.
func (s *Server) response(d *directCall, answer *surface.Answer) ([]byte, error) {
	var kind string
	var extra []rawjson.Member
	if d.protocol >= gateway.StatelessEra {
		info, err := rawjson.Marshal(s.implementation())
		if err != nil {
			return nil, err
		}
		kind, extra = answer.ResultType(), []rawjson.Member{{Key: mcp.MetaKeyServerInfo, Value: info}}
	}
	result, err := answer.Result(kind, extra)
	if err != nil {
		return nil, err
	}
	var o rawjson.Writer
	o.Grow(len(result) + len(d.id) + 64)
	o.Add("jsonrpc", json.RawMessage(`"2.0"`))
	o.Add("id", d.id)
	o.Add("result", result)
	return o.Bytes(), nil
}

// writeEvent writes a message as one server-sent event, which has to be one
// line.
func writeEvent(w io.Writer, message []byte) error {
	if bytes.IndexByte(message, '\n') >= 0 || bytes.IndexByte(message, '\r') >= 0 {
		var b bytes.Buffer
		if err := json.Compact(&b, message); err != nil {
			return err
		}
		message = b.Bytes()
	}
	const head, end = "event: message\ndata: ", "\n\n"
	if len(message) < smallEvent { // in one write
		_, err := w.Write([]byte(head + string(message) + end))
		return err
	}
	for _, part := range [][]byte{[]byte(head), message, []byte(end)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// smallEvent is a message that is cheaper to copy than to write in parts.
const smallEvent = 64 << 10
