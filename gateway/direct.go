package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	meta      map[string]any // nil for none
}

// direct answers the request if it is a direct call of the era without a
// handshake.
func (g *Gateway) direct(w http.ResponseWriter, r *http.Request, message []byte) bool {
	d, ok := readDirect(r.Header, message, statelessEra)
	if !ok || g.tools[d.tool] == nil {
		return false
	}
	g.answerDirectly(r.Context(), w, r, d)
	return true
}

// directInSession answers the request if it is a direct call in a session. A
// client that hangs up has not cancelled it.
func (g *Gateway) directInSession(w http.ResponseWriter, r *http.Request, message []byte, session string) bool {
	s := g.sessionOf(session)
	if s == nil || s.InitializeParams() == nil {
		return false
	}
	d, ok := readDirect(r.Header, message, s.InitializeParams().ProtocolVersion)
	if !ok || g.tools[d.tool] == nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	ended, ok := g.sessions.begin(session, string(d.id), cancel)
	if !ok {
		return false
	}
	defer ended()
	g.answerDirectly(ctx, w, r, d)
	return true
}

func (g *Gateway) answerDirectly(ctx context.Context, w http.ResponseWriter, r *http.Request, d *directCall) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	answer := g.call(ctx, d.tool, d.arguments, d.caller(r.Context(), w))
	defer answer.done()
	response, err := g.response(d, answer)
	if err != nil {
		g.log.Error("answer does not encode", "meta_tool", d.tool, "error", err)
		response = errorMessage(d.id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()})
	}
	_ = writeEvent(w, response) // a client that has gone needs no answer
}

// readDirect reads a direct call of the protocol version; ok is false for
// every other message.
func readDirect(h http.Header, message []byte, protocol string) (d *directCall, ok bool) {
	stateless := protocol >= statelessEra
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
	switch jsonKind(id) {
	case "string":
		return true
	case "number":
		return !bytes.ContainsAny(id, ".eE")
	}
	return false
}

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
	if stateless && (version != statelessEra || meta[mcp.MetaKeyClientCapabilities] == nil) || !stateless && has {
		return nil, false
	}
	if info, has := meta[mcp.MetaKeyClientInfo]; has && info == nil {
		return nil, false
	}
	if _, has := meta[mcp.MetaKeyLogLevel]; has {
		return nil, false
	}
	switch meta["progressToken"].(type) {
	case nil, string, float64:
		return meta, true
	}
	return nil, false
}

// caller is whoever makes the call; its progress goes to w.
func (d *directCall) caller(ctx context.Context, w http.ResponseWriter) caller {
	c := caller{protocol: d.protocol, meta: d.meta}
	if d.protocol >= statelessEra {
		c.readCapabilities()
	}
	token := d.meta["progressToken"]
	if token == nil {
		return c
	}
	c.progress = func(progress, total float64, message string) {
		params, err := marshal(mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: progress, Total: total, Message: message,
		})
		if err != nil || ctx.Err() != nil {
			return // a number that JSON does not have, or nobody listens
		}
		var o objectWriter
		o.add("jsonrpc", json.RawMessage(`"2.0"`))
		o.add("method", json.RawMessage(`"notifications/progress"`))
		o.add("params", params)
		if writeEvent(w, o.bytes()) == nil {
			_ = http.NewResponseController(w).Flush() // as above
		}
	}
	return c
}

// response is the JSON-RPC response that carries the answer.
func (g *Gateway) response(d *directCall, answer *Answer) ([]byte, error) {
	var kind string
	var extra []member
	if d.protocol >= statelessEra {
		info, err := marshal(g.implementation())
		if err != nil {
			return nil, err
		}
		kind, extra = answer.resultType(), []member{{mcp.MetaKeyServerInfo, info}}
	}
	result, err := answer.result(kind, extra)
	if err != nil {
		return nil, err
	}
	var o objectWriter
	o.add("jsonrpc", json.RawMessage(`"2.0"`))
	o.add("id", d.id)
	o.add("result", result)
	return o.bytes(), nil
}

// writeEvent writes a message as one server-sent event, which has to be one
// line.
func writeEvent(w http.ResponseWriter, message []byte) error {
	var b bytes.Buffer
	b.Grow(len(message) + 32)
	b.WriteString("event: message\ndata: ")
	if err := json.Compact(&b, message); err != nil {
		return err
	}
	b.WriteString("\n\n")
	_, err := w.Write(b.Bytes())
	return err
}
