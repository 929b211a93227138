// Package audit keeps a trace of what callers did: who called what, when, and
// how it went.
//
// A [Log] writes one file in a folder, an [Event] a line of JSON. Each line
// ends in a MAC (HMAC-SHA-256, RFC 2104) over the line before it and itself,
// with a key of the folder, so that [Verify] finds lines that were changed,
// removed or reordered; the end of the file is kept beside it, sealed the
// same way, so that a file that was cut is found, too. Several processes write
// one folder, each its own file. [Records] reads them in the order of time.
//
// [Log.Add] never waits: events are written and synced within [Delay], and a
// kill loses at most these. [Log.Sync] returns when its event is on disk.
//
// Limits: whoever can read the key can forge, and whoever kept copies of a file
// and of what is beside it can put both back together.
package audit

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// What an Event tells of.
const (
	Execute      = "execute"            // a tool has run
	Intent       = "intent"             // a tool is about to run
	Denied       = "denied"             // a caller may not do what it asked for
	HiddenAccess = "hidden_tool_access" // a caller named a tool that its endpoint hides
	AuthFailed   = "auth_failed"        // a caller could not be told
	Admin        = "admin"              // a change through the API or the command line
	Login        = "login"              // a login at an upstream

	opened = "opened" // the first line of a file
	pruned = "pruned" // old files were removed
	lost   = "lost"   // events could not be written
	closed = "closed" // the last line of a file
)

// Events are the kinds that a caller of Add may give.
func Events() []string {
	return []string{Admin, AuthFailed, Denied, Execute, HiddenAccess, Intent, Login}
}

// An Event is one thing that happened.
type Event struct {
	Time      time.Time       `json:"time"`                // when it was; zero means when it is added
	Kind      string          `json:"event"`               // one of the constants
	Principal string          `json:"principal,omitempty"` // "" is the operator
	Endpoint  string          `json:"endpoint,omitempty"`
	Tool      string          `json:"tool,omitempty"`      // server/tool
	Arguments []string        `json:"arguments,omitempty"` // their names
	Values    json.RawMessage `json:"values,omitempty"`    // the object of them, where the operator wants it kept
	OK        *bool           `json:"ok,omitempty"`
	Ms        *int64          `json:"ms,omitempty"`
	Request   string          `json:"request,omitempty"` // the JSON-RPC id, as JSON
	Reason    string          `json:"reason,omitempty"`
	Files     []string        `json:"files,omitempty"` // that were there when this one began, or were removed
	Count     int             `json:"count,omitempty"` // of events that are lost
}

// A Record is an Event as it stands in a file.
type Record struct {
	Seq int `json:"seq"` // from 1, in its file
	Event
	MAC string `json:"mac"` // hexadecimal
}

const (
	// Delay is how long an added event may wait until it is on disk.
	Delay = time.Second

	// DefaultKeep is how long files are kept when Options say nothing.
	DefaultKeep = 90 * 24 * time.Hour
	// DefaultMaxBytes is the size at which a file is followed by the next.
	DefaultMaxBytes = 64 << 20

	maxAge  = 24 * time.Hour // after which a file is followed by the next
	waiting = 4096           // events that may wait to be written
)

// ErrClosed is the error of Sync after Close.
var ErrClosed = errors.New("the audit is closed")

const (
	mostNames  = 64       // of arguments that are kept, the first in order
	longName   = 128      // bytes of one, and of a request's id
	mostValues = 64 << 10 // bytes of values; more are left out
)

// WithArguments is e with the names of a call's arguments, sorted, and with
// their values if they are wanted. Callers choose both, so both are bounded.
func (e Event) WithArguments(arguments json.RawMessage, values bool) Event {
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil {
		return e
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(e.Arguments) == mostNames {
			break
		}
		e.Arguments = append(e.Arguments, name[:min(len(name), longName)])
	}
	if values && len(arguments) <= mostValues {
		e.Values = arguments
	}
	return e
}
