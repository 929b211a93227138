package sample

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds on what the file tools read and return.
const (
	maxFileBytes = 1 << 20
	maxMatches   = 500
)

type pathIn struct {
	Path string `json:"path" jsonschema:"path of the file or folder, relative to the served folder"`
}

type fileEntry struct {
	Path     string    `json:"path"`
	Kind     string    `json:"kind" jsonschema:"file, folder, link or other"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

type entriesOut struct {
	Entries   []fileEntry `json:"entries"`
	Truncated bool        `json:"truncated" jsonschema:"more entries exist than are given"`
}

type listDirectoryIn struct {
	Path      string `json:"path,omitempty" jsonschema:"folder to list; the served folder itself when absent"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"also list the folders inside"`
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

type appendFileIn struct {
	Path string `json:"path" jsonschema:"path of the text file; it is created if it does not exist"`
	Text string `json:"text" jsonschema:"what to add at the end"`
}

type writtenOut struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes" jsonschema:"size of the file afterwards"`
}

type findFilesIn struct {
	Pattern string `json:"pattern" jsonschema:"file name pattern with * and ?, such as *.csv"`
	Path    string `json:"path,omitempty" jsonschema:"folder to look in; the served folder itself when absent"`
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

type deletedOut struct {
	Deleted string `json:"deleted"`
}

type createdOut struct {
	Created string `json:"created"`
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
		name: "append_text", title: "Append to a file", description: "Add text at the end of a file without changing what is in it.",
		effect: adds, tags: []string{"files", "write"},
		examples: []map[string]any{{"path": "notes.txt", "text": "One more line\n"}},
	}, s.appendFile)
	add(s, category, tool{
		name: "file_info", title: "File information", description: "Tell the size, kind and time of modification of one file or folder.",
		tags: []string{"files", "read"}, examples: []map[string]any{{"path": "sales.csv"}},
	}, s.fileInfo)
	add(s, category, tool{
		name: "find_files", title: "Find files by name", description: "Find files whose names match a pattern, in a folder and all folders inside it.",
		tags: []string{"files", "search"}, examples: []map[string]any{{"pattern": "*.csv"}},
	}, s.findFiles)
	add(s, category, tool{
		name: "search_in_files", title: "Search in files", description: "Search the contents of all text files for a regular expression and return the matching lines.",
		tags: []string{"files", "search"}, examples: []map[string]any{{"pattern": "TODO|FIXME", "ignore_case": true}},
	}, s.searchFiles)
	s.addFileChanges(category)
}

func (s *Server) addFileChanges(category string) {
	add(s, category, tool{
		name: "move_file", title: "Move or rename", description: "Move or rename a file or folder. Nothing is overwritten.",
		effect: destroys, tags: []string{"files", "write"}, examples: []map[string]any{{"from": "draft.txt", "to": "final.txt"}},
	}, s.moveFile)
	add(s, category, tool{
		name: "delete_file", title: "Delete", description: "Delete a file or an empty folder.",
		effect: destroys, tags: []string{"files", "write"}, examples: []map[string]any{{"path": "old.txt"}},
	}, s.deleteFile)
	add(s, category, tool{
		name: "make_directory", title: "Make a folder", description: "Create a folder, with the folders above it if they are missing.",
		effect: sets, tags: []string{"files", "write"}, examples: []map[string]any{{"path": "reports/2026"}},
	}, s.makeDirectory)
}

// clean makes a slash-separated path that os.Root accepts; the root itself
// refuses what would lead out of it.
func clean(p string) string {
	if p == "" {
		return "."
	}
	return path.Clean(p)
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

func entryOf(p string, info fs.FileInfo) fileEntry {
	return fileEntry{Path: p, Kind: kindOf(info.Mode()), Bytes: info.Size(), Modified: info.ModTime().UTC().Truncate(time.Second)}
}

// errFull ends a walk that has found enough.
var errFull = errors.New("enough")

// walk calls f for each entry below dir, links unfollowed; f may return
// errFull to stop. It reports whether it was stopped so.
func (s *Server) walk(ctx context.Context, dir string, f func(p string, d fs.DirEntry) error) (bool, error) {
	dir = clean(dir)
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
	return s.collect(ctx, in.Path, func(p string, d fs.DirEntry) (keep bool, next error) {
		if d.IsDir() && !in.Recursive {
			return true, fs.SkipDir
		}
		return true, nil
	})
}

func (s *Server) findFiles(ctx context.Context, in findFilesIn) (entriesOut, error) {
	if _, err := path.Match(in.Pattern, ""); err != nil {
		return entriesOut{}, fmt.Errorf("pattern %q: %w", in.Pattern, err)
	}
	return s.collect(ctx, in.Path, func(p string, d fs.DirEntry) (bool, error) {
		ok, err := path.Match(in.Pattern, path.Base(p))
		return ok, err
	})
}

// collect lists the entries below dir that keep wants; keep also says how the
// walk goes on.
func (s *Server) collect(ctx context.Context, dir string, keep func(string, fs.DirEntry) (bool, error)) (entriesOut, error) {
	out := entriesOut{Entries: []fileEntry{}}
	var err error
	out.Truncated, err = s.walk(ctx, dir, func(p string, d fs.DirEntry) error {
		wanted, next := keep(p, d)
		if !wanted {
			return next
		}
		if len(out.Entries) == maxMatches {
			return errFull
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out.Entries = append(out.Entries, entryOf(p, info))
		return next
	})
	return out, err
}

// readText returns a whole text file.
func (s *Server) readText(p string) (string, error) {
	f, err := s.root.Open(clean(p))
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
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	from := min(max(in.FirstLine-1, 0), len(lines))
	to := len(lines)
	if in.Lines > 0 {
		to = min(from+in.Lines, to)
	}
	return readFileOut{Text: strings.Join(lines[from:to], ""), TotalLines: len(lines)}, nil
}

func (s *Server) writeFile(_ context.Context, in writeFileIn) (writtenOut, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if in.Overwrite {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	out, err := s.put(in.Path, in.Text, flags)
	if errors.Is(err, fs.ErrExist) {
		return out, fmt.Errorf("write %s: exists already; set overwrite to replace it", in.Path)
	}
	return out, err
}

func (s *Server) appendFile(_ context.Context, in appendFileIn) (writtenOut, error) {
	return s.put(in.Path, in.Text, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
}

func (s *Server) put(p, text string, flags int) (writtenOut, error) {
	f, err := s.root.OpenFile(clean(p), flags, 0o644)
	if err != nil {
		return writtenOut{}, err
	}
	_, err = f.WriteString(text)
	info, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close()); err != nil {
		return writtenOut{}, err
	}
	return writtenOut{Path: clean(p), Bytes: info.Size()}, nil
}

func (s *Server) fileInfo(_ context.Context, in pathIn) (fileEntry, error) {
	info, err := s.root.Lstat(clean(in.Path))
	if err != nil {
		return fileEntry{}, err
	}
	return entryOf(clean(in.Path), info), nil
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
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, maxFileBytes+1)
	for n := 1; lines.Scan(); n++ {
		if !re.MatchString(lines.Text()) {
			continue
		}
		if len(o.Matches) == maxMatches {
			return errFull
		}
		o.Matches = append(o.Matches, lineMatch{Path: p, Line: n, Text: lines.Text()})
	}
	return lines.Err()
}

func (s *Server) moveFile(_ context.Context, in moveIn) (movedOut, error) {
	from, to := clean(in.From), clean(in.To)
	if _, err := s.root.Lstat(to); err == nil {
		return movedOut{}, fmt.Errorf("move %s: %s exists already", in.From, in.To)
	}
	if err := s.root.Rename(from, to); err != nil {
		return movedOut{}, err
	}
	return movedOut{From: from, To: to}, nil
}

func (s *Server) deleteFile(_ context.Context, in pathIn) (deletedOut, error) {
	p := clean(in.Path)
	if p == "." {
		return deletedOut{}, errors.New("delete .: the served folder itself cannot be deleted")
	}
	if err := s.root.Remove(p); err != nil {
		return deletedOut{}, err
	}
	return deletedOut{Deleted: p}, nil
}

func (s *Server) makeDirectory(_ context.Context, in pathIn) (createdOut, error) {
	p := clean(in.Path)
	if err := s.root.MkdirAll(p, 0o755); err != nil {
		return createdOut{}, err
	}
	return createdOut{Created: p}, nil
}
