package meta

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/words"
)

// args reads one object of a meta-tool's arguments. The first thing wrong is
// kept and everything after it reads as absent, so that callers check err
// once. A key whose value is null counts as absent.
type args struct {
	at     string // where the object stands: "search_tools", "search_tools filters"
	prefix string // of keys in messages: "", "filters."
	values map[string]json.RawMessage
	err    **callError // shared with nested objects
}

// readArgs reads the arguments of c, which may have the given keys.
func readArgs(c surface.Call, keys ...string) *args {
	a := &args{at: c.Tool, err: new(*callError)}
	if len(c.Arguments) == 0 || rawjson.Kind(c.Arguments) == "null" {
		return a
	}
	a.read(c.Arguments, keys)
	return a
}

func (a *args) read(raw json.RawMessage, keys []string) {
	if kind := rawjson.Kind(raw); kind != "object" {
		a.fail(fmt.Sprintf("expected an object, got %s", words.Article(kind)), a.usage(keys))
		return
	}
	if err := json.Unmarshal(raw, &a.values); err != nil {
		a.fail(err.Error(), a.usage(keys))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(a.values)) {
		if slices.Contains(keys, key) {
			continue
		}
		a.fail(fmt.Sprintf("unknown %s %q%s", strings.TrimSuffix(a.group(), "s"), words.Excerpt(key), words.DidYouMean(key, keys)), a.usage(keys))
		return
	}
}

// group is what the keys are called together: arguments, filters, options.
func (a *args) group() string {
	if a.prefix == "" {
		return "arguments"
	}
	return strings.TrimSuffix(a.prefix, ".")
}

func (a *args) usage(keys []string) string {
	return "the " + a.group() + " are " + words.Join(keys)
}

// fail records the first error.
func (a *args) fail(msg, hint string) {
	if *a.err == nil {
		*a.err = &callError{msg: a.at + ": " + msg, hint: hint}
	}
}

// failure is the first error, nil if there is none.
func (a *args) failure() error {
	if *a.err != nil {
		return *a.err
	}
	return nil
}

// get returns the value of key when it is present and of the kind.
func (a *args) get(key, kind string) (json.RawMessage, bool) {
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

func (a *args) wrongType(key, want string, raw json.RawMessage) {
	a.fail(fmt.Sprintf("%s%s: expected %s, got %s %s", a.prefix, key, want, rawjson.Kind(raw), words.Value(raw)),
		fmt.Sprintf("give %s%s as %s", a.prefix, key, want))
}

func (a *args) text(key string) string {
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

// toolName reads the key "tool_name".
func (a *args) toolName() string {
	name := a.text("tool_name")
	if strings.TrimSpace(name) == "" {
		a.fail("tool_name is missing", `give a tool as search_tools names it, "server/tool" or its id`)
	}
	if len(name) > maxToolName {
		a.fail(fmt.Sprintf("tool_name: %d bytes are too many, at most %d", len(name), maxToolName), "give the tool's id, as search_tools shows it")
	}
	return name
}

func (a *args) oneOf(key string, values ...string) string {
	s := a.text(key)
	if s != "" && !slices.Contains(values, s) {
		a.fail(fmt.Sprintf("%s%s: unknown value %q%s", a.prefix, key, words.Excerpt(s), words.DidYouMean(s, values)),
			"it is one of "+words.Join(values))
		return ""
	}
	return s
}

func (a *args) flag(key string, otherwise bool) bool {
	raw, ok := a.get(key, "boolean")
	if !ok {
		return otherwise
	}
	return string(raw) == "true"
}

// A span is the range of a whole number and what it is when absent.
type span struct{ min, max, otherwise int }

func (s span) String() string {
	if s.max == math.MaxInt32 {
		return fmt.Sprintf("%d or more", s.min)
	}
	return fmt.Sprintf("%d to %d", s.min, s.max)
}

func (a *args) integer(key string, s span) int {
	raw, ok := a.get(key, "number")
	if !ok {
		return s.otherwise
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil || f != math.Trunc(f) {
		a.wrongType(key, "a whole number", raw)
		return s.otherwise
	}
	if f < float64(s.min) || f > float64(s.max) {
		a.fail(fmt.Sprintf("%s%s: %s is out of range", a.prefix, key, words.Value(raw)), key+" is "+s.String())
		return s.otherwise
	}
	return int(f)
}

// share is a number from 0 to 1; nil when absent.
func (a *args) share(key string) *float64 {
	raw, ok := a.get(key, "number")
	if !ok {
		return nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil || f < 0 || f > 1 {
		a.fail(fmt.Sprintf("%s%s: %s is out of range", a.prefix, key, words.Value(raw)), key+" is 0 to 1")
		return nil
	}
	return &f
}

func (a *args) list(key string) []string {
	raw, ok := a.get(key, "array")
	if !ok {
		return nil
	}
	var values []string
	if err := json.Unmarshal(raw, &values); err != nil {
		a.wrongType(key, wanted["array"], raw)
		return nil
	}
	if len(values) > maxValues {
		a.fail(fmt.Sprintf("%s%s: %d values are too many", a.prefix, key, len(values)), fmt.Sprintf("give at most %d", maxValues))
		return nil
	}
	for _, v := range values {
		if len(v) > maxValue {
			a.fail(fmt.Sprintf("%s%s: %q is too long", a.prefix, key, words.Cut(v, 60)), fmt.Sprintf("a value has at most %d bytes", maxValue))
			return nil
		}
	}
	return values
}

// nested reads the object of key, which may have the given keys.
func (a *args) nested(key string, keys ...string) *args {
	in := &args{at: a.at, prefix: key + ".", err: a.err}
	if raw, ok := a.get(key, "object"); ok {
		in.read(raw, keys)
	}
	return in
}
