package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Read decodes one message of the server. Bytes that are not of UTF-8 are
// replaced, as a message with one ends the session of a client, and secrets
// are masked. A response that is nested too deep for the SDK still goes to
// the request that waits for it.
func (t *Tap) Read(data []byte) (jsonrpc.Message, error) {
	if !utf8.Valid(data) {
		t.onceBytes.Do(func() { t.Log.Warn("the server sends bytes that are not UTF-8; they are replaced") })
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	data = t.mask.JSON(data)
	m, err := decodeMessage(data)
	if err == nil {
		return m, nil
	}
	fields, bad := Members(data)
	if bad != nil || len(fields["id"]) == 0 || len(fields["method"]) > 0 {
		return nil, err
	}
	var id any
	if json.Unmarshal(fields["id"], &id) != nil {
		return nil, err
	}
	known, bad := jsonrpc.MakeID(id)
	s := t.SinkOf(known)
	if bad != nil || s == nil {
		return nil, err
	}
	if !s.List || len(fields["result"]) == 0 {
		err = fmt.Errorf("the answer does not decode: %w", err)
		s.Fail(err)
		return ErrorResponse(known, err.Error()), nil
	}
	// What members finds lies in data, which a reader may use for its next line.
	return &jsonrpc.Response{ID: known, Result: bytes.Clone(fields["result"])}, nil
}
