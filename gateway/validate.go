package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxProblems is how many violations one error lists.
const maxProblems = 3

// check reports how arguments break the input schema of obj, the tool called
// name; nil when they do not. A schema that is no valid schema allows every
// object.
func (g *Gateway) check(ctx context.Context, name string, obj *toolObject, arguments json.RawMessage) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return &callError{msg: fmt.Sprintf("execute_tool %s: arguments: %v", name, err), hint: "give arguments as a JSON object"}
	}
	err = g.validate(ctx, obj, value)
	var remote *jsonschema.LoadURLError
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &remote):
		return &callError{
			msg:  fmt.Sprintf("execute_tool %s: its input schema cannot be used: %v", name, remote.Err),
			hint: "this tool cannot be executed until its server sends a self-contained schema",
		}
	case errors.Is(err, errTooCostly), errors.Is(err, errTooLarge), errors.Is(err, errNumber):
		return &callError{
			msg:  fmt.Sprintf("execute_tool %s: its input schema is too costly to check against these arguments: %v", name, err),
			hint: "the tool did not run; give smaller arguments, or let the operator set execution.validate_arguments: false",
		}
	case errors.Is(err, errShutdown):
		return &callError{
			msg:  fmt.Sprintf("execute_tool %s: cancelled as %v", name, errShutdown),
			hint: "the tool did not run; reconnect and call again",
		}
	case ctx.Err() != nil:
		return &callError{
			msg:  fmt.Sprintf("execute_tool %s: the time was up before its arguments were checked", name),
			hint: "the tool did not run; call it again",
		}
	case errors.Is(err, errRefuted):
		return &callError{
			msg:  fmt.Sprintf("execute_tool %s: the arguments do not fit its input schema; they are too large to say where", name),
			hint: "signature: " + signature(name, obj.input),
		}
	case errors.As(err, &invalid):
		problems := describeProblems(invalid, value, obj.input)
		return &callError{
			msg:  fmt.Sprintf("execute_tool %s: %s", name, strings.Join(problems, "; ")),
			hint: "signature: " + signature(name, obj.input),
		}
	}
	g.log.Debug("arguments not validated", "tool", name, "error", err)
	return nil
}

// errRefuted says that there is a violation, and nothing about it.
var errRefuted = errors.New("the arguments do not fit")

// largeSchema is where compiling is a heavy task, in bytes.
const largeSchema = 64 << 10

// validate returns a *jsonschema.ValidationError or errRefuted when the
// schema refuses value; other errors say why that could not be found out.
// What takes long is done by one call at a time, so that the other cores stay
// free, and not for callers that have gone meanwhile.
func (g *Gateway) validate(ctx context.Context, obj *toolObject, value any) error {
	s, err := g.compiled(ctx, obj)
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
	if err := g.heavy.enter(ctx); err != nil {
		return err
	}
	defer g.heavy.leave()
	if g.underWay.isShut() { // while this call waited
		return errShutdown
	}
	if s.refute.Validate(value) == nil {
		return errRefuted
	}
	return nil
}

func (g *Gateway) compiled(ctx context.Context, obj *toolObject) (*compiledSchema, error) {
	if len(obj.input) > largeSchema {
		if err := g.heavy.enter(ctx); err != nil {
			return nil, err
		}
		defer g.heavy.leave()
	}
	return obj.schema()
}

// A lane lets one caller through at a time.
type lane chan struct{}

func (l lane) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l lane) leave() { <-l }

var english = message.NewPrinter(language.English)

// maxLeaves is how many violations are put into words to find the first few.
const maxLeaves = 50

// describeProblems gives one text a violation: path, what was expected, the
// nearest parameter.
func describeProblems(e *jsonschema.ValidationError, value any, schema json.RawMessage) []string {
	leaves := leavesOf(e, nil)
	further := max(len(leaves)-maxLeaves, 0)
	if further > 0 {
		slices.SortStableFunc(leaves, func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
		leaves = leaves[:maxLeaves]
	}
	r := newSchemaReader(schema)
	var problems []string
	for _, leaf := range leaves {
		problems = append(problems, problem(leaf, r))
	}
	if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, ": unknown ") }) {
		for _, leaf := range leaves {
			problems = append(problems, misspelt(leaf, value, r)...)
		}
	}
	slices.Sort(problems)
	problems = slices.Compact(problems)
	if further += max(len(problems)-maxProblems, 0); further > 0 {
		problems = append(problems[:min(len(problems), maxProblems):maxProblems], fmt.Sprintf("and %d more", further))
	}
	return problems
}

// leavesOf appends the violations that stand behind e.
func leavesOf(e *jsonschema.ValidationError, leaves []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 || isChoice(e.ErrorKind) {
		return append(leaves, e)
	}
	for _, cause := range e.Causes {
		leaves = leavesOf(cause, leaves)
	}
	return leaves
}

// isChoice says that an error's causes are alternatives, of which listing all
// would mislead.
func isChoice(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return true
	}
	return false
}

const (
	// maxPath and maxProblem bound what is said about one violation, in
	// characters, maxListed the names or values in it.
	maxPath    = 80
	maxProblem = 150
	maxListed  = 6
)

func problem(e *jsonschema.ValidationError, r *schemaReader) string {
	at := clip(strings.Join(append([]string{"arguments"}, e.InstanceLocation...), "/"), maxPath)
	return clip(at+": "+expectation(e, r), maxPath+maxProblem)
}

func expectation(e *jsonschema.ValidationError, r *schemaReader) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return quotedList(k.Missing) + " missing"
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties) // they come in the order of a map
		text := "unknown " + quotedList(k.Properties)
		if len(k.Properties) > 0 {
			text += didYouMean(k.Properties[0], r.parameterNames(e.InstanceLocation))
		}
		return text
	case *kind.Type:
		return fmt.Sprintf("expected %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.AnyOf, *kind.OneOf:
		return fmt.Sprintf("fits none of the allowed forms (%s)", choices(e))
	}
	return wording(e.ErrorKind)
}

// wording is the library's text for a violation, less what would make it
// long.
func wording(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Enum:
		if more := len(k.Want) - maxListed; more > 0 {
			few := &kind.Enum{Got: k.Got, Want: k.Want[:maxListed]}
			return fmt.Sprintf("%s and %d more", clip(few.LocalizedString(english), maxProblem-20), more)
		}
	case *kind.Pattern:
		return fmt.Sprintf("'%s' does not match pattern '%s'", clip(k.Got, maxProblem/3), clip(k.Want, maxProblem/3))
	case *kind.MinContains:
		return fmt.Sprintf("min %d items required to match contains schema, %d match", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("max %d items may match contains schema, %d match", k.Want, len(k.Got))
	}
	return clip(k.LocalizedString(english), maxProblem)
}

// clip cuts s after most characters.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// misspelt says which keys given beside a missing one are no parameters and
// are near it; schemas that allow other keys do not refuse them.
func misspelt(e *jsonschema.ValidationError, value any, r *schemaReader) []string {
	missing, ok := e.ErrorKind.(*kind.Required)
	if !ok {
		return nil
	}
	var texts []string
	known := r.parameterNames(e.InstanceLocation)
	keys := sortedKeys(objectAt(value, e.InstanceLocation))
	for _, key := range keys[:min(len(keys), maxLeaves)] {
		if slices.Contains(known, key) {
			continue
		}
		if near := didYouMean(key, missing.Missing); near != "" {
			texts = append(texts, fmt.Sprintf("arguments: %q is no parameter%s", clip(key, maxPath), near))
		}
	}
	return texts
}

// objectAt is the object at a path of keys, nil when there is none.
func objectAt(value any, path []string) map[string]any {
	object, _ := value.(map[string]any)
	for _, step := range path {
		object, _ = object[step].(map[string]any)
	}
	return object
}

// choices says what each alternative wanted, up to four.
func choices(e *jsonschema.ValidationError) string {
	var wants []string
	for _, cause := range e.Causes[:min(len(e.Causes), maxLeaves)] {
		leaf := cause
		for len(leaf.Causes) > 0 {
			leaf = leaf.Causes[0]
		}
		text := clip(wording(leaf.ErrorKind), maxProblem/4)
		if !slices.Contains(wants, text) {
			wants = append(wants, text)
		}
	}
	if len(wants) == 0 {
		return e.ErrorKind.LocalizedString(english)
	}
	return strings.Join(wants[:min(len(wants), 4)], "; or ")
}

// quotedList quotes the first few names.
func quotedList(names []string) string {
	var quoted []string
	for i, n := range names {
		if i == maxListed {
			return fmt.Sprintf("%s and %d more", join(quoted), len(names)-i)
		}
		quoted = append(quoted, fmt.Sprintf("%q", clip(n, maxProblem/4)))
	}
	return join(quoted)
}
