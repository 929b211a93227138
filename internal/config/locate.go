package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keyPath is the key that an error begins with: dotted, with indexes.
var keyPath = regexp.MustCompile(`^([A-Za-z0-9._-]+(?:\[\d+\]|\.[A-Za-z0-9._-]+)*):`)

// located puts its line before each of the errors that err joins, where the
// error begins with a key that stands in the file.
func located(root *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		m := keyPath.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		line := lineOf(root, m[1])
		if line == 0 { // its sections may stand there, too
			line = lineOf(root, "meta_server."+m[1])
		}
		if line > 0 {
			lines[i] = fmt.Sprintf("line %d: %s", line, l)
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// lineOf is the line of a key such as a.b[0].c, whose names may have points,
// too; 0 when there is none.
func lineOf(n *yaml.Node, path string) int {
	n = resolve(n)
	if rest, ok := strings.CutPrefix(path, "["); ok {
		index, rest, _ := strings.Cut(rest, "]")
		i, err := strconv.Atoi(index)
		switch {
		case err != nil || n.Kind != yaml.SequenceNode || i >= len(n.Content):
			return 0
		case rest == "":
			return n.Content[i].Line
		}
		return lineOf(n.Content[i], strings.TrimPrefix(rest, "."))
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		rest, ok := strings.CutPrefix(path, n.Content[i].Value)
		if ok && rest == "" {
			return n.Content[i].Line
		}
		if !ok || rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if line := lineOf(n.Content[i+1], strings.TrimPrefix(rest, ".")); line > 0 {
			return line
		}
	}
	return 0
}
