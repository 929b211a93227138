package labels

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine bounds one line; the longest real tool definitions are some 100 KB.
const maxLine = 32 << 20

// eachLine calls f with the number, from 1, and the bytes of every line that
// is not blank. An error of f is
// returned with file and line; errSkip counts the line and goes on.
func eachLine(path string, f func(n int, line []byte) error) (skipped int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return scanLines(file, path, f)
}

func scanLines(r io.Reader, path string, f func(n int, line []byte) error) (skipped int, err error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for sc.Scan() {
		n++
		line := sc.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		switch err := f(n, line); {
		case errors.Is(err, errSkip):
			skipped++
		case err != nil:
			return skipped, fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return skipped, fmt.Errorf("%s:%d: %w", path, n+1, err)
	}
	return skipped, nil
}

// An object is one decoded line whose fields are checked as they are read.
type object map[string]json.RawMessage

func parseObject(line []byte) (object, error) {
	var o object
	if err := json.Unmarshal(line, &o); err != nil || o == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("want one JSON object a line: %w at byte %d", syntax, syntax.Offset)
		}
		return nil, fmt.Errorf("want one JSON object a line, got %s", kind(line))
	}
	return o, nil
}

// A field says where a string goes, and whether it must be there and not
// empty.
type field struct {
	to   *string
	name string
	need bool
}

// texts reads string fields.
func (o object) texts(fields ...field) error {
	for _, f := range fields {
		var err error
		if *f.to, err = o.text(f.name, f.need); err != nil {
			return err
		}
	}
	return nil
}

// text returns a string field.
func (o object) text(field string, need bool) (string, error) {
	raw, ok := o[field]
	if !ok || string(raw) == "null" {
		if need {
			return "", fmt.Errorf("field %q: missing; want a non-empty string", field)
		}
		return "", nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("field %q: want a string, got %s", field, kind(raw))
	}
	if need && s == "" {
		return "", fmt.Errorf("field %q: empty; want a non-empty string", field)
	}
	return s, nil
}

// kind names the JSON type that a value begins with.
func kind(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	names := map[byte]string{'{': "an object", '[': "a list", '"': "a string", 't': "a boolean", 'f': "a boolean", 'n': "null"}
	return cmp.Or(names[raw[0]], "a number")
}
