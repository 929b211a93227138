package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
)

// maxDirectDepth bounds the brackets of a direct call, and so its depth, below
// that to which the SDK reads.
const maxDirectDepth = 1000

// A directCall is a tools/call over HTTP that is answered without the SDK,
// which reads such a message up to fifteen times, each into a buffer of 32 KB.
// It takes only messages about which there is nothing to say; the SDK answers
// all others, so that its words hold for whatever is wrong.
type directCall struct {
	protocol  string
	id        json.RawMessage
	tool      string
	arguments json.RawMessage
	meta      map[string]any     // nil for none
	session   *mcp.ServerSession // nil for none
}

// direct answers the request if it is a direct call of the era without a
// handshake.
func (s *Server) direct(w http.ResponseWriter, r *http.Request, message []byte) bool {
	d, ok := readDirect(r.Header, message, gateway.StatelessEra)
	if !ok || !s.names[d.tool] {
		return false
	}
	s.answerDirectly(r.Context(), w, r, d)
	return true
}

// directInSession answers the request if it is a direct call in a session. A
// client that hangs up has not cancelled it.
func (s *Server) directInSession(w http.ResponseWriter, r *http.Request, message []byte, session string) bool {
	known := s.sessionOf(session)
	if known == nil || known.InitializeParams() == nil {
		return false
	}
	d, ok := readDirect(r.Header, message, known.InitializeParams().ProtocolVersion)
	if !ok || !s.names[d.tool] {
		return false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	ended, ok := s.sessions.begin(session, string(d.id), cancel)
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
	answer := s.call(ctx, c)
	defer answer.Done()
	response, err := s.response(d, answer)
	if err != nil {
		s.log.Error("answer does not encode", "meta_tool", d.tool, "error", err)
		response = errorMessage(d.id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()})
	}
	_ = writeEvent(w, response) // a client that has gone needs no answer
}

// readDirect reads a direct call of the protocol version; ok is false for
// every other message.
func readDirect(h http.Header, message []byte, protocol string) (d *directCall, ok bool) {
	stateless := protocol >= gateway.StatelessEra
	if h.Get(versionHeader) != protocol || h.Get("Content-Type") != "application/json" ||
		h.Get("Accept") != "application/json, text/event-stream" || h.Get("Last-Event-ID") != "" ||
		stateless && h.Get("Mcp-Method") != "tools/call" ||
		bytes.Count(message, []byte("{"))+bytes.Count(message, []byte("[")) > maxDirectDepth {
		return nil, false
	}
	var m, params map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil || len(m) != 4 || string(m["jsonrpc"]) != `"2.0"` || string(m["method"]) != `"tools/call"` ||
		!isPlainID(m["id"]) || json.Unmarshal(m["params"], &params) != nil {
		return nil, false
	}
	for key := range params {
		if key != "name" && key != "arguments" && key != "_meta" {
			return nil, false
		}
	}
	d = &directCall{protocol: protocol, id: m["id"], arguments: params["arguments"]}
	if json.Unmarshal(params["name"], &d.tool) != nil || stateless && d.tool != h.Get(nameHeader) {
		return nil, false
	}
	if !stateless && params["_meta"] == nil {
		return d, true
	}
	d.meta, ok = plainMeta(params["_meta"], stateless)
	return d, ok
}

// isPlainID says that id is a string or a whole number.
func isPlainID(id json.RawMessage) bool {
	switch rawjson.Kind(id) {
	case "string":
		return true
	case "number":
		return !bytes.ContainsAny(id, ".eE")
	}
	return false
}

// logLevelKey asks for log messages. The SDK's name for it is deprecated as
// logging is, but clients go on sending it.
const logLevelKey = "io.modelcontextprotocol/logLevel"

// plainMeta reads a _meta with the keys that the era asks for, valid, and none
// that the SDK acts upon.
func plainMeta(raw json.RawMessage, stateless bool) (meta map[string]any, ok bool) {
	var known struct {
		Client       *mcp.Implementation     `json:"io.modelcontextprotocol/clientInfo"`
		Capabilities *mcp.ClientCapabilities `json:"io.modelcontextprotocol/clientCapabilities"`
	}
	if json.Unmarshal(raw, &known) != nil || json.Unmarshal(raw, &meta) != nil || meta == nil {
		return nil, false
	}
	version, has := meta[mcp.MetaKeyProtocolVersion]
	if stateless && (version != gateway.StatelessEra || meta[mcp.MetaKeyClientCapabilities] == nil) || !stateless && has {
		return nil, false
	}
	if info, has := meta[mcp.MetaKeyClientInfo]; has && info == nil {
		return nil, false
	}
	if _, has := meta[logLevelKey]; has {
		return nil, false
	}
	switch meta["progressToken"].(type) {
	case nil, string, float64:
		return meta, true
	}
	return nil, false
}

// call is what the surface is asked; progress goes to w.
func (d *directCall) call(ctx context.Context, w http.ResponseWriter) surface.Call {
	c := surface.Call{Tool: d.tool, Arguments: d.arguments, Protocol: d.protocol, Client: gateway.Client{Meta: d.meta}}
	if d.protocol >= gateway.StatelessEra {
		c.Client.Elicitation = elicitation(d.meta)
	}
	token := d.meta["progressToken"]
	if token == nil {
		return c
	}
	c.Client.Progress = func(progress, total float64, message string) {
		params, err := rawjson.Marshal(mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: progress, Total: total, Message: message,
		})
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
	o.Add("jsonrpc", json.RawMessage(`"2.0"`))
	o.Add("id", d.id)
	o.Add("result", result)
	return o.Bytes(), nil
}

// writeEvent writes a message as one server-sent event, which has to be one
// line.
func writeEvent(w http.ResponseWriter, message []byte) error {
	var b bytes.Buffer
	b.Grow(len(message) + 32)
	b.WriteString("event: message\ndata: ")
	if bytes.IndexByte(message, '\n') < 0 && bytes.IndexByte(message, '\r') < 0 {
		b.Write(message) // compacting megabytes costs more than reading them
	} else if err := json.Compact(&b, message); err != nil {
		return err
	}
	b.WriteString("\n\n")
	_, err := w.Write(b.Bytes())
	return err
}
