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

// An envelope is what is read of a client's message before the SDK sees it,
// which answers some messages in a way that ends sessions of clients, and
// methods that are not offered with empty lists.
type envelope struct {
	message []byte

	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Version string          `json:"protocolVersion"` // of initialize
		Request json.RawMessage `json:"requestId"`       // of notifications/cancelled
		Meta    struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// readEnvelope reads what it can; the SDK says what is wrong with the rest.
func readEnvelope(message []byte) envelope {
	e := envelope{message: message}
	_ = json.Unmarshal(message, &e)
	return e
}

// isCall says that the message wants an answer.
func (e *envelope) isCall() bool { return e.ID != nil && e.Method != "" }

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
func (e *envelope) refusal(version string) *jsonrpc.Error {
	if e.Method == "" {
		return nil // a response, or something that the SDK refuses
	}
	if string(e.ID) == "null" {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: the id of a request is a string or a number, not null"}
	}
	if version != "" && !slices.Contains(supportedVersions, version) {
		return unsupportedVersion(version)
	}
	served := servedMethods
	switch {
	case !e.isCall():
		served = servedNotifications
	case version >= gateway.StatelessEra:
		served = servedStateless
	}
	if slices.Contains(served, e.Method) {
		return nil
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not offered by this server", words.Excerpt(e.Method))}
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
