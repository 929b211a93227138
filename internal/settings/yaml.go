package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func errorIsEOF(err error) bool { return errors.Is(err, io.EOF) }

// editYAML changes one value. Where the maps of path are written as blocks,
// whole lines are put in or taken out; otherwise, or if that does not give
// what it should, the document is changed as nodes and written anew, which
// keeps comments and order but not blank lines.
func editYAML(text []byte, value any, path []string, want any) ([]byte, error) {
	if lines, ok := editLines(text, value, path); ok {
		if got, err := decode(YAML, lines); err == nil && same(got, want) {
			return lines, nil
		}
	}
	return editNodes(text, value, path)
}

// editNodes changes the document's tree.
func editNodes(text []byte, value any, path []string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if doc.Kind == 0 {
		doc.Kind = yaml.DocumentNode
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		doc.Content = []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}
	}
	if err := putNode(doc.Content[0], value, path); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if doc.Content[0].HeadComment == "" && onlyComments(text) {
		out.Write(text) // the library drops comments of an empty document
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(&doc), enc.Close()); err != nil {
		return nil, err
	}
	if newline(text) == "\r\n" {
		return bytes.ReplaceAll(bytes.ReplaceAll(out.Bytes(), []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n")), nil
	}
	return out.Bytes(), nil
}

func putNode(m *yaml.Node, value any, path []string) error {
	if m.Kind == yaml.AliasNode {
		return errors.New("it stands there as an alias of another entry: change it by hand")
	}
	if m.Kind != yaml.MappingNode {
		return errors.New("it is no map of settings")
	}
	i := indexOf(m, path[0])
	switch {
	case i < 0 && value == nil:
		return nil
	case i >= 0 && value == nil && len(path) == 1:
		m.Content = slices.Delete(m.Content, i, i+2)
		return nil
	case i < 0:
		var key yaml.Node
		key.SetString(path[0])
		m.Style = 0 // {} becomes lines
		m.Content = append(m.Content, &key, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"})
		i = len(m.Content) - 2
	}
	n := m.Content[i+1]
	if len(path) > 1 {
		if n.Tag == "!!null" {
			*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		if err := putNode(n, value, path[1:]); err != nil {
			return fmt.Errorf("%s: %w", path[0], err)
		}
		return nil
	}
	var v yaml.Node
	if err := v.Encode(value); err != nil {
		return err
	}
	v.LineComment, v.FootComment = n.LineComment, n.FootComment
	*n = v
	return nil
}

// indexOf is where key stands in a map, -1 if it does not.
func indexOf(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// editLines changes whole lines; ok is false where that cannot be done.
func editLines(text []byte, value any, path []string) (out []byte, ok bool) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return nil, false
	}
	m, end := doc.Content[0], lineCount(text)+1
	for {
		if m.Kind != yaml.MappingNode || m.Style&yaml.FlowStyle != 0 || len(m.Content) == 0 {
			return nil, false
		}
		i := indexOf(m, path[0])
		last := end
		if i >= 0 && i+2 < len(m.Content) {
			last = m.Content[i+2].Line
		}
		switch {
		case i < 0 && value == nil:
			return text, true
		case i < 0:
			for j := len(path) - 1; j > 0; j-- {
				value = map[string]any{path[j]: value}
			}
			return insertLines(text, trimUp(text, end), m.Content[0].Column, map[string]any{path[0]: value})
		case len(path) == 1 && value == nil:
			return removeLines(text, m, i, last)
		case len(path) == 1:
			return nil, false
		}
		m, end, path = m.Content[i+1], last, path[1:]
	}
}

// insertLines puts a value before the line of the given number, which counts
// from one, at a column.
func insertLines(text []byte, before, column int, value any) ([]byte, bool) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if enc.Encode(value) != nil || enc.Close() != nil {
		return nil, false
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	var put bytes.Buffer
	ending, indent := newline(text), strings.Repeat(" ", column-1)
	at := min(before-1, len(lines))
	if at > 0 && len(lines[at-1]) > 0 && !bytes.HasSuffix(lines[at-1], []byte("\n")) {
		put.WriteString(ending)
	}
	for line := range strings.Lines(b.String()) {
		put.WriteString(indent + strings.TrimRight(line, "\n") + ending)
	}
	return bytes.Join(slices.Insert(lines, at, put.Bytes()), nil), true
}

// removeLines takes out an entry of a map, with the comment above it, up to
// where the next one begins.
func removeLines(text []byte, m *yaml.Node, i, next int) ([]byte, bool) {
	if len(m.Content) == 2 {
		return nil, false // the map would be null
	}
	key := m.Content[i]
	from := key.Line
	if key.HeadComment != "" {
		from -= strings.Count(key.HeadComment, "\n") + 1
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	to := trimUp(text, next)
	if from < 1 || from >= to {
		return nil, false
	}
	return bytes.Join(slices.Delete(lines, from-1, to-1), nil), true
}

// trimUp goes up from a line over blank lines and comments: they belong to what
// comes next.
func trimUp(text []byte, line int) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	line = min(line, len(lines)+1)
	for line > 2 {
		above := bytes.TrimSpace(lines[line-2])
		if len(above) > 0 && above[0] != '#' {
			break
		}
		line--
	}
	return line
}

func lineCount(text []byte) int { return bytes.Count(text, []byte("\n")) + 1 }

func onlyComments(text []byte) bool {
	for line := range bytes.Lines(text) {
		if t := bytes.TrimSpace(line); len(t) > 0 && t[0] != '#' {
			return false
		}
	}
	return bytes.Contains(text, []byte("#"))
}
