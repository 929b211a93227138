package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/rawjson"
)

var errNoMessage = errors.New("not a JSON-RPC 2.0 message")

// maxBrackets is the depth to which the SDK reads. A message with no more
// brackets nests no deeper.
const maxBrackets = 1000

// decodeMessage is jsonrpc.DecodeMessage without its two buffers of 32 KB a
// message, unless the message may be too deep. Keys are told apart by their
// case, which a struct would not do.
func decodeMessage(data []byte) (jsonrpc.Message, error) {
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxBrackets {
		return jsonrpc.DecodeMessage(data)
	}
	if !rawjson.Valid(data) {
		return nil, errNoMessage
	}
	m := map[string]json.RawMessage{}
	rawjson.Each(data, func(key string, value json.RawMessage) { m[key] = value })
	if string(m["jsonrpc"]) != `"2.0"` {
		return nil, errNoMessage
	}
	var id jsonrpc.ID
	if raw := m["id"]; raw != nil {
		var value any
		err := json.Unmarshal(raw, &value)
		if err == nil {
			id, err = jsonrpc.MakeID(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: id: %w", errNoMessage, Plain(err))
		}
	}
	if raw := m["method"]; raw != nil {
		r := &jsonrpc.Request{ID: id, Params: bytes.Clone(m["params"])}
		if err := json.Unmarshal(raw, &r.Method); err != nil {
			return nil, fmt.Errorf("%w: method: %w", errNoMessage, Plain(err))
		}
		return r, nil
	}
	if !id.IsValid() {
		return nil, fmt.Errorf("%w: no method and no id", errNoMessage)
	}
	// A reader may use data for its next line.
	r := &jsonrpc.Response{ID: id, Result: bytes.Clone(m["result"])}
	var failure *jsonrpc.Error
	if raw := m["error"]; raw != nil {
		if err := json.Unmarshal(raw, &failure); err != nil {
			return nil, fmt.Errorf("%w: error: %w", errNoMessage, Plain(err))
		}
	}
	if failure != nil {
		r.Error = failure
	}
	return r, nil
}

// Plain words an error of the JSON decoder for people, who know nothing of our
// types.
func Plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Field != "" {
		return fmt.Errorf("%s: a JSON %s does not belong there", wrong.Field, wrong.Value)
	}
	return fmt.Errorf("a JSON %s does not belong there", wrong.Value)
}
