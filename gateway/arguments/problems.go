package arguments

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index/tool"
)

// maxProblems is how many violations one error lists.
const maxProblems = 3

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
	r := tool.ReadSchema(schema)
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

func problem(e *jsonschema.ValidationError, r *tool.SchemaReader) string {
	at := words.Cut(strings.Join(append([]string{"arguments"}, e.InstanceLocation...), "/"), maxPath)
	return words.Cut(at+": "+expectation(e, r), maxPath+maxProblem)
}

func expectation(e *jsonschema.ValidationError, r *tool.SchemaReader) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return quotedList(k.Missing) + " missing"
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties) // they come in the order of a map
		text := "unknown " + quotedList(k.Properties)
		if len(k.Properties) > 0 {
			text += words.DidYouMean(k.Properties[0], r.ParameterNames(e.InstanceLocation))
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
			return fmt.Sprintf("%s and %d more", words.Cut(few.LocalizedString(english), maxProblem-20), more)
		}
	case *kind.Pattern:
		return fmt.Sprintf("'%s' does not match pattern '%s'", words.Cut(k.Got, maxProblem/3), words.Cut(k.Want, maxProblem/3))
	case *kind.MinContains:
		return fmt.Sprintf("min %d items required to match contains schema, %d match", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("max %d items may match contains schema, %d match", k.Want, len(k.Got))
	}
	return words.Cut(k.LocalizedString(english), maxProblem)
}

// misspelt says which keys given beside a missing one are no parameters and
// are near it; schemas that allow other keys do not refuse them.
func misspelt(e *jsonschema.ValidationError, value any, r *tool.SchemaReader) []string {
	missing, ok := e.ErrorKind.(*kind.Required)
	if !ok {
		return nil
	}
	var texts []string
	known := r.ParameterNames(e.InstanceLocation)
	keys := slices.Sorted(maps.Keys(objectAt(value, e.InstanceLocation)))
	for _, key := range keys[:min(len(keys), maxLeaves)] {
		if slices.Contains(known, key) {
			continue
		}
		if near := words.DidYouMean(key, missing.Missing); near != "" {
			texts = append(texts, fmt.Sprintf("arguments: %q is no parameter%s", words.Cut(key, maxPath), near))
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
		text := words.Cut(wording(leaf.ErrorKind), maxProblem/4)
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
			return fmt.Sprintf("%s and %d more", words.Join(quoted), len(names)-i)
		}
		quoted = append(quoted, fmt.Sprintf("%q", words.Cut(n, maxProblem/4)))
	}
	return words.Join(quoted)
}
