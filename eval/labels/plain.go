package labels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
)

// plain is the folder of tools.jsonl, queries[.SPLIT].jsonl, qrels[.SPLIT].tsv.
type plain struct{}

func (plain) splits(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(globEscape(dir), "queries*.jsonl"))
	var out []string
	for _, f := range files {
		mid := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "queries"), ".jsonl")
		split := strings.TrimPrefix(mid, ".")
		if mid != "" && split == mid {
			continue // queries-old.jsonl is no split
		}
		out = append(out, split)
	}
	return out
}

// globEscape keeps a folder's own name from being read as a pattern.
func globEscape(dir string) string {
	if os.PathSeparator == '\\' {
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func (plain) tools(dir string, lenient bool) ([]index.Tool, int, error) {
	tools, skipped, err := ReadTools(filepath.Join(dir, "tools.jsonl"), lenient)
	if err == nil {
		err = addPhrases(tools, filepath.Join(dir, "phrases.jsonl"))
	}
	return tools, skipped, err
}

// ReadTools reads a tools.jsonl. Lenient passes over repeated ids, the first
// one wins, and counts them.
func ReadTools(path string, lenient bool) (tools []index.Tool, skipped int, err error) {
	tools, skipped, err = readTools(path, "id", lenient, parseTool)
	if err == nil && len(tools) == 0 {
		err = fmt.Errorf("%s: no tools; want one JSON object a line", path)
	}
	return tools, skipped, err
}

// readTools reads one tool a line, whose key is in the field id.
func readTools(path, id string, lenient bool, parse func(line []byte) (index.Tool, error)) (tools []index.Tool, skipped int, err error) {
	fresh := distinct(id, lenient)
	skipped, err = eachLine(path, func(_ int, line []byte) error {
		t, err := parse(line)
		if err == nil {
			err = fresh(t.Key)
		}
		if err == nil {
			tools = append(tools, t)
		}
		return err
	})
	return tools, skipped, err
}

// distinct refuses the second of two equal ids, or has it passed over.
func distinct(field string, lenient bool) func(id string) error {
	seen := map[string]bool{}
	return func(id string) error {
		switch {
		case !seen[id]:
			seen[id] = true
			return nil
		case lenient:
			return errSkip
		}
		return fmt.Errorf("field %q: %q stands on an earlier line; want each id once", field, id)
	}
}

// own are the fields of a line that are not part of the tool object.
var own = map[string]bool{"id": true, "server": true, "name": true, "description": true,
	"input_schema": true, "inputSchema": true, "phrases": true}

func parseTool(line []byte) (index.Tool, error) {
	o, err := parseObject(line)
	if err != nil {
		return index.Tool{}, err
	}
	var id, server, name, description string
	err = o.texts(field{&id, "id", true}, field{&server, "server", false}, field{&name, "name", true}, field{&description, "description", false})
	if err != nil {
		return index.Tool{}, err
	}
	raw, err := toolObject(o, name, description)
	if err != nil {
		return index.Tool{}, err
	}
	t, err := index.Decode(server, raw)
	if err != nil {
		return t, err
	}
	t.Key = id
	t.Phrases, err = phrases(o)
	return t, err
}

// addPhrases reads what is said of tools from a file of its own, if it exists.
func addPhrases(tools []index.Tool, path string) error {
	if !exists(path) {
		return nil
	}
	at := make(map[string]int, len(tools))
	for i := range tools {
		at[tools[i].Key] = i
	}
	_, err := eachLine(path, func(_ int, line []byte) error {
		o, err := parseObject(line)
		if err != nil {
			return err
		}
		id, err := o.text("id", true)
		if err != nil {
			return err
		}
		i, ok := at[id]
		if !ok {
			return fmt.Errorf("field \"id\": no tool %q in tools.jsonl", id)
		}
		more, err := phrases(o)
		tools[i].Phrases = append(tools[i].Phrases, more...)
		return err
	})
	return err
}

// phrases reads what people say when they need the tool.
func phrases(o object) ([]string, error) {
	raw, ok := o["phrases"]
	if !ok {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("field \"phrases\": want a list of strings: %w", err)
	}
	for i, text := range list {
		if _, err := phrase.Clean(phrase.Clip(text)); err != nil {
			return nil, fmt.Errorf("field \"phrases\": phrase %d: %w", i+1, err)
		}
	}
	return list, nil
}

// toolObject writes the object as tools/list would carry it, the schema in its
// own order, and whatever else the line says behind it.
func toolObject(o object, name, description string) (json.RawMessage, error) {
	schema, ok := o["input_schema"]
	if !ok {
		schema = o["inputSchema"]
	}
	if schema != nil && kind(schema) != "an object" && kind(schema) != "null" {
		return nil, fmt.Errorf("field \"input_schema\": want an object, got %s", kind(schema))
	}
	var b bytes.Buffer
	b.WriteString(`{"name":` + quote(name) + `,"description":` + quote(description))
	if schema != nil {
		b.WriteString(`,"inputSchema":`)
		b.Write(schema)
	}
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if !own[k] {
			b.WriteString("," + quote(k) + ":")
			b.Write(o[k])
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

func (plain) queries(s *Set, o Options) error {
	dot := ""
	if s.Split != "" {
		dot = "." + s.Split
	}
	rel, err := readQrels(filepath.Join(s.Dir, "qrels"+dot+".tsv"), false)
	if err != nil {
		return err
	}
	queries := filepath.Join(s.Dir, "queries"+dot+".jsonl")
	n, err := eachLine(queries, s.addQuery("id", o))
	if err != nil {
		return err
	}
	s.Skipped += n
	return s.label(rel, o)
}

// addQuery appends one line of a queries file to the set.
func (s *Set) addQuery(id string, o Options) func(n int, line []byte) error {
	fresh := distinct(id, o.Lenient)
	return func(_ int, line []byte) error {
		obj, err := parseObject(line)
		if err != nil {
			return err
		}
		var q Query
		if err = obj.texts(field{&q.ID, id, true}, field{&q.Text, "text", true}, field{&q.Kind, "kind", false}); err == nil {
			err = fresh(q.ID)
		}
		if err == nil {
			s.Queries = append(s.Queries, q)
		}
		return err
	}
}

// A label is one line of a qrels file.
type label struct {
	query, tool string
	grade       int
	at          string // file:line
}

// readQrels reads a qrels file; header says that its first line names columns.
func readQrels(path string, header bool) ([]label, error) {
	var out []label
	_, err := eachLine(path, func(n int, line []byte) error {
		if header && n == 1 {
			return nil
		}
		l, err := parseLabel(string(bytes.TrimRight(line, "\r")))
		if err != nil {
			return err
		}
		l.at = path + ":" + strconv.Itoa(n)
		out = append(out, l)
		return nil
	})
	return out, err
}

func parseLabel(line string) (label, error) {
	f := strings.Split(line, "\t")
	if len(f) == 4 { // TREC's own form: query, iteration, document, grade
		f = []string{f[0], f[2], f[3]}
	}
	if len(f) != 3 {
		return label{}, fmt.Errorf("want query, tool and grade with a tab between, got %d fields", len(f))
	}
	for i, name := range []string{"query", "tool"} {
		if f[i] == "" {
			return label{}, fmt.Errorf("field %q: empty; want an id", name)
		}
	}
	g, err := strconv.Atoi(strings.TrimSpace(f[2]))
	if err != nil {
		return label{}, fmt.Errorf("field \"grade\": %q; want a whole number", f[2])
	}
	return label{query: f[0], tool: f[1], grade: g}, nil
}

// label gives the queries their relevant tools.
func (s *Set) label(rel []label, o Options) error {
	byID := make(map[string]*Query, len(s.Queries))
	for i := range s.Queries {
		byID[s.Queries[i].ID] = &s.Queries[i]
	}
	resolve := resolver(s.Tools)
	judged := map[[2]string]bool{}
	for _, l := range rel {
		q, key := byID[l.query], resolve(l.tool)
		var err error
		switch {
		case q == nil:
			err = fmt.Errorf("%s: field \"query\": no query %q in this split", l.at, l.query)
		case key == "":
			err = fmt.Errorf("%s: field \"tool\": no tool %q among the %d tools", l.at, l.tool, len(s.Tools))
		case judged[[2]string{l.query, key}]:
			err = fmt.Errorf("%s: query %q and tool %q are judged on an earlier line", l.at, l.query, l.tool)
		}
		if err != nil {
			if !o.Lenient {
				return fmt.Errorf("%w (--lenient counts such lines and goes on)", err)
			}
			s.Skipped++
			continue
		}
		judged[[2]string{l.query, key}] = true
		if l.grade >= o.MinGrade {
			if q.Relevant == nil {
				q.Relevant = map[string]int{}
			}
			q.Relevant[key] = l.grade
		}
	}
	return nil
}

// resolver maps a label to a tool's key: the key itself, else the qualified
// name, else the id, so that queries can be written against a live catalog.
func resolver(tools []index.Tool) func(string) string {
	keys, names := make(map[string]bool, len(tools)), make(map[string]string, 2*len(tools))
	for _, t := range tools {
		key := Key(t)
		keys[key] = true
		names[t.QualifiedName()], names[t.ID()] = key, key
	}
	return func(label string) string {
		if keys[label] {
			return label
		}
		return names[label]
	}
}

// Key is what labels and runs call a tool.
func Key(t index.Tool) string {
	if t.Key != "" {
		return t.Key
	}
	return t.QualifiedName()
}
