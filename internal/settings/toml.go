package settings

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// editTOML removes what is at path, and adds what stands there instead as
// a table at the end of the text. Other lines stay as they are.
func editTOML(text []byte, value any, path []string) ([]byte, error) {
	out, err := removeTOML(text, path)
	if err != nil || value == nil {
		return out, err
	}
	added, err := toml.Marshal(value)
	if err != nil {
		return nil, err
	}
	header := make([]string, len(path))
	for i, key := range path {
		header[i] = key
		if !bareKey.MatchString(key) {
			header[i] = strconv.Quote(key)
		}
	}
	added = append([]byte("["+strings.Join(header, ".")+"]\n"), added...)
	ending := newline(text)
	out = bytes.TrimRight(out, " \t\r\n")
	if len(out) > 0 {
		out = append(out, ending+ending...)
	}
	return append(out, bytes.ReplaceAll(added, []byte("\n"), []byte(ending))...), nil
}

// removeTOML takes out the lines whose keys begin with path.
func removeTOML(text []byte, path []string) ([]byte, error) {
	var p unstable.Parser
	p.Reset(text)
	var table []string
	var out []byte
	kept, removing := 0, false // text[:kept] is dealt with
	for p.NextExpression() {
		e := p.Expression()
		var names []string
		start := -1
		for it := e.Key(); it.Next(); {
			n := it.Node()
			names = append(names, string(n.Data))
			if start < 0 {
				start = int(n.Raw.Offset)
			}
		}
		if start < 0 {
			continue
		}
		full := names
		if e.Kind == unstable.KeyValue {
			full = slices.Concat(table, names)
		} else {
			table = names
		}
		start = bytes.LastIndexByte(text[:start], '\n') + 1
		begins := len(full) >= len(path) && slices.Equal(full[:len(path)], path)
		switch {
		case begins && !removing:
			out = append(out, text[kept:start]...)
		case !begins && removing:
			kept = start - comments(text[:start])
		}
		removing = begins
	}
	if err := p.Error(); err != nil {
		return nil, err
	}
	if removing {
		return append(out, text[len(text)-comments(text):]...), nil
	}
	return append(out, text[kept:]...), nil
}

// comments is the length of the comments and blank lines that end a text: they
// belong to what follows them.
func comments(text []byte) int {
	end := len(text)
	for end > 0 {
		start := bytes.LastIndexByte(text[:end-1], '\n') + 1
		line := bytes.TrimSpace(text[start:end])
		if len(line) > 0 && line[0] != '#' {
			break
		}
		end = start
	}
	return len(text) - end
}
