package meta

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/words"
)

// What servers say of themselves is bounded wherever a model or a person gets
// to read it unasked, as one of them could fill a context or a screen.
const (
	maxCounted = 100 // rows of each table of get_tool_categories
	maxHomes   = 10  // near-duplicates named beside a tool

	maxSchemaBytes = 512 << 10 // bytes of all schemas in the rows of a reply

	// maxExtra is how many bytes each of icons, _meta and execution may have: a
	// picture in a data: URI fills a context and tells a model nothing.
	maxExtra = 4 << 10
)

// fit leaves out what makes d larger than words.MaxDescribed, the least needed
// first, and says what, and where the whole is to be seen.
func (d *description) fit(whole string) {
	d.Name, d.Title = words.Cut(d.Name, 8*words.MaxName), words.Cut(d.Title, 8*words.MaxName)
	d.Qualified = words.Cut(d.Qualified, 8*words.MaxName+words.MaxServer+1)
	d.Tags = words.CutAll(d.Tags, words.MaxLabel, 2*words.MaxLabels)
	d.Category, d.Inexecutable = words.Cut(d.Category, words.MaxLabel), words.Cut(d.Inexecutable, words.MaxReason)
	d.Warnings = words.CutAll(d.Warnings, words.MaxReason, words.MaxLabels)
	for _, extra := range []struct {
		name  string
		value *json.RawMessage
	}{{"icons", &d.Icons}, {"_meta", &d.Meta}, {"execution", &d.Execution}} {
		if n := len(*extra.value); n > maxExtra {
			*extra.value = nil
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s of %d KB left out, as more than %d KB%s", extra.name, (n+1023)>>10, maxExtra>>10, whole))
		}
	}
	examples, err := rawjson.Marshal(d.Examples)
	if err != nil { // arguments are JSON
		examples, d.Examples = nil, nil
	}
	size := len(examples) + len(d.OutputSchema) + len(d.Annotations) + len(d.Description) + len(d.InputSchema)
	drop := func(what string, bytes int, without func()) {
		if size <= words.MaxDescribed || bytes == 0 {
			return
		}
		without()
		size -= bytes
		d.Warnings = append(d.Warnings, fmt.Sprintf(
			"%s of %d KB left out, as all together would exceed %d KB%s", what, (bytes+1023)>>10, words.MaxDescribed>>10, whole))
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
