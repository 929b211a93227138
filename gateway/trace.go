package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/index"
)

// An Auditor keeps a trace of executions; package audit has one.
type Auditor interface {
	Add(e audit.Event)                             // soon
	Sync(ctx context.Context, e audit.Event) error // it is kept when Sync returns
}

// Audit says how executions are audited. The zero value is not at all.
type Audit struct {
	Log      Auditor
	Required bool // a tool runs only when that it is about to is on disk
	Values   bool // of arguments are kept, beside their names
}

// event is what an audit has of a call from ctx.
func (a Audit) event(ctx context.Context, kind, tool string, r ExecuteRequest) audit.Event {
	from := OriginOf(ctx)
	e := audit.Event{Kind: kind, Principal: from.Principal, Endpoint: from.Endpoint, Request: from.Request, Tool: tool}
	return e.WithArguments(r.Arguments, a.Values)
}

// denied keeps that a caller may not run what it sees.
func (a Audit) denied(ctx context.Context, r ExecuteRequest, err error) {
	var e *Error
	if a.Log != nil && errors.Is(err, ErrNotRunnable) && errors.As(err, &e) {
		denied := a.event(ctx, audit.Denied, e.Tool, r)
		denied.Reason = e.Problem
		a.Log.Add(denied)
	}
}

// unknown keeps which tools a name is of that its caller does not see. What
// does not exist takes the same path up to the end, where an event is queued, so
// that the time of an answer tells nothing.
func (a Audit) unknown(ctx context.Context, r ExecuteRequest, named func(string, *index.Scope) []index.Hit) {
	if a.Log == nil {
		return
	}
	e := a.event(ctx, audit.HiddenAccess, "", r)
	for _, hit := range named(r.Name, nil) {
		e.Tool = hit.Tool.QualifiedName()
		a.Log.Add(e)
	}
}

// intend keeps that a tool is about to run. Its error keeps it from running.
func (a Audit) intend(ctx context.Context, x *prepared) error {
	if a.Log == nil || !a.Required {
		return nil
	}
	if err := a.Log.Sync(ctx, a.event(ctx, audit.Intent, x.name, x.asked)); err != nil {
		return &Error{
			Tool: x.name, Problem: "it did not run: what runs must be audited, and the audit cannot be written",
			Next: say("tell the operator of this gateway; its log says why"), Err: fmt.Errorf("audit: %w", err),
		}
	}
	return nil
}

// executed keeps how a run ended.
func (a Audit) executed(ctx context.Context, x *prepared, res Result, err error, took time.Duration) {
	if a.Log == nil {
		return
	}
	e := a.event(ctx, audit.Execute, x.name, x.asked)
	ok, ms := err == nil && !res.IsError, took.Milliseconds()
	e.OK, e.Ms = &ok, &ms
	switch {
	case err != nil:
		e.Reason = err.Error()
	case res.IsError:
		e.Reason = "the tool says that it failed"
	case res.NeedsInput:
		e.Reason = "the tool asks for input"
	}
	a.Log.Add(e)
}
