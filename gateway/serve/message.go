package serve

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/words"
)

// A message is one of a client's, read once: whoever refuses it, answers it
// directly or hands it to the SDK looks here.
type message struct {
	raw    json.RawMessage
	id     json.RawMessage // nil for none
	method string          // "" for a response
	params map[string]json.RawMessage
	meta   map[string]json.RawMessage // _meta of params
}

// readMessage reads a message, and says what no version of the protocol
// allows in it: the SDK would answer that in terms of its own, or by ending
// the session.
func readMessage(raw []byte) (*message, *jsonrpc.Error) {
	m := &message{raw: raw}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil || top == nil {
		if !rawjson.Valid(raw) {
			return m, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error: not JSON: " + words.Value(raw)}
		}
		return m, invalid("a message is an object, got %s", words.Article(rawjson.Kind(raw)))
	}
	method, called := top["method"]
	if id, ok := top["id"]; ok {
		switch kind := rawjson.Kind(id); {
		case kind == "string" || kind == "number":
			m.id = id
		case called:
			return m, invalid("the id of a request is a string or a number, not %s", kind)
		}
	}
	if string(top["jsonrpc"]) != `"2.0"` {
		return m, invalid(`jsonrpc has to be "2.0"`)
	}
	if !called {
		return m, nil
	}
	if json.Unmarshal(method, &m.method) != nil || m.method == "" {
		return m, invalid("method is a text, got %s", words.Value(method))
	}
	var wrong *jsonrpc.Error
	if m.params, wrong = m.object("params", top["params"]); wrong == nil {
		m.meta, wrong = m.object("_meta", m.params["_meta"])
	}
	return m, wrong
}

func invalid(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + fmt.Sprintf(format, args...)}
}

// wrongParam says that a parameter is not of the kind that the protocol wants.
func (m *message) wrongParam(name, want string, value json.RawMessage) *jsonrpc.Error {
	got := "nothing"
	if value != nil {
		got = words.Article(rawjson.Kind(value))
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s: %s: expected %s, got %s", words.Excerpt(m.method), name, want, got)}
}

func (m *message) object(name string, value json.RawMessage) (members map[string]json.RawMessage, wrong *jsonrpc.Error) {
	if value == nil || rawjson.Kind(value) == "null" {
		return nil, nil
	}
	if json.Unmarshal(value, &members) != nil {
		return nil, m.wrongParam(name, "an object", value)
	}
	return members, nil
}

// isCall says that the message wants an answer.
func (m *message) isCall() bool { return m.id != nil && m.method != "" }

// text is a parameter of the message, "" for none and for what is no text.
func text(params map[string]json.RawMessage, name string) (s string) {
	_ = json.Unmarshal(params[name], &s)
	return s
}

// version is the protocol version that the message names itself.
func (m *message) version() string { return text(m.meta, mcp.MetaKeyProtocolVersion) }

// servedMethods are the requests of each era that are answered with more than
// an error. The era without a handshake has no initialize and no ping.
var (
	servedMethods       = []string{"initialize", "ping", "server/discover", "tools/list", "tools/call", "subscriptions/listen"}
	servedStateless     = servedMethods[2:]
	servedNotifications = []string{"notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed", "notifications/progress"}
	supportedVersions   = mcp.SupportedProtocolVersions()
)

func unsupportedVersion(version string) *jsonrpc.Error {
	version = words.Excerpt(version)
	data, err := rawjson.Marshal(mcp.UnsupportedProtocolVersionData{Supported: supportedVersions, Requested: version})
	if err != nil { // texts always marshal
		data = nil
	}
	return &jsonrpc.Error{
		Code: mcp.CodeUnsupportedProtocolVersion, Data: data,
		Message: fmt.Sprintf("protocol version %q is not supported; supported are %s", version, words.Join(supportedVersions)),
	}
}

// refusal is why the message is not passed on at the protocol version, which
// is "" where the message does not say; nil when it is.
func (m *message) refusal(version string) *jsonrpc.Error {
	if m.method == "" {
		return nil // a response, or something that the SDK refuses
	}
	if version != "" && !slices.Contains(supportedVersions, version) {
		return unsupportedVersion(version)
	}
	served := servedMethods
	switch {
	case !m.isCall():
		served = servedNotifications
	case version >= gateway.StatelessEra:
		served = servedStateless
	}
	if !slices.Contains(served, m.method) {
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not offered by this server", words.Excerpt(m.method))}
	}
	if version >= gateway.StatelessEra {
		if level := m.meta[logLevelKey]; level != nil && !slices.Contains(logLevels, text(m.meta, logLevelKey)) {
			return m.wrongParam(logLevelKey, "one of "+words.Join(logLevels), level)
		}
	}
	if m.method == "tools/call" {
		return m.wrongCall()
	}
	return nil
}

// logLevelKey asks for log messages, of which there are none. The SDK's name
// for it is deprecated as logging is, but clients go on sending it.
const logLevelKey = "io.modelcontextprotocol/logLevel"

var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// wrongCall is what is wrong with the parameters of a tools/call; of its
// arguments the surface says so.
func (m *message) wrongCall() *jsonrpc.Error {
	for _, p := range []struct {
		from     map[string]json.RawMessage
		name     string
		want     string
		kinds    []string
		required bool
	}{
		{m.params, "name", "a text", []string{"string"}, true},
		{m.params, "requestState", "a text", []string{"string"}, false},
		{m.params, "inputResponses", "an object", []string{"object"}, false},
		{m.meta, "progressToken", "a text or a number", []string{"string", "number", "null"}, false},
	} {
		if value := p.from[p.name]; (value != nil || p.required) && !slices.Contains(p.kinds, rawjson.Kind(value)) {
			return m.wrongParam(p.name, p.want, value)
		}
	}
	answers, _ := m.object("inputResponses", m.params["inputResponses"])
	for name, answer := range answers {
		if rawjson.Kind(answer) != "object" {
			return m.wrongParam("inputResponses: "+words.Excerpt(name), "an object", answer)
		}
	}
	return nil
}

// errorMessage is the response that tells e.
func errorMessage(id json.RawMessage, e *jsonrpc.Error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	var detail, o rawjson.Writer
	detail.Add("code", json.RawMessage(fmt.Sprint(e.Code)))
	detail.Add("message", rawjson.Quote(e.Message))
	if e.Data != nil {
		detail.Add("data", e.Data)
	}
	o.Add("jsonrpc", json.RawMessage(`"2.0"`))
	o.Add("id", id)
	o.Add("error", detail.Bytes())
	return o.Bytes()
}
