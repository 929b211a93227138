package phrase

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Record is what a file of phrases says of one tool: a line of JSONL, or the
// neighbouring lines of one tool in TSV.
type Record struct {
	Tool        string   `json:"tool,omitempty"` // qualified name; or Server and Name
	Server      string   `json:"server,omitempty"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"` // for whoever writes the phrases; not read
	Parameters  []string `json:"parameters,omitempty"`  // likewise
	// DescriptionSHA is the SHA-256 in hexadecimal of the description for
	// which the phrases are written; "" says nothing of it.
	DescriptionSHA string `json:"description_sha256,omitempty"`
	Phrases        List   `json:"phrases"`

	Line int `json:"-"` // of the file, from 1
}

// A List reads phrases that are objects or mere texts.
type List []Phrase

// UnmarshalJSON reads a list of texts, of objects, or of both.
func (l *List) UnmarshalJSON(data []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("phrases: want a list of texts or of objects with a text")
	}
	*l = List{}
	for i, one := range all {
		var p Phrase
		err := json.Unmarshal(one, &p.Text)
		if err != nil {
			p = Phrase{}
			d := json.NewDecoder(bytes.NewReader(one))
			d.DisallowUnknownFields()
			err = d.Decode(&p)
		}
		if err != nil {
			return fmt.Errorf("phrase %d: want a text, or an object with a text: %w", i+1, err)
		}
		*l = append(*l, p)
	}
	return nil
}

// Title is the qualified name of the record's tool.
func (r *Record) Title() string {
	switch {
	case r.Tool != "":
		return r.Tool
	case r.Server != "":
		return r.Server + "/" + r.Name
	}
	return r.Name
}

// A Format is how a file is written.
type Format string

// The formats. TSV has a phrase a line, its columns those of tsvHead.
const (
	JSONL Format = "jsonl"
	TSV   Format = "tsv"
)

// A Problem is what is wrong with one line of a file.
type Problem struct {
	File string
	Line int // from 1
	What string
}

func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What) }

// maxLine bounds a line of a file.
const maxLine = 1 << 20

// Read reads a file, in JSONL where its first line begins with "{", else in
// TSV. Every phrase of the records is clean and has a source that is stored,
// Import without one. Lines with problems are not among the records.
func Read(r io.Reader, file string) (records []Record, problems []Problem, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	format := Format("")
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSuffix(lines.Text(), "\r")
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if strings.TrimSpace(text) == "" || format != JSONL && (strings.HasPrefix(text, "#") || strings.HasPrefix(text, "tool\t")) {
			continue
		}
		if format == "" {
			if format = TSV; strings.HasPrefix(strings.TrimSpace(text), "{") {
				format = JSONL
			}
		}
		rec, err := readLine(text, format)
		if err == nil {
			err = rec.check()
		}
		if err != nil {
			problems = append(problems, Problem{file, n, err.Error()})
			continue
		}
		rec.Line = n
		records = append(records, rec)
	}
	if err := lines.Err(); err != nil {
		return nil, problems, fmt.Errorf("read %s: %w", file, err)
	}
	return records, problems, nil
}

func readLine(text string, format Format) (rec Record, err error) {
	if format == JSONL {
		if err := json.Unmarshal([]byte(text), &rec); err != nil {
			return rec, fmt.Errorf("no line of JSON for one tool: %w", err)
		}
		return rec, nil
	}
	return readTSV(text)
}

// check makes the record's phrases clean.
func (r *Record) check() error {
	if r.Title() == "" {
		return errors.New("it names no tool: write \"tool\": \"server/name\"")
	}
	for i := range r.Phrases {
		p := &r.Phrases[i]
		text, err := Clean(p.Text)
		if err != nil {
			return fmt.Errorf("phrase %d of %s: %w: %q", i+1, r.Title(), err, Clip(p.Text))
		}
		if p.Text = text; p.Source == "" {
			p.Source = Import
		}
		if _, err := ParseSource(string(p.Source)); err != nil {
			return fmt.Errorf("phrase %d of %s: %w", i+1, r.Title(), err)
		}
		if !p.Source.Stored() {
			return fmt.Errorf("phrase %d of %s: those of source %q are not imported; leave the source out", i+1, r.Title(), p.Source)
		}
		if p.Kind != "" && !slices.Contains(Kinds, p.Kind) {
			return fmt.Errorf("phrase %d of %s: unknown kind %q: use one of %q, or none", i+1, r.Title(), p.Kind, Kinds)
		}
		if p.Count < 0 {
			return fmt.Errorf("phrase %d of %s: count %d is negative", i+1, r.Title(), p.Count)
		}
		p.Stale, p.By = false, nil
	}
	return nil
}

var tsvHead = []string{"tool", "phrase", "kind", "source", "time", "count", "model", "of"}

func readTSV(text string) (rec Record, err error) {
	cells := strings.Split(text, "\t")
	if len(cells) < 2 || len(cells) > len(tsvHead) {
		return rec, fmt.Errorf("want %d to %d columns, tab between them (%s), not %d", 2, len(tsvHead), strings.Join(tsvHead, ", "), len(cells))
	}
	cells = append(cells, make([]string, len(tsvHead)-len(cells))...)
	rec.Tool = strings.TrimSpace(cells[0])
	p := Phrase{Text: cells[1], Kind: cells[2], Source: Source(cells[3]), Model: cells[6], Of: cells[7]}
	if cells[4] != "" {
		if p.Time, err = time.Parse(time.RFC3339Nano, cells[4]); err != nil {
			return rec, fmt.Errorf("time %q: want one such as 2026-03-01T12:00:00Z", cells[4])
		}
	}
	if cells[5] != "" {
		if p.Count, err = strconv.Atoi(cells[5]); err != nil {
			return rec, fmt.Errorf("count %q: want a number", cells[5])
		}
	}
	rec.Phrases = List{p}
	return rec, nil
}

// Write writes records in a format: what Read makes of it again is the same
// phrases, and writing those gives the same bytes.
func Write(w io.Writer, format Format, records []Record) error {
	b := bufio.NewWriter(w)
	if format == TSV {
		fmt.Fprintln(b, strings.Join(tsvHead, "\t"))
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, r := range records {
		list := List{}
		for _, p := range r.Phrases {
			p.Stale, p.By = false, nil
			list = append(list, p)
		}
		if r.Phrases = list; format == TSV {
			r.writeTSV(b)
		} else if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return b.Flush() // which tells of any write that failed
}

func (r *Record) writeTSV(w io.Writer) {
	for _, p := range r.Phrases {
		cells := []string{r.Title(), p.Text, p.Kind, string(p.Source), "", "", p.Model, p.Of}
		if !p.Time.IsZero() {
			cells[4] = p.Time.Format(time.RFC3339Nano)
		}
		if p.Count > 0 {
			cells[5] = strconv.Itoa(p.Count)
		}
		for i, c := range cells {
			cells[i] = strings.Join(strings.FieldsFunc(c, func(r rune) bool { return r == '\t' || r == '\n' || r == '\r' }), " ")
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
}
