package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxProblems is how many violations one error lists.
const maxProblems = 3

// compile reads a schema. JSON Schema 2020-12 is assumed unless $schema says
// otherwise.
func compile(raw json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	const at = "tool:///inputSchema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientPattern)
	// Servers disagree about formats, and most drafts leave them optional:
	// the server itself decides.
	for _, name := range assertedFormats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	s, err := c.Compile(at)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return s, nil
}

// assertedFormats are those that drafts before 2019-09 assert by default.
var assertedFormats = []string{
	"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email",
	"date", "time", "date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver", "regex",
}

// noLoader refuses every reference out of the schema: what an upstream writes
// must not make this process open files or connections.
type noLoader struct{}

var errRemoteRef = errors.New("references outside the schema are not followed")

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("load %s: %w", url, errRemoteRef)
}

// lenientPattern takes the patterns that RE2 knows. Others (look-around,
// back-references of ECMA 262) match everything here and are left to the
// server, as an engine that backtracks can be made to hang.
func lenientPattern(s string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(s)
	if err != nil {
		return anyString(s), nil
	}
	return re, nil
}

type anyString string

func (anyString) MatchString(string) bool { return true }
func (a anyString) String() string        { return string(a) }

// check reports how arguments break the input schema of obj, the tool called
// name; nil when they do not. A schema that is no valid schema allows every
// object.
func (g *Gateway) check(name string, obj *toolObject, arguments json.RawMessage) error {
	s, err := obj.schema()
	var remote *jsonschema.LoadURLError
	if errors.As(err, &remote) {
		return &callError{
			msg:  fmt.Sprintf("execute_tool %s: its input schema cannot be used: %v", name, remote.Err),
			hint: "this tool cannot be executed until its server sends a self-contained schema",
		}
	}
	if err != nil {
		g.log.Debug("arguments not validated", "tool", name, "error", err)
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return &callError{msg: fmt.Sprintf("execute_tool %s: arguments: %v", name, err), hint: "give arguments as a JSON object"}
	}
	var invalid *jsonschema.ValidationError
	if err := s.Validate(value); !errors.As(err, &invalid) || isEndless(invalid) {
		return nil
	}
	problems := describeProblems(invalid, value, obj.input)
	return &callError{
		msg:  fmt.Sprintf("execute_tool %s: %s", name, strings.Join(problems, "; ")),
		hint: "signature: " + signature(name, obj.input),
	}
}

var english = message.NewPrinter(language.English)

// describeProblems gives one text a violation: path, what was expected, the
// nearest parameter.
func describeProblems(e *jsonschema.ValidationError, value any, schema json.RawMessage) []string {
	var problems []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) > 0 && !isChoice(e.ErrorKind) {
			for _, cause := range e.Causes {
				walk(cause)
			}
			return
		}
		text := problem(e, schema)
		if !slices.Contains(problems, text) {
			problems = append(problems, text)
		}
	}
	walk(e)
	if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, ": unknown ") }) {
		problems = append(problems, misspelt(e, value, schema)...)
	}
	slices.Sort(problems)
	if len(problems) > maxProblems {
		more := fmt.Sprintf("and %d more", len(problems)-maxProblems)
		problems = append(problems[:maxProblems:maxProblems], more)
	}
	return problems
}

// isEndless says that a schema refers to itself without end, which makes it
// no schema.
func isEndless(e *jsonschema.ValidationError) bool {
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(e.Causes, isEndless)
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

func problem(e *jsonschema.ValidationError, schema json.RawMessage) string {
	at := strings.Join(append([]string{"arguments"}, e.InstanceLocation...), "/")
	known := parameterNames(schema, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return fmt.Sprintf("%s: %s missing", at, quotedList(k.Missing))
	case *kind.AdditionalProperties:
		text := fmt.Sprintf("%s: unknown %s", at, quotedList(k.Properties))
		if len(k.Properties) > 0 {
			text += didYouMean(k.Properties[0], known)
		}
		return text
	case *kind.Type:
		return fmt.Sprintf("%s: expected %s, got %s", at, strings.Join(k.Want, " or "), k.Got)
	case *kind.AnyOf, *kind.OneOf:
		return fmt.Sprintf("%s: fits none of the allowed forms (%s)", at, choices(e))
	}
	return at + ": " + e.ErrorKind.LocalizedString(english)
}

// misspelt says which keys given beside a missing one are no parameters and
// are near it; schemas that allow other keys do not refuse them.
func misspelt(e *jsonschema.ValidationError, value any, schema json.RawMessage) []string {
	var texts []string
	for _, cause := range e.Causes {
		texts = append(texts, misspelt(cause, value, schema)...)
	}
	missing, ok := e.ErrorKind.(*kind.Required)
	if !ok {
		return texts
	}
	known := parameterNames(schema, e.InstanceLocation)
	for _, key := range sortedKeys(objectAt(value, e.InstanceLocation)) {
		if near := didYouMean(key, missing.Missing); near != "" && !slices.Contains(known, key) {
			texts = append(texts, fmt.Sprintf("arguments: %q is no parameter%s", key, near))
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
	for _, cause := range e.Causes {
		leaf := cause
		for len(leaf.Causes) > 0 {
			leaf = leaf.Causes[0]
		}
		text := leaf.ErrorKind.LocalizedString(english)
		if !slices.Contains(wants, text) {
			wants = append(wants, text)
		}
	}
	if len(wants) == 0 {
		return e.ErrorKind.LocalizedString(english)
	}
	return strings.Join(wants[:min(len(wants), 4)], "; or ")
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return join(quoted)
}
