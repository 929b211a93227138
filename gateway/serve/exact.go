package serve

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
)

// The SDK reads numbers as 64-bit floats and drops members that it does not
// know. What it would change goes through it as text, and comes out as it was.

// idMark begins the text that stands for an id; no client can choose it.
var idMark = "id-" + rand.Text() + ":"

// paramsKey is the key in _meta of the parameters that are kept from the SDK.
// As it is the protocol's own, it is handed on to no server.
const paramsKey = "io.modelcontextprotocol/tooldex-params"

// markedID is the text in place of an id that the SDK would change.
func markedID(id json.RawMessage) (mark json.RawMessage, ok bool) {
	if rawjson.Kind(id) != "number" {
		return id, false
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err == nil && -1<<53 <= n && n <= 1<<53 && strconv.FormatInt(n, 10) == string(id) {
		return id, false
	}
	return rawjson.Quote(idMark + string(id)), true
}

// restoreIDs puts the ids back into what the SDK writes.
func restoreIDs(p []byte) []byte {
	mark := []byte(`"` + idMark)
	var out []byte
	for {
		before, after, found := bytes.Cut(p, mark)
		if !found {
			return append(out, p...)
		}
		id, rest, _ := bytes.Cut(after, []byte(`"`))
		out, p = append(append(out, before...), id...), rest
	}
}

// forSDK is the message for the SDK, and whether its answer has an id to
// restore.
func (m *message) forSDK() (raw json.RawMessage, marked bool) {
	id, marked := markedID(m.id)
	params := m.params
	if kept := m.keptParams(); kept != nil {
		params = maps.Clone(m.params)
		delete(params, "inputResponses")
		delete(params, "requestState")
		meta := maps.Clone(m.meta)
		if meta == nil {
			meta = map[string]json.RawMessage{}
		}
		meta[paramsKey] = rawjson.Quote(string(object(kept)))
		params["_meta"] = object(meta)
	} else if request, ok := markedID(m.params["requestId"]); ok {
		params = maps.Clone(m.params)
		params["requestId"] = request
	} else if !marked {
		return m.raw, false
	}
	top := map[string]json.RawMessage{"jsonrpc": json.RawMessage(`"2.0"`), "method": rawjson.Quote(m.method)}
	if id != nil {
		top["id"] = id
	}
	if params != nil {
		top["params"] = object(params)
	}
	return object(top), marked
}

// keptParams are the parameters of a tools/call that the SDK would change.
func (m *message) keptParams() map[string]json.RawMessage {
	if m.method != "tools/call" {
		return nil
	}
	kept := map[string]json.RawMessage{}
	for _, name := range []string{"inputResponses", "requestState"} {
		if value := m.params[name]; value != nil {
			kept[name] = value
		}
	}
	for key := range m.meta {
		if key != "progressToken" && !strings.HasPrefix(key, "io.modelcontextprotocol/") {
			kept["_meta"] = m.params["_meta"]
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

func object(members map[string]json.RawMessage) json.RawMessage {
	var o rawjson.Writer
	for _, key := range slices.Sorted(maps.Keys(members)) {
		o.Add(key, members[key])
	}
	return o.Bytes()
}

// clientOf is who calls, by the parameters of a tools/call at the protocol
// version. Values keep their bytes.
func clientOf(params, meta map[string]json.RawMessage, protocol string) gateway.Client {
	c := gateway.Client{Meta: map[string]any{}}
	for key, value := range meta {
		c.Meta[key] = value
	}
	if protocol < gateway.StatelessEra {
		return c
	}
	c.Capabilities = json.RawMessage("{}")
	if given := meta[mcp.MetaKeyClientCapabilities]; rawjson.Kind(given) == "object" {
		c.Capabilities = given
	}
	c.InputResponses, c.RequestState = params["inputResponses"], params["requestState"]
	return c
}

// An idWriter restores ids in an answer of the SDK, which writes each message
// at once.
type idWriter struct{ http.ResponseWriter }

func (w idWriter) Write(p []byte) (int, error) {
	if _, err := w.ResponseWriter.Write(restoreIDs(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap is for http.ResponseController.
func (w idWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
