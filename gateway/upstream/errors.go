package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
)

// What can be wrong with a call beside what the server itself answers.
var (
	// ErrUnknownServer reports a name that no server has.
	ErrUnknownServer = errors.New("no such server")
	// ErrNotConnected reports a server that is not connected and did not
	// become so in time.
	ErrNotConnected = errors.New("not connected")
	// ErrDisabled reports a server that the configuration keeps from running.
	ErrDisabled = errors.New("disabled")
	// ErrQueueFull reports more calls waiting for one server than are
	// allowed.
	ErrQueueFull = errors.New("queue full")
	// ErrGone reports a connection that ended during the call.
	ErrGone = errors.New("connection lost")
	// ErrUnauthorized reports a server that wants other credentials: the call
	// has not run.
	ErrUnauthorized = errors.New("credentials refused")
	// ErrNeedsLogin is ErrUnauthorized of a server that somebody can log in at.
	ErrNeedsLogin error = needsLogin{}
	// ErrNoToken reports a call that goes out with a token in place of its
	// caller's own, by a caller who has none.
	ErrNoToken = errors.New("it is called with a token in place of its caller's own, and this caller came without one")
	// ErrTooLarge reports an answer over 32 MiB, which was discarded.
	ErrTooLarge = errors.New("answer larger than 32 MiB")
	// ErrNoRoom reports a large answer that was discarded, or not waited for
	// any longer, as other large answers took the memory there is for them.
	ErrNoRoom = errors.New("no room for the answer: other large answers are in memory")
	// ErrStopped reports servers that run no longer.
	ErrStopped = errors.New("stopped")
)

type needsLogin struct{}

func (needsLogin) Error() string        { return "needs a login" }
func (needsLogin) Is(target error) bool { return target == ErrUnauthorized }

// A CallError is the error of one tools/call.
type CallError struct {
	Server, Tool string
	Sent         bool // false: the call cannot have run
	Refused      bool // Err is what the server answered
	Err          error

	// Code and Data are those of the JSON-RPC error that a server answered:
	// some say in them what to do, as an address to open.
	Code int64
	Data json.RawMessage // nil for none
}

// longestData bounds what Cause repeats of Data, in bytes.
const longestData = 2000

// Cause is what went wrong, without the names of the server and the tool, with
// the code and data that the server gave.
func (e *CallError) Cause() string {
	text := e.Err.Error()
	switch data := string(e.Data); {
	case e.Code == 0:
	case len(data) > longestData:
		text = fmt.Sprintf("%s (JSON-RPC error %d, with %d bytes of data)", text, e.Code, len(data))
	case data != "" && data != "null":
		text = fmt.Sprintf("%s (JSON-RPC error %d, data %s)", text, e.Code, data)
	default:
		text = fmt.Sprintf("%s (JSON-RPC error %d)", text, e.Code)
	}
	return text
}

// Error names the server and the tool, and says when the call may have run.
func (e *CallError) Error() string {
	text := fmt.Sprintf("call %s/%s: %v", e.Server, e.Tool, e.Err)
	if e.Sent && (errors.Is(e.Err, ErrGone) || errors.Is(e.Err, ErrTooLarge) || errors.Is(e.Err, ErrNoRoom)) {
		text += "; the call may have run"
	}
	return text
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }
