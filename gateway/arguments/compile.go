package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index/tool"
)

// maxSubschemas bounds what compiling costs: its time grows with the square
// of them, its memory by some 1 KB each.
const maxSubschemas = 5_000

var (
	errTooLarge   = fmt.Errorf("it has over %d subschemas", maxSubschemas)
	errDynamicRef = errors.New("dynamic references between embedded schemas are not followed")
)

// A compiledSchema checks arguments.
type compiledSchema struct {
	explain *jsonschema.Schema
	// refute is what explain refuses: the validator keeps no violations under
	// "not" and stops at the first.
	refute *jsonschema.Schema
	weight int // in bytes, about
}

// compile reads a schema without its faults. JSON Schema 2020-12 is assumed
// unless $schema says otherwise.
func compile(raw json.RawMessage, faults []tool.SchemaFault) (*compiledSchema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	for _, f := range faults {
		mend(doc, f)
	}
	var c census
	if c.count(doc, true); c.subschemas > maxSubschemas {
		return nil, errTooLarge
	}
	if c.dynamic && c.embedded {
		return nil, errDynamicRef
	}
	if hasHugeNumber(doc) {
		return nil, errNumber
	}
	p := patterns{known: map[string]jsonschema.Regexp{}, left: maxProgram}
	defer p.close()
	s := &compiledSchema{}
	const at, not = "tool:///inputSchema", "tool:///refuted"
	compiler := newCompiler(p.compile)
	if err := compiler.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if err := compiler.AddResource(not, map[string]any{"not": map[string]any{"$ref": at}}); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if s.explain, err = compiler.Compile(at); err == nil {
		s.refute, err = compiler.Compile(not)
	}
	if err != nil {
		return nil, faultOf(err)
	}
	s.weight = c.subschemas<<10 + 4*len(raw) + (maxProgram-p.left)*instructionBytes
	return s, nil
}

// faultOf says why a schema does not compile. The text of a violation of the
// meta-schema lists every part of a schema, so only the first is kept.
func faultOf(err error) error {
	var schema *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &schema) || !errors.As(schema.Err, &invalid) {
		return fmt.Errorf("compile schema: %w", err)
	}
	leaves := leavesOf(invalid, nil)
	first := slices.MinFunc(leaves, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	})
	at := words.Cut(strings.Join(append([]string{""}, first.InstanceLocation...), "/"), maxPath)
	return fmt.Errorf("compile schema: at %q: %s", at, wording(first.ErrorKind))
}

func newCompiler(engine jsonschema.RegexpEngine) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(engine)
	// Servers disagree about formats, and most drafts leave them optional:
	// the server itself decides.
	for _, name := range assertedFormats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	return c
}

// A census is what decides whether a schema is compiled.
type census struct {
	subschemas int  // at most: objects and booleans may be data, too
	embedded   bool // a part has an $id
	dynamic    bool // it has $dynamicRef or $recursiveRef
}

func (c *census) count(v any, top bool) {
	switch v := v.(type) {
	case bool:
		c.subschemas++
	case []any:
		for _, value := range v {
			c.count(value, false)
		}
	case map[string]any:
		c.subschemas++
		c.embedded = c.embedded || !top && has(v, "$id")
		c.dynamic = c.dynamic || has(v, "$dynamicRef") || has(v, "$recursiveRef")
		for _, value := range v {
			c.count(value, false)
		}
	}
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

const (
	// maxPatternText bounds a pattern's text, as classes take far more room when
	// they are read, maxProgram the instructions of all patterns of a schema.
	maxPatternText   = 4 << 10
	maxProgram       = 10_000
	instructionBytes = 400
	// maxMatch bounds one run of a pattern, in instructions times bytes of
	// text; stepsAVisit are as dear as the visit of a subschema.
	maxMatch    = 4_000_000
	stepsAVisit = 8
)

// patterns compiles those of one schema that RE2 knows and that are not too
// costly. Others (look-around, back-references of ECMA 262) match everything
// here and are left to the server, as an engine that backtracks can be made
// to hang.
type patterns struct {
	known  map[string]jsonschema.Regexp
	left   int // of maxProgram
	closed bool
}

func (p *patterns) compile(s string) (jsonschema.Regexp, error) {
	if p.closed { // by now the texts are arguments that claim to be patterns
		return anyString(s), nil
	}
	if re, ok := p.known[s]; ok {
		return re, nil
	}
	re := p.bounded(s)
	p.known[s] = re
	return re, nil
}

func (p *patterns) close() { p.closed = true; p.known = nil }

func (p *patterns) bounded(s string) jsonschema.Regexp {
	if len(s) > maxPatternText || p.left <= 0 {
		return anyString(s)
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return anyString(s)
	}
	size := programSize(tree)
	if size > p.left {
		p.left -= min(p.left, maxProgram/20) // for reading it: others still have room
		return anyString(s)
	}
	p.left -= size
	re, err := regexp.Compile(s)
	if err != nil {
		return anyString(s)
	}
	return &pattern{re, size}
}

// programSize is about how many instructions an expression has, its
// repetitions written out.
func programSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/4
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return min(n, maxProgram+1)
}

// A pattern leaves texts that would take long to the server.
type pattern struct {
	*regexp.Regexp
	size int
}

func (p *pattern) steps(text string) int { return p.size * len(text) }

func (p *pattern) MatchString(text string) bool {
	return p.steps(text) > maxMatch || p.Regexp.MatchString(text)
}

type anyString string

func (anyString) MatchString(string) bool { return true }
func (a anyString) String() string        { return string(a) }
