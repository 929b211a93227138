// Package upstream is what the gateway knows of whatever owns tools: a call
// and its result, a listing, a state, and what can go wrong. A package below
// this one keeps the connections to each kind of owner; mcp is that of MCP
// servers.
package upstream

import (
	"encoding/json"
	"time"
)

// A State is where a server's connection stands.
type State string

// The states of a server.
const (
	Idle       State = "idle"        // not connected, as nobody needs it
	Connecting State = "connecting"  // or starting, and listing its tools
	Ready      State = "ready"       // calls go out at once
	Backoff    State = "backoff"     // the last attempt failed; the next is at NextTry
	NeedsLogin State = "needs login" // it refuses our credentials, or wants some
	Disabled   State = "disabled"    // by the configuration
)

// A Status describes one server for people and machines.
type Status struct {
	Name      string    `json:"name"`
	State     State     `json:"state"`
	Since     time.Time `json:"since"`         // when the state began
	Why       string    `json:"why,omitempty"` // what brought it into the state
	Transport string    `json:"transport"`     // "stdio", "http", "sse"
	Protocol  string    `json:"protocol,omitempty"`
	Server    string    `json:"server,omitempty"` // name and version the server gives
	Tools     int       `json:"tools"`            // of the last listing
	Listed    time.Time `json:"listed,omitzero"`  // when that was; zero when there was none, as far as is known
	Restarts  int       `json:"restarts"`         // connections lost
	Error     string    `json:"error,omitempty"`  // last failure, cleared by success
	Failed    bool      `json:"failed,omitempty"` // the last attempt to connect did, also after the pause that followed
	NextTry   time.Time `json:"next_try,omitzero"`
	InFlight  int       `json:"in_flight"`          // calls under way
	Sessions  int       `json:"sessions,omitempty"` // of callers, where each has its own
	Warnings  []string  `json:"warnings,omitempty"`
}

// A Listing is one complete tools/list of a server, all pages.
type Listing struct {
	Tools        []json.RawMessage // tool objects byte for byte, in the server's order
	Warnings     []string          // tools that did not decode, repeated cursors, bounds reached
	Instructions string            // the server's own, "" if none
	ParamHeaders bool              // arguments that a schema names are sent in headers, too
}

// A Request is one tools/call.
type Request struct {
	Server, Tool string
	Arguments    json.RawMessage // an object; nil sends {}
	Meta         map[string]any  // the caller's _meta; keys of the protocol are removed here
	Caller       string          // on whose behalf: calls of different callers take turns
	Token        CallerToken     // by which the caller came, to be exchanged for another; "" for none

	// Capabilities are those of the caller that answer a server's requests for
	// input, an object; nil when it speaks a protocol before 2026-07-28.
	Capabilities   json.RawMessage
	InputResponses json.RawMessage // relayed unchanged, nil if none
	RequestState   json.RawMessage // relayed unchanged, nil if none

	// Idempotent allows a repeat of a call that may have run.
	Idempotent bool
	// Retries bounds repeats; 0 never repeats.
	Retries int
	// Progress is called for each progress notification of this call, never
	// after Call has returned; nil asks for none.
	Progress func(Progress)
}

// A CallerToken is a caller's own token, which is shown to no upstream and
// printed nowhere.
type CallerToken string

// String says that there is one.
func (t CallerToken) String() string {
	if t == "" {
		return "none"
	}
	return "a token"
}

// GoString is String, for %#v.
func (t CallerToken) GoString() string { return t.String() }

// MarshalText is String, for JSON and logs.
func (t CallerToken) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// A Progress is what a server says of how far a call has come.
type Progress struct {
	Progress float64                    `json:"progress"`
	Total    float64                    `json:"total"` // 0 where it is not known
	Message  string                     `json:"message"`
	Meta     map[string]json.RawMessage `json:"_meta"` // without the protocol's own keys
}

// A Result is a tools/call result as it came. Whoever gets one calls Release
// when done with it.
type Result struct {
	Raw      json.RawMessage // the result object byte for byte
	Protocol string          // protocol version of the session that gave it
	Sent     bool            // false: the call cannot have run

	// Released is called by Release, nil is not.
	Released func()
}

// Release makes room for other large results.
func (r Result) Release() {
	if r.Released != nil {
		r.Released()
	}
}
