package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Handshake is the newest protocol version that begins with initialize.
const Handshake = "2025-11-25"

// Stateless is the first protocol version that begins with server/discover.
const Stateless = "2026-07-28"

// Spoken are the protocol versions that we speak.
var Spoken = []string{"2024-11-05", "2025-03-26", "2025-06-18", Handshake, Stateless}

// codeUnsupportedVersion is the JSON-RPC error code of a server that does not
// speak the version of a request.
const codeUnsupportedVersion = -32022

// An OtherEraError says that a server may answer when it is met with another
// version.
type OtherEraError struct {
	Err     error
	Version string
}

// Error is the text of Err.
func (e *OtherEraError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *OtherEraError) Unwrap() error { return e.Err }

// RefusesHandshake reports an error of initialize which says that the server,
// or this connection to it, is of a protocol without initialize.
func RefusesHandshake(err error) bool {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return false
	}
	versions := supported(e)
	return e.Code == jsonrpc.CodeMethodNotFound ||
		e.Code == codeUnsupportedVersion && (len(versions) == 0 || slices.Contains(versions, Stateless)) ||
		strings.Contains(e.Message, Stateless)
}

func supported(e *jsonrpc.Error) []string {
	var data struct{ Supported []string }
	_ = json.Unmarshal(e.Data, &data) // servers need not send any
	return data.Supported
}

// NoCommonVersion is the error of a server that lists the versions it speaks
// in its answer to server/discover, and none that we do.
func NoCommonVersion(r *jsonrpc.Response) error {
	var result struct{ SupportedVersions []string }
	var e *jsonrpc.Error
	switch {
	case r.Error == nil:
		_ = json.Unmarshal(r.Result, &result) // the SDK says what is wrong with it
	case errors.As(r.Error, &e) && e.Code == codeUnsupportedVersion:
		result.SupportedVersions = supported(e)
	}
	theirs := result.SupportedVersions
	if len(theirs) == 0 || slices.ContainsFunc(theirs, func(v string) bool { return slices.Contains(Spoken, v) }) {
		return nil
	}
	return fmt.Errorf("no common protocol version: the server speaks %s, tooldex %s",
		Clip([]byte(strings.Join(theirs, ", ")), 200), strings.Join(Spoken, ", "))
}

// NotSupported is the answer to server/discover in place of a server that
// gives none.
func NotSupported(id jsonrpc.ID) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound, Message: "server/discover was not answered in time"}}
}
