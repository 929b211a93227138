package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// read decodes one message of the server. Bytes that are not of UTF-8 are
// replaced, as a message with one ends the session of a client, and secrets
// are masked. A response that is nested too deep for the SDK still goes to
// the request that waits for it.
func (t *tap) read(data []byte) (jsonrpc.Message, error) {
	if !utf8.Valid(data) {
		t.onceBytes.Do(func() { t.log.Warn("the server sends bytes that are not UTF-8; they are replaced") })
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	data = t.mask.JSON(data)
	m, err := decodeMessage(data)
	if err == nil {
		return m, nil
	}
	fields, bad := members(data)
	if bad != nil || len(fields["id"]) == 0 || len(fields["method"]) > 0 {
		return nil, err
	}
	var id any
	if json.Unmarshal(fields["id"], &id) != nil {
		return nil, err
	}
	known, bad := jsonrpc.MakeID(id)
	s := t.sinkOf(known)
	if bad != nil || s == nil {
		return nil, err
	}
	if !s.list || len(fields["result"]) == 0 {
		err = fmt.Errorf("the answer does not decode: %w", err)
		s.fail(err)
		return errorResponse(known, err.Error()), nil
	}
	// What members finds lies in data, which a reader may use for its next line.
	return &jsonrpc.Response{ID: known, Result: bytes.Clone(fields["result"])}, nil
}
