// Package args reads the arguments of meta-tools.
//
// Each reader returns its value, or what absent means; the first thing wrong is
// kept and everything after it reads as absent, so that callers check once.
package args

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/words"
)

// Bounds of what callers give.
const (
	MaxValues   = 1000 // of one list
	MaxValue    = 256  // bytes of a list's value
	MaxToolName = 4096 // bytes of a tool_name
	MaxPattern  = 256  // bytes: RE2 needs memory in proportion
)

// An Error is what is wrong with the arguments, and what to do next.
type Error struct{ Problem, Hint string }

func (e *Error) Error() string { return e.Problem }

// Args reads one object of a meta-tool's arguments. A key whose value is null
// counts as absent.
type Args struct {
	at     string // where the object stands: "search_tools", "search_tools filters"
	prefix string // of keys in messages: "", "filters."
	values map[string]json.RawMessage
	err    **Error // shared with nested objects
}

// Read reads the arguments of the meta-tool called tool, which may have the
// given keys.
func Read(tool string, raw json.RawMessage, keys ...string) *Args {
	a := &Args{at: tool, err: new(*Error)}
	if len(raw) == 0 || rawjson.Kind(raw) == "null" {
		return a
	}
	a.read(raw, keys)
	return a
}

func (a *Args) read(raw json.RawMessage, keys []string) {
	if kind := rawjson.Kind(raw); kind != "object" {
		a.Fail(fmt.Sprintf("expected an object, got %s", words.Article(kind)), a.usage(keys))
		return
	}
	if err := json.Unmarshal(raw, &a.values); err != nil {
		a.Fail(err.Error(), a.usage(keys))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(a.values)) {
		if slices.Contains(keys, key) {
			continue
		}
		a.Fail(fmt.Sprintf("unknown %s %q%s", strings.TrimSuffix(a.group(), "s"), words.Excerpt(key), words.DidYouMean(key, keys)), a.usage(keys))
		return
	}
}

// group is what the keys are called together: arguments, filters, options.
func (a *Args) group() string {
	if a.prefix == "" {
		return "arguments"
	}
	return strings.TrimSuffix(a.prefix, ".")
}

func (a *Args) usage(keys []string) string {
	return "the " + a.group() + " are " + words.Join(keys)
}

// Fail records the first error.
func (a *Args) Fail(msg, hint string) {
	if *a.err == nil {
		*a.err = &Error{Problem: a.at + ": " + msg, Hint: hint}
	}
}

// Failure is the first error, nil if there is none.
func (a *Args) Failure() error {
	if *a.err != nil {
		return *a.err
	}
	return nil
}

// get returns the value of key when it is present and of the kind.
func (a *Args) get(key, kind string) (json.RawMessage, bool) {
	raw, ok := a.values[key]
	if !ok || *a.err != nil {
		return nil, false
	}
	got := rawjson.Kind(raw)
	if got == "null" {
		return nil, false
	}
	if got != kind {
		a.wrongType(key, wanted[kind], raw)
		return nil, false
	}
	return raw, true
}

// wanted says in messages what each kind means here.
var wanted = map[string]string{
	"string": "a string", "boolean": "true or false", "number": "a number",
	"array": `an array of strings such as ["a","b"]`, "object": "an object",
}

func (a *Args) wrongType(key, want string, raw json.RawMessage) {
	a.Fail(fmt.Sprintf("%s%s: expected %s, got %s %s", a.prefix, key, want, rawjson.Kind(raw), words.Value(raw)),
		fmt.Sprintf("give %s%s as %s", a.prefix, key, want))
}

// Text reads a text; "" when absent.
func (a *Args) Text(key string) string {
	raw, ok := a.get(key, "string")
	if !ok {
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		a.wrongType(key, "a string", raw)
	}
	return s
}

// ToolName reads the key "tool_name"; hint says how to name a tool.
func (a *Args) ToolName(hint string) string {
	name := a.Text("tool_name")
	if strings.TrimSpace(name) == "" {
		a.Fail("tool_name is missing", hint)
	}
	if len(name) > MaxToolName {
		a.Fail(fmt.Sprintf("tool_name: %d bytes are too many, at most %d", len(name), MaxToolName), hint)
	}
	return name
}

// ToolArguments reads the key "arguments": an object, or a string that parses
// to one, as models send. Absent it is an error where required, else {}.
func (a *Args) ToolArguments(required bool) json.RawMessage {
	const hint = "give arguments as an object by the tool's input schema, {} when it takes none"
	raw, ok := a.values["arguments"]
	if !ok || rawjson.Kind(raw) == "null" {
		if required {
			a.Fail("arguments is missing", hint)
		}
		return json.RawMessage("{}")
	}
	switch rawjson.Kind(raw) {
	case "object":
		return raw
	case "string":
		var s string
		if json.Unmarshal(raw, &s) == nil && json.Valid([]byte(s)) && rawjson.Kind([]byte(s)) == "object" {
			return json.RawMessage(s)
		}
	}
	a.Fail(fmt.Sprintf("arguments: expected an object, got %s %s", rawjson.Kind(raw), words.Value(raw)), hint)
	return nil
}

// OneOf reads one of the values; "" when absent.
func (a *Args) OneOf(key string, values ...string) string {
	s := a.Text(key)
	if s != "" && !slices.Contains(values, s) {
		a.Fail(fmt.Sprintf("%s%s: unknown value %q%s", a.prefix, key, words.Excerpt(s), words.DidYouMean(s, values)),
			"it is one of "+words.Join(values))
		return ""
	}
	return s
}

// Flag reads true or false.
func (a *Args) Flag(key string, otherwise bool) bool {
	raw, ok := a.get(key, "boolean")
	if !ok {
		return otherwise
	}
	return string(raw) == "true"
}

// A span is the range of a whole number.
type span struct{ min, max int }

func (s span) String() string {
	if s.max == math.MaxInt32 {
		return fmt.Sprintf("%d or more", s.min)
	}
	return fmt.Sprintf("%d to %d", s.min, s.max)
}

// Integer reads a whole number from least to most; otherwise when absent.
func (a *Args) Integer(key string, least, most, otherwise int) int {
	s := span{least, most}
	raw, ok := a.get(key, "number")
	if !ok {
		return otherwise
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil || f != math.Trunc(f) {
		a.wrongType(key, "a whole number", raw)
		return otherwise
	}
	if f < float64(s.min) || f > float64(s.max) {
		a.Fail(fmt.Sprintf("%s%s: %s is out of range", a.prefix, key, words.Value(raw)), key+" is "+s.String())
		return otherwise
	}
	return int(f)
}

// Share is a number from 0 to 1; nil when absent.
func (a *Args) Share(key string) *float64 {
	raw, ok := a.get(key, "number")
	if !ok {
		return nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil || f < 0 || f > 1 {
		a.Fail(fmt.Sprintf("%s%s: %s is out of range", a.prefix, key, words.Value(raw)), key+" is 0 to 1")
		return nil
	}
	return &f
}

// List reads a list of texts.
func (a *Args) List(key string) []string {
	raw, ok := a.get(key, "array")
	if !ok {
		return nil
	}
	var values []string
	if err := json.Unmarshal(raw, &values); err != nil {
		a.wrongType(key, wanted["array"], raw)
		return nil
	}
	if len(values) > MaxValues {
		a.Fail(fmt.Sprintf("%s%s: %d values are too many", a.prefix, key, len(values)), fmt.Sprintf("give at most %d", MaxValues))
		return nil
	}
	for _, v := range values {
		if len(v) > MaxValue {
			a.Fail(fmt.Sprintf("%s%s: %q is too long", a.prefix, key, words.Cut(v, 60)), fmt.Sprintf("a value has at most %d bytes", MaxValue))
			return nil
		}
	}
	return values
}

// Nested reads the object of key, which may have the given keys.
func (a *Args) Nested(key string, keys ...string) *Args {
	in := &Args{at: a.at, prefix: key + ".", err: a.err}
	if raw, ok := a.get(key, "object"); ok {
		in.read(raw, keys)
	}
	return in
}

// Short is text of at most MaxValue bytes.
func (a *Args) Short(key string) string {
	s := a.Text(key)
	if len(s) > MaxValue {
		a.Fail(fmt.Sprintf("%s%s: %d bytes are too many", a.prefix, key, len(s)), fmt.Sprintf("it has at most %d bytes", MaxValue))
		return ""
	}
	return s
}

// Pattern is a regular expression; nil when absent.
func (a *Args) Pattern(key string) *regexp.Regexp {
	s := a.Text(key)
	if s == "" {
		return nil
	}
	if len(s) > MaxPattern {
		a.Fail(fmt.Sprintf("%s%s: %d bytes are too many", a.prefix, key, len(s)), fmt.Sprintf("a pattern has at most %d bytes", MaxPattern))
		return nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		a.Fail(fmt.Sprintf("%s%s: %v", a.prefix, key, err), "patterns are RE2 (no look-around, no back-references), e.g. \"^report_\"")
		return nil
	}
	return re
}

// Misplaced adds to an error about an unknown key that a tool's own arguments
// belong one level down.
func Misplaced(err error) error {
	e, ok := err.(*Error)
	if !ok || !strings.Contains(e.Problem, "unknown argument") {
		return err
	}
	return &Error{Problem: e.Problem, Hint: e.Hint + `; the tool's own arguments go inside "arguments"`}
}
