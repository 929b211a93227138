package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tooldex/tooldex/index"
)

// What servers say of themselves is bounded wherever a model or a person gets
// to read it unasked, as one of them could fill a context or a screen. The
// numbers are characters unless they say bytes.
const (
	maxShownName   = 128 // of a tool; longer ones are called by id
	maxShownServer = 64
	maxLabel       = 64  // a tag, category or team
	maxReason      = 300 // why something is so, in a server's words
	maxLabels      = 32  // labels of one tool
	maxCounted     = 100 // rows of each table of get_tool_categories
	maxHomes       = 10  // near-duplicates named beside a similar tool

	maxDescribed   = 256 << 10 // bytes of what describe_tool says verbatim
	maxSchemaBytes = 512 << 10 // bytes of all schemas in the rows of a reply

	maxWarnings = 100 // of one listing
	maxUnknown  = 5   // filter values that a hint names
	maxValues   = 1000
	maxValue    = 256  // bytes of a filter value
	maxToolName = 4096 // bytes of a tool_name
)

// cut shortens s to most characters, marked "…".
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end, n := 0, 0
	for i := range s {
		if n == most-1 {
			end = i
		}
		if n++; n > most {
			return s[:end] + "…"
		}
	}
	return s
}

// cutAll cuts each of at most n values.
func cutAll(values []string, most, n int) []string {
	values = values[:min(len(values), n)]
	for i, v := range values {
		if len(v) > most {
			out := append([]string(nil), values[:i]...)
			for _, v := range values[i:] {
				out = append(out, cut(v, most))
			}
			return out
		}
	}
	return values
}

// shownName is a tool's qualified name, cut.
func shownName(t *index.Tool) string {
	name := cut(t.Name, maxShownName)
	if t.Server == "" {
		return name
	}
	return cut(t.Server, maxShownServer) + "/" + name
}

// bound cuts the labels that t came with and says so in its warnings.
func bound(t *index.Tool) {
	if cut := cutAll(t.Tags, maxLabel, maxLabels); len(cut) != len(t.Tags) {
		t.Warnings = append(t.Warnings, fmt.Sprintf("it has %d tags; the first %d are kept", len(t.Tags), len(cut)))
		t.Tags = cut
	} else if !equal(cut, t.Tags) {
		t.Warnings = append(t.Warnings, fmt.Sprintf("a tag is longer than %d characters; it is cut", maxLabel))
		t.Tags = cut
	}
	if c := cut(t.Category, maxLabel); c != t.Category {
		t.Warnings = append(t.Warnings, fmt.Sprintf("its category is longer than %d characters; it is cut", maxLabel))
		t.Category = c
	}
	if utf8.RuneCountInString(t.Name) > maxShownName {
		t.Warnings = append(t.Warnings, fmt.Sprintf("its name is longer than %d characters; it is shown cut, and called by id", maxShownName))
	}
	if len(t.Description) > maxDescribed {
		t.Warnings = append(t.Warnings, fmt.Sprintf("its description has %d KB; describe_tool shows no more than %d", len(t.Description)>>10, maxDescribed>>10))
	}
	t.Warnings = cutAll(t.Warnings, maxReason, maxLabels)
}

func equal(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// fewest keeps the first n warnings and counts the others.
func fewest(warnings []string, n int) []string {
	if len(warnings) <= n {
		return warnings
	}
	return append(warnings[:n:n], fmt.Sprintf("and %d more", len(warnings)-n))
}

// fit leaves out what makes d larger than maxDescribed, the least needed
// first, and says what.
func (d *description) fit() {
	d.Name, d.Title = cut(d.Name, 8*maxShownName), cut(d.Title, 8*maxShownName)
	d.Qualified = cut(d.Qualified, 8*maxShownName+maxShownServer+1)
	d.Tags = cutAll(d.Tags, maxLabel, 2*maxLabels)
	d.Category, d.Inexecutable = cut(d.Category, maxLabel), cut(d.Inexecutable, maxReason)
	d.Warnings = cutAll(d.Warnings, maxReason, maxLabels)
	examples, err := marshal(d.Examples)
	if err != nil { // arguments are JSON
		examples, d.Examples = nil, nil
	}
	size := len(examples) + len(d.OutputSchema) + len(d.Annotations) + len(d.Description) + len(d.InputSchema)
	drop := func(what string, bytes int, without func()) {
		if size <= maxDescribed || bytes == 0 {
			return
		}
		without()
		size -= bytes
		d.Warnings = append(d.Warnings, fmt.Sprintf(
			"%s of %d KB left out, as all together would exceed %d KB; \"tooldex tools show %s --raw\" prints it", what, (bytes+1023)>>10, maxDescribed>>10, d.ID))
	}
	drop("examples", len(examples), func() { d.Examples = nil })
	drop("output_schema", len(d.OutputSchema), func() { d.OutputSchema = nil })
	drop("annotations", len(d.Annotations), func() { d.Annotations = nil })
	const kept = 16 << 10
	drop("description", max(len(d.Description)-kept, 0), func() {
		d.Description = strings.ToValidUTF8(d.Description[:kept], "") + "…"
	})
	drop("input_schema", len(d.InputSchema), func() { d.InputSchema = json.RawMessage(`{"type":"object"}`) })
}
