package sample

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds on what the file tools read and return.
const (
	maxFileBytes = 1 << 20
	maxMatches   = 500
)

type listDirectoryIn struct {
	Path      string `json:"path,omitempty" jsonschema:"folder to list; the served folder itself when absent"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"also list the folders inside"`
}

type fileEntry struct {
	Path     string    `json:"path"`
	Kind     string    `json:"kind" jsonschema:"file, folder or other"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

type entriesOut struct {
	Entries   []fileEntry `json:"entries"`
	Truncated bool        `json:"truncated" jsonschema:"more entries exist than are given"`
}

type readFileIn struct {
	Path      string `json:"path" jsonschema:"path of the text file"`
	FirstLine int    `json:"first_line,omitempty" jsonschema:"number of the first line to return, counted from 1"`
	Lines     int    `json:"lines,omitempty" jsonschema:"how many lines to return; all when absent"`
}

type readFileOut struct {
	Text       string `json:"text"`
	TotalLines int    `json:"total_lines"`
}

type writeFileIn struct {
	Path      string `json:"path" jsonschema:"path of the text file"`
	Text      string `json:"text" jsonschema:"the new content"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"replace the file if it exists"`
}

type writtenOut struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes" jsonschema:"size of the file afterwards"`
}

type searchFilesIn struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression (RE2)"`
	Path       string `json:"path,omitempty" jsonschema:"folder to look in; the served folder itself when absent"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"match upper and lower case alike"`
}

type lineMatch struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type searchFilesOut struct {
	Matches   []lineMatch `json:"matches"`
	Truncated bool        `json:"truncated"`
}

type moveIn struct {
	From string `json:"from" jsonschema:"path of the file or folder as it is"`
	To   string `json:"to" jsonschema:"path it shall have; must not exist"`
}

type movedOut struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func (s *Server) addFiles() {
	const category = "File Operations"
	add(s, category, tool{
		name: "list_directory", title: "List a folder", description: "List the files and folders in a folder with their sizes and times of modification.",
		tags: []string{"files", "read"}, examples: []map[string]any{{"path": "reports", "recursive": true}},
	}, s.listDirectory)
	add(s, category, tool{
		name: "read_text_file", title: "Read a text file", description: "Read the content of a text file, or some lines of it.",
		tags:     []string{"files", "read"},
		props:    props{"first_line": {def: 1, min: num(1)}, "lines": {min: num(1)}},
		examples: []map[string]any{{"path": "notes.txt"}, {"path": "sales.csv", "first_line": 1, "lines": 5}},
	}, s.readFile)
	add(s, category, tool{
		name: "write_text_file", title: "Write a text file", description: "Create a text file with the given content, or replace an existing one.",
		effect: destroys, tags: []string{"files", "write"},
		examples: []map[string]any{{"path": "hello.txt", "text": "Hello\n"}},
	}, s.writeFile)
	add(s, category, tool{
		name: "search_in_files", title: "Search in files", description: "Search the contents of all text files for a regular expression and return the matching lines.",
		tags: []string{"files", "search"}, examples: []map[string]any{{"pattern": "TODO|FIXME", "ignore_case": true}},
	}, s.searchFiles)
	add(s, category, tool{
		name: "move_file", title: "Move or rename", description: "Move or rename a file or folder. Nothing is overwritten.",
		effect: destroys, tags: []string{"files", "write"}, examples: []map[string]any{{"from": "draft.txt", "to": "final.txt"}},
	}, s.moveFile)
}

// errFull ends a walk that has found enough.
var errFull = errors.New("enough")

// walk calls f for each entry below dir, links unfollowed; f may return
// errFull to stop. It reports whether it was stopped so.
func (s *Server) walk(ctx context.Context, dir string, f func(p string, d fs.DirEntry) error) (bool, error) {
	dir = path.Clean(dir)
	if _, err := s.root.Stat(dir); err != nil {
		return false, err
	}
	err := fs.WalkDir(s.root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || p == dir {
			return err
		}
		return f(p, d)
	})
	if errors.Is(err, errFull) {
		return true, nil
	}
	return false, err
}

func (s *Server) listDirectory(ctx context.Context, in listDirectoryIn) (entriesOut, error) {
	out := entriesOut{Entries: []fileEntry{}}
	var err error
	out.Truncated, err = s.walk(ctx, in.Path, func(p string, d fs.DirEntry) error {
		if len(out.Entries) == maxMatches {
			return errFull
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out.Entries = append(out.Entries, fileEntry{Path: p, Kind: kindOf(d.Type()), Bytes: info.Size(), Modified: info.ModTime().UTC().Truncate(time.Second)})
		if d.IsDir() && !in.Recursive {
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "folder"
	}
	return "other"
}

// readText returns a whole text file.
func (s *Server) readText(p string) (string, error) {
	f, err := s.root.Open(path.Clean(p))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxFileBytes:
		return "", fmt.Errorf("read %s: larger than %d bytes", p, maxFileBytes)
	case !utf8.Valid(b):
		return "", fmt.Errorf("read %s: not a text file", p)
	}
	return string(b), nil
}

func (s *Server) readFile(_ context.Context, in readFileIn) (readFileOut, error) {
	text, err := s.readText(in.Path)
	if err != nil {
		return readFileOut{}, err
	}
	lines := slices.Collect(strings.Lines(text))
	wanted := lines[min(in.FirstLine-1, len(lines)):]
	if in.Lines > 0 {
		wanted = wanted[:min(in.Lines, len(wanted))]
	}
	return readFileOut{Text: strings.Join(wanted, ""), TotalLines: len(lines)}, nil
}

func (s *Server) writeFile(_ context.Context, in writeFileIn) (writtenOut, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if in.Overwrite {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := s.root.OpenFile(path.Clean(in.Path), flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return writtenOut{}, fmt.Errorf("write %s: exists already; set overwrite to replace it", in.Path)
	}
	if err != nil {
		return writtenOut{}, err
	}
	n, err := f.WriteString(in.Text)
	return writtenOut{Path: path.Clean(in.Path), Bytes: n}, errors.Join(err, f.Close())
}

func (s *Server) searchFiles(ctx context.Context, in searchFilesIn) (searchFilesOut, error) {
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return searchFilesOut{}, err
	}
	out := searchFilesOut{Matches: []lineMatch{}}
	out.Truncated, err = s.walk(ctx, in.Path, func(p string, d fs.DirEntry) error {
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := s.readText(p)
		if err != nil {
			return nil // neither text nor small enough: nothing to search
		}
		return out.scan(p, text, re)
	})
	return out, err
}

// scan adds the lines of text that match.
func (o *searchFilesOut) scan(p, text string, re *regexp.Regexp) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if !re.MatchString(line) {
			continue
		}
		if len(o.Matches) == maxMatches {
			return errFull
		}
		o.Matches = append(o.Matches, lineMatch{Path: p, Line: n, Text: line})
	}
	return nil
}

func (s *Server) moveFile(_ context.Context, in moveIn) (movedOut, error) {
	from, to := path.Clean(in.From), path.Clean(in.To)
	if _, err := s.root.Lstat(to); err == nil {
		return movedOut{}, fmt.Errorf("move %s: %s exists already", in.From, in.To)
	}
	return movedOut{From: from, To: to}, s.root.Rename(from, to)
}
