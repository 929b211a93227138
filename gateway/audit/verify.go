package audit

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A State says how a file of the audit was left.
type State string

// The states of a file.
const (
	Whole   State = "whole"   // it was ended as it should be
	Writing State = "writing" // a process has it open
	Killed  State = "killed"  // its process ended without ending it; at most the last second is lost
	Damaged State = "damaged" // somebody changed it
)

// A Finding is what Verify says of a file.
type Finding struct {
	File    string `json:"file"`
	State   State  `json:"state"`
	Records int    `json:"records"` // that are sound
	Line    int    `json:"line,omitempty"`
	Problem string `json:"problem,omitempty"` // from that line on, or of the whole file
}

// Verify checks each file of a folder, in the order in which they began, and
// then whether one is missing that another names.
func Verify(folder string) ([]Finding, error) {
	all, err := names(folder)
	if err != nil {
		return nil, err
	}
	k, err := readKey(folder)
	if errors.Is(err, fs.ErrNotExist) && len(all) == 0 {
		return nil, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("audit %s has files but no %s, without which nothing can be said of them: restore it from a backup", folder, keyFile)
	}
	if err != nil {
		return nil, err
	}
	v := verifier{key: k, folder: folder, named: map[string]string{}, pruned: map[string]bool{}}
	var out []Finding
	for _, name := range all {
		found, err := v.file(name)
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	heads, err := filepath.Glob(filepath.Join(escape(folder), "*"+suffix+headSuffix))
	for _, path := range heads {
		path = strings.TrimSuffix(path, headSuffix)
		// A process that was killed as it began leaves the head of one line.
		if h, err := k.readHead(path); err != nil || h.seq > 1 {
			v.named[filepath.Base(path)] = filepath.Base(path) + headSuffix
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.named)) {
		if !v.pruned[name] && !slices.Contains(all, name) {
			out = append(out, Finding{File: name, State: Damaged, Problem: "it is missing: " + v.named[name] + " says that it was there"})
		}
	}
	return out, err
}

// A verifier checks files of one folder.
type verifier struct {
	key    key
	folder string
	named  map[string]string // files that were there, with one that says so
	pruned map[string]bool
}

// A chain is how far a file has been followed.
type chain struct {
	head
	ended bool   // by its last line
	torn  bool   // the last line has no end
	at    []byte // the MAC at the sealed head's number
}

func (v *verifier) file(name string) (Finding, error) {
	path := filepath.Join(v.folder, name)
	// What is written while this is read is not missed: the head first, and
	// whether there is a writer before the end.
	sealed, headErr := v.key.readHead(path)
	writing := alive(path)
	f, err := os.Open(path)
	if err != nil {
		return Finding{}, err
	}
	defer f.Close() // it is only read
	c := chain{head: head{mac: v.key.begin(name)}}
	problem, err := v.follow(name, f, &c, sealed.seq)
	if err != nil {
		return Finding{}, err
	}
	found := Finding{File: name, Records: c.seq, State: Whole}
	switch {
	case problem != "":
		found.State, found.Line, found.Problem = Damaged, c.seq+1, problem
	case headErr != nil:
		found.State, found.Problem = Damaged, fmt.Sprintf("%s%s: %v", name, headSuffix, headErr)
	case c.seq == 0 && sealed.seq == 1:
		found.State = Killed // as it began
	case c.seq < sealed.seq:
		found.State, found.Line = Damaged, c.seq+1
		found.Problem = fmt.Sprintf("it was cut: %d lines were written at least", sealed.seq)
	case !hmac.Equal(c.at, sealed.mac):
		found.State, found.Problem = Damaged, name+headSuffix+": it is of another file"
	case writing:
		found.State = Writing
	case !c.ended:
		found.State = Killed
	case c.torn:
		found.State, found.Line, found.Problem = Damaged, c.seq+1, "a line follows the last one"
	}
	return found, nil
}

// follow checks the lines of a file one after the other, as far as they are
// sound.
func (v *verifier) follow(name string, f io.Reader, c *chain, sealed int) (problem string, err error) {
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			c.torn = len(line) > 0
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if problem := v.line(name, line, c); problem != "" {
			return problem, nil
		}
		if c.seq == sealed {
			c.at = c.mac
		}
	}
}

// line checks one line and goes on to it.
func (v *verifier) line(name string, line []byte, c *chain) (problem string) {
	const macLen = len(`,"mac":""}`+"\n") + 2*sha256.Size
	if c.ended {
		return "a line follows the last one"
	}
	if len(line) < macLen {
		return "it is no record"
	}
	body, end := line[:len(line)-macLen], line[len(line)-macLen:]
	mac := v.key.seal(c.mac, body)
	var rec Record
	if err := json.Unmarshal(line, &rec); err != nil {
		return "it is no record"
	}
	if !hmac.Equal(end, fmt.Appendf(nil, macFormat, mac)) {
		return chainProblem(rec, c)
	}
	c.head = head{rec.Seq, mac}
	c.ended = rec.Kind == closed
	for _, other := range rec.Files {
		if rec.Kind == pruned {
			v.pruned[other] = true
		} else {
			v.named[other] = name
		}
	}
	return ""
}

// chainProblem says what is likely wrong with a line whose MAC is.
func chainProblem(rec Record, c *chain) string {
	switch {
	case rec.Seq > c.seq+1:
		return fmt.Sprintf("lines %d to %d are missing", c.seq+1, rec.Seq-1)
	case rec.Seq <= c.seq:
		return fmt.Sprintf("line %d stands here out of order", rec.Seq)
	}
	return "it was changed, or the line before it was"
}
