// Package arguments checks the arguments of a tool against the tool's own
// input schema. Both come from strangers, so that a check is bounded whatever
// they hold, and what it says is short and names the nearest parameter.
package arguments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tooldex/tooldex/index/tool"
)

// An Error says why arguments cannot be given to a tool, and what to do next.
type Error struct{ Problem, Hint string }

func (e *Error) Error() string { return e.Problem }

// A Schema is a tool's input schema, compiled when it is first needed.
type Schema struct {
	raw     json.RawMessage
	compile func() (*compiledSchema, error)
}

// NewSchema returns the schema s, of which what is faulty is not checked.
// Compiled is called once it takes memory, with about how many bytes; nil is
// not called.
func NewSchema(s tool.Schema, compiled func(bytes int)) *Schema {
	return &Schema{raw: s.JSON, compile: sync.OnceValues(func() (*compiledSchema, error) {
		s, err := compile(s.JSON, s.Faults)
		if err == nil && compiled != nil {
			compiled(s.weight)
		}
		return s, err
	})}
}

// JSON is the schema as it was given.
func (s *Schema) JSON() json.RawMessage { return s.raw }

// A Checker checks arguments. What takes long is done by one call at a time,
// so that the other cores stay free.
type Checker struct{ heavy lane }

// NewChecker returns a Checker.
func NewChecker() *Checker { return &Checker{heavy: make(lane, 1)} }

// Check reports how arguments break the schema of the tool called name, as an
// [Error]; nil when they do not. Other errors say why there was no check: the
// cause of ctx's end, or a schema that is none, which allows every object.
func (c *Checker) Check(ctx context.Context, name string, s *Schema, arguments json.RawMessage) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return &Error{fmt.Sprintf("arguments: %v", err), "give arguments as a JSON object"}
	}
	err = c.validate(ctx, s, value)
	var remote *jsonschema.LoadURLError
	var invalid *jsonschema.ValidationError
	switch {
	case errors.As(err, &remote):
		return &Error{
			fmt.Sprintf("its input schema cannot be used: %v", remote.Err),
			"this tool cannot be executed until its server sends a self-contained schema",
		}
	case errors.Is(err, errTooCostly), errors.Is(err, errTooLarge), errors.Is(err, errNumber):
		return &Error{
			fmt.Sprintf("its input schema is too costly to check against these arguments: %v", err),
			"the tool did not run; give smaller arguments, or let the operator set execution.validate_arguments: false",
		}
	case errors.Is(err, errRefuted):
		return &Error{
			"the arguments do not fit its input schema; they are too large to say where",
			"signature: " + signature(name, s),
		}
	case errors.As(err, &invalid):
		problems := describeProblems(invalid, value, s.raw)
		return &Error{strings.Join(problems, "; "), "signature: " + signature(name, s)}
	}
	return err
}

// maxSignature bounds the signature in an error, in bytes and about.
const maxSignature = 1000

func signature(name string, s *Schema) string {
	return name + tool.ReadSchema(s.raw).Signature(maxSignature)
}

// errRefuted says that there is a violation, and nothing about it.
var errRefuted = errors.New("the arguments do not fit")

// largeSchema is where compiling is a heavy task, in bytes.
const largeSchema = 64 << 10

// validate returns a *jsonschema.ValidationError or errRefuted when the
// schema refuses value; other errors say why that could not be found out.
func (c *Checker) validate(ctx context.Context, schema *Schema, value any) error {
	s, err := c.compiled(ctx, schema)
	if err != nil {
		return err
	}
	cost, err := costOf(s.explain, value)
	if err != nil {
		return err
	}
	if cost <= maxExplained {
		return s.explain.Validate(value)
	}
	// For callers that have gone meanwhile there is nothing to do.
	if err := c.heavy.enter(ctx); err != nil {
		return err
	}
	defer c.heavy.leave()
	if s.refute.Validate(value) == nil {
		return errRefuted
	}
	return nil
}

func (c *Checker) compiled(ctx context.Context, s *Schema) (*compiledSchema, error) {
	if len(s.raw) > largeSchema {
		if err := c.heavy.enter(ctx); err != nil {
			return nil, err
		}
		defer c.heavy.leave()
	}
	return s.compile()
}

// A lane lets one caller through at a time.
type lane chan struct{}

func (l lane) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l lane) leave() { <-l }
