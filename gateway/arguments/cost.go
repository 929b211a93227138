package arguments

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxCost bounds one check of arguments, in visits of a subschema, which
	// take 100 ns to 1 µs each.
	maxCost = 1_000_000
	// maxExplained bounds a check that keeps every violation, at some 200
	// bytes each; dearer ones only learn whether there is one.
	maxExplained = 50_000
	// maxChain is how many subschemas in a row may look at one value. Only a
	// schema that refers to itself without end has more.
	maxChain = 256
	// maxNumber bounds a number's characters and exponent: exact arithmetic
	// takes time and memory by them. A double's largest has 309 digits.
	maxNumber = 400
	// aNumber is what reading a number exactly takes, in visits.
	aNumber = 8
)

var (
	errTooCostly = errors.New("checking takes too many steps")
	errEndless   = errors.New("the schema refers to itself without end")
	errNumber    = errors.New("a number has over 400 digits")
)

// costOf counts what validating v against s can take at most, as the library
// has neither a limit nor a context: a few subschemas that refer to each
// other twice are enough for 2^40 visits. It follows what the validator
// follows and stops at maxCost.
func costOf(s *jsonschema.Schema, v any) (int, error) {
	if hasHugeNumber(v) {
		return 0, errNumber
	}
	var c cost
	c.visit(s, v, 0, 0)
	return c.spent, c.err
}

type cost struct {
	spent int
	err   error
}

func (c *cost) spend(n int) {
	c.spent += n
	if c.spent > maxCost && c.err == nil {
		c.err = errTooCostly
	}
}

// visit counts s at a value that is depth below the top and that chain
// subschemas look at already. The validator compares s with the chain and
// copies the path into every violation.
func (c *cost) visit(s *jsonschema.Schema, v any, depth, chain int) {
	if s == nil || c.err != nil {
		return
	}
	if chain > maxChain {
		c.err = errEndless
		return
	}
	c.spend(1 + chain/32 + depth/16)
	if s.Bool != nil || !allows(s.Types, v) {
		return
	}
	c.compare(s, v)
	c.visit(s.Ref, v, depth, chain+1)
	if s.Ref != nil && s.DraftVersion < 2019 { // which ignore what stands beside $ref
		return
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(s, v, depth, chain)
	case []any:
		c.array(s, v, depth)
	case string:
		c.spend(len(v) / 128)
		c.match(s.Pattern, v)
	case json.Number:
		if exact(s) {
			c.spend(aNumber + exponentOf(string(v))/16)
		}
	}
	c.same(s, v, depth, chain+1)
}

// exact says whether the validator looks at a number's value. That it is of
// type "number" shows without.
func exact(s *jsonschema.Schema) bool {
	return s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil ||
		s.MultipleOf != nil || s.Types != nil && *s.Types&typeSet("number") == 0
}

// same counts the subschemas that look at the value that s looks at.
func (c *cost) same(s *jsonschema.Schema, v any, depth, chain int) {
	c.visit(s.RecursiveRef, v, depth, chain)
	if s.DynamicRef != nil {
		c.visit(s.DynamicRef.Ref, v, depth, chain)
	}
	c.visit(s.Not, v, depth, chain)
	for _, several := range [...][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range several {
			c.visit(sub, v, depth, chain)
		}
	}
	c.visit(s.If, v, depth, chain)
	c.visit(s.Then, v, depth, chain)
	c.visit(s.Else, v, depth, chain)
}

func (c *cost) object(s *jsonschema.Schema, v map[string]any, depth, chain int) {
	c.spend(len(v) + len(s.Required)/8 + len(s.Dependencies) + len(s.DependentSchemas) + len(s.DependentRequired))
	for name, dep := range s.Dependencies {
		if sub, ok := dep.(*jsonschema.Schema); ok && has(v, name) {
			c.visit(sub, v, depth, chain+1)
		}
	}
	for name, sub := range s.DependentSchemas {
		if has(v, name) {
			c.visit(sub, v, depth, chain+1)
		}
	}
	for _, names := range s.DependentRequired {
		c.spend(len(names) / 8)
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for name, value := range v {
		if c.err != nil {
			return
		}
		own, ok := s.Properties[name]
		c.visit(own, value, depth+1, 0)
		for re, sub := range s.PatternProperties {
			c.match(re, name)
			c.visit(sub, value, depth+1, 0)
		}
		if !ok {
			c.visit(additional, value, depth+1, 0)
		}
		c.visit(s.UnevaluatedProperties, value, depth+1, 0)
		c.visit(s.PropertyNames, name, depth, 0)
	}
}

func (c *cost) array(s *jsonschema.Schema, v []any, depth int) {
	c.spend(len(v) / 4)
	if s.UniqueItems {
		c.spend(sizeOf(v) * min(len(v), 20))
	}
	every := []*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems}
	first := s.PrefixItems
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		every = append(every, items)
	case []*jsonschema.Schema:
		first = items
	}
	if additional, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		every = append(every, additional)
	}
	for i, value := range v {
		if c.err != nil {
			return
		}
		if i < len(first) {
			c.visit(first[i], value, depth+1, 0)
		}
		for _, sub := range every {
			c.visit(sub, value, depth+1, 0)
		}
	}
}

// compare counts comparisons with const and enum.
func (c *cost) compare(s *jsonschema.Schema, v any) {
	if s.Const == nil && s.Enum == nil {
		return
	}
	n := 1
	if s.Enum != nil {
		n += len(s.Enum.Values)
	}
	switch v := v.(type) {
	case map[string]any, []any:
		c.spend(n * sizeOf(v))
	case json.Number:
		c.spend(2 * aNumber * n)
	default:
		c.spend(n / 16)
	}
}

// match counts a pattern's run over text.
func (c *cost) match(re jsonschema.Regexp, text string) {
	if p, ok := re.(*pattern); ok {
		c.spend(1 + min(p.steps(text), maxMatch)/stepsAVisit)
	}
}

func has(v map[string]any, name string) bool {
	_, ok := v[name]
	return ok
}

// allows says whether v is of one of the types, which the validator asks
// first.
func allows(types *jsonschema.Types, v any) bool {
	return types == nil || types.IsEmpty() || *types&typesOf(v) != 0
}

func typesOf(v any) jsonschema.Types {
	switch v.(type) {
	case nil:
		return typeSet("null")
	case bool:
		return typeSet("boolean")
	case json.Number:
		return typeSet("number", "integer")
	case string:
		return typeSet("string")
	case []any:
		return typeSet("array")
	}
	return typeSet("object")
}

func typeSet(names ...string) jsonschema.Types {
	var set jsonschema.Types
	for _, name := range names {
		set.Add(name)
	}
	return set
}

// sizeOf is how many parts a value has, long texts counted as several.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			n += sizeOf(value) + len(key)/128
		}
	case []any:
		for _, value := range v {
			n += sizeOf(value)
		}
	case string:
		n += len(v) / 128
	case json.Number:
		n += aNumber
	}
	return n
}

// hasHugeNumber says whether v holds a number past maxNumber.
func hasHugeNumber(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			if hasHugeNumber(value) {
				return true
			}
		}
	case []any:
		for _, value := range v {
			if hasHugeNumber(value) {
				return true
			}
		}
	case json.Number:
		return isHuge(string(v))
	}
	return false
}

func isHuge(number string) bool {
	return len(number) > maxNumber || exponentOf(number) > maxNumber
}

// exponentOf is the exponent of a JSON number without its sign.
func exponentOf(number string) int {
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return 0
	}
	exponent, err := strconv.Atoi(number[i+1:])
	if err != nil {
		return math.MaxInt
	}
	return max(exponent, -exponent)
}
