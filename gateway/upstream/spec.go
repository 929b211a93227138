// Package upstream keeps connections to MCP servers: it starts, watches,
// lists, calls and restarts them, and hands on what they send byte for byte.
//
// A [Set] runs any number of servers at once, none of which can hold up
// another. Tool objects and results are taken from the bytes on the wire, as
// the SDK's typed values drop what they do not know. It speaks MCP from
// 2024-11-05 to 2026-07-28 over stdio and streamable HTTP, and up to
// 2025-11-25 over legacy HTTP+SSE.
//
// A message over 32 MiB is discarded and fails its call alone; a listing ends
// after 1,000 pages, 20,000 tools or 128 MiB. Requests that a server makes of
// its client (sampling, elicitation, roots) are refused, as one session
// serves all callers; a 2026-07-28 server's input requests come back as the
// result of the call. There is no OAuth: a server that wants a token gets it
// from the configured headers.
package upstream

import (
	"encoding/json"
	"time"
)

// A Spec says how to reach one server. Exactly one of Command and URL is set.
type Spec struct {
	Name         string            // matches [A-Za-z0-9._-]{1,64}
	Type         string            // "stdio", "http" (also "streamable-http", "streamableHttp"), "sse"; "" derives it
	Command      string            // program, looked up in PATH
	Args         []string          // its arguments
	Env          map[string]string // added to the environment
	InheritEnv   []string          // variables handed on beside the usual ones; the single word "all" hands on every one
	Cwd          string            // working folder; "" means this process's
	URL          string            // of an HTTP server
	Headers      map[string]string // sent with every HTTP request
	StartTimeout time.Duration     // from start to handshake, downloads included; 0 means 60 s
	Timeout      time.Duration     // of one call; 0 means the gateway's default
	Refresh      time.Duration     // between two listings; 0 means 15 min
	Concurrency  int               // calls under way at once; 0 means 16
	Queue        int               // calls that may wait for a place; 0 means 64

	// Disabled says why the server does not run; "" runs it. The rest of the
	// Spec is not looked at then.
	Disabled string
}

// A State is where a server's connection stands.
type State string

// The states of a server.
const (
	Idle       State = "idle"
	Connecting State = "connecting"
	Ready      State = "ready"
	Backoff    State = "backoff"
	Disabled   State = "disabled"
)

// A Status describes one server for people and machines.
type Status struct {
	Name      string    `json:"name"`
	State     State     `json:"state"`
	Transport string    `json:"transport"` // "stdio", "http", "sse"
	Protocol  string    `json:"protocol,omitempty"`
	Server    string    `json:"server,omitempty"` // name and version the server gives
	Tools     int       `json:"tools"`
	Listed    time.Time `json:"listed,omitzero"`
	Restarts  int       `json:"restarts"`
	Error     string    `json:"error,omitempty"` // last failure, cleared by success
	RetryAt   time.Time `json:"retryAt,omitzero"`
	InFlight  int       `json:"inFlight"`
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

	// Elicitation is the caller's elicitation capability, nil when it has
	// none or speaks a protocol before 2026-07-28.
	Elicitation    json.RawMessage
	InputResponses json.RawMessage // relayed unchanged, nil if none
	RequestState   json.RawMessage // relayed unchanged, nil if none

	// Idempotent allows a repeat of a call that may have run.
	Idempotent bool
	// Retries bounds repeats; 0 never repeats.
	Retries int
	// Progress is called for each progress notification of this call, never
	// after Call has returned; nil asks for none.
	Progress func(progress, total float64, message string)
}

// A Result is a tools/call result as it came. Whoever gets one calls Release
// when done with it.
type Result struct {
	Raw      json.RawMessage // the result object byte for byte
	Protocol string          // protocol version of the session that gave it
	Sent     bool            // false: the call cannot have run

	room *share
}

// Release makes room for other large results.
func (r Result) Release() { r.room.release() }
