// Package check looks for damage in a state folder that no index has open, and
// mends what can be mended.
package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/hnsw"
	"github.com/tooldex/tooldex/index/store"
)

// A Problem is one damaged or doubtful thing that Folder found.
type Problem struct {
	File   string `json:"file"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

const (
	repairRemedy = "run `tooldex doctor --repair`: it moves the file aside, and tools come back as their servers are listed"
	graphRemedy  = "none needed: it is deleted and made again when it is next read; `tooldex doctor --repair` deletes it at once"
	updateRemedy = "update tooldex: until then this one searches from memory and writes nothing there"
	deleteRemedy = "delete it when you no longer need what is in it"
)

// Folder verifies every file of the state folder dir without changing it. The
// store's page structure carries no checksums, and some damage to it ends
// the process that reads it: see [By].
func Folder(dir string) ([]Problem, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("check state folder: %w", err)
	}
	problems := []Problem{}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		switch name := f.Name(); {
		case name == "store.db":
			what, err := store.Check(dir)
			if errors.Is(err, store.ErrNewer) {
				problems = append(problems, Problem{path, err.Error(), updateRemedy})
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("check state folder: %w", err)
			}
			for _, w := range what {
				problems = append(problems, Problem{path, w, repairRemedy})
			}
		case hnsw.IsFile(name):
			if err := hnsw.Verify(path); err != nil && !errors.Is(err, hnsw.ErrVersion) {
				problems = append(problems, Problem{path, err.Error(), graphRemedy})
			}
		case strings.HasSuffix(name, ".tmp"):
		case strings.HasPrefix(name, "derived-"):
			if err := derived.Verify(path); err != nil {
				problems = append(problems, Problem{path, err.Error(), graphRemedy})
			}
		case strings.HasPrefix(name, "store.damaged-"):
			problems = append(problems, Problem{path, "a store that could not be read was moved here", deleteRemedy})
		}
	}
	return problems, nil
}

// By runs cmd, a command of this program that prints [Folder]'s problems
// as JSON, so that damage which ends that process becomes a problem like any
// other.
func By(ctx context.Context, cmd *exec.Cmd, dir string) ([]Problem, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("check state folder in a process of its own: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	err := cmd.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("check state folder in a process of its own: %w", ctx.Err())
	}
	var problems []Problem
	if json.Unmarshal(stdout.Bytes(), &problems) == nil {
		return problems, nil
	}
	first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
	if _, why, ok := strings.Cut(first, "error: "); ok && cmd.ProcessState.ExitCode() == 1 {
		return nil, errors.New(why) // it says itself why it could not look
	}
	return []Problem{{
		File:   filepath.Join(dir, "store.db"),
		What:   fmt.Sprintf("reading it ended the process (%v): %s", err, first),
		Remedy: repairRemedy,
	}}, nil
}

// Repairable says whether Repair mends the problem.
func (p Problem) Repairable() bool { return p.Remedy == repairRemedy || p.Remedy == graphRemedy }

// Repair moves a damaged store aside and deletes files that are made again
// from it. It returns what it did, one sentence each. Problems are those that
// Folder or By found.
func Repair(dir string, problems []Problem) (done []string, err error) {
	var files []string
	for _, p := range problems {
		if p.Repairable() {
			files = append(files, p.File)
		}
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		if filepath.Base(file) != "store.db" {
			err = errors.Join(err, os.Remove(file))
			done = append(done, fmt.Sprintf("deleted %s: it is made again", file))
			continue
		}
		aside, e := store.MoveAside(dir)
		if err = errors.Join(err, e); e == nil {
			done = append(done, fmt.Sprintf("moved %s to %s: execution metrics and first-seen dates are lost, tools come back as their servers are listed", file, aside))
		}
	}
	return done, err
}
