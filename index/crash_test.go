package index

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/index/check"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/vector"
)

func init() { children["crash"] = crashChild }

// crashRuns is how many times TestCrash kills; TOOLDEX_CRASH_RUNS sets it.
const crashRuns = 12

// The crash child says on stdout what it is about to do and what it has done,
// a line each: "begin SERVER VERSION", "done SERVER VERSION", "count", "counted".
const (
	crashServers = 3
	crashTools   = 24 // most tools of a server
)

// crashList is version v of a server's tools: their number depends on v, and
// most of them say v.
func crashList(server string, v int) (list []Tool) {
	for i := range 1 + (v*7)%crashTools {
		text := fmt.Sprintf("Does thing %d, version %d", i, v)
		if i%3 == 1 {
			text = fmt.Sprintf("Always does thing %d", i) // the same in every version
		}
		t, err := Decode(server, rawTool(fmt.Sprint("tool_", i), text, "path"))
		if err != nil {
			panic(err)
		}
		list = append(list, t)
	}
	return list
}

// crashChild changes the catalog, counts, and switches models for ever.
func crashChild() int {
	dir, name := os.Getenv("TOOLDEX_CRASH_DIR"), os.Getenv("TOOLDEX_CRASH_NAME")
	version, err := strconv.Atoi(os.Getenv("TOOLDEX_CRASH_VERSION"))
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	models := []*testEmbedder{newTestEmbedder("a", 8), newTestEmbedder("b", 12)}
	ix, err := Open(dir, Options{Embedder: models[version%2], HNSWThreshold: -1})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	ctx := context.Background()
	for ; ; version++ {
		server := fmt.Sprint(name, "-", version%crashServers)
		fmt.Println("begin", server, version)
		_, err := ix.Replace(ctx, server, crashList(server, version))
		if err == nil && len(ix.Status().Pending) == 0 {
			fmt.Println("done", server, version)
		}
		id := Tool{Server: server, Name: "tool_0"}.ID()
		fmt.Println("count", id)
		ix.Record(id, true, time.Millisecond)
		if err := ix.catalog.Flush(ctx); err == nil && ix.meter.Pending() == 0 {
			fmt.Println("counted", id)
		}
		if version%5 == 0 {
			ix.SetEmbedder(models[version/5%2])
		}
		if version%7 == 0 {
			_ = ix.Wait(ctx)
		}
	}
}

// A crashed child's last words, and what must hold of the folder since.
type crashState struct {
	mu       sync.Mutex
	done     map[string]int // versions that are stored for sure
	begun    map[string]int // newer versions that may be
	counted  map[string]int64
	counting map[string]int64
	lines    int
	problem  string
}

func newCrashState() *crashState {
	return &crashState{done: map[string]int{}, begun: map[string]int{}, counted: map[string]int64{}, counting: map[string]int64{}}
}

func (c *crashState) read(r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		c.line(strings.Fields(lines.Text()))
	}
}

func (c *crashState) line(f []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines++
	switch {
	case len(f) == 3 && f[0] == "begin":
		c.begun[f[1]], _ = strconv.Atoi(f[2])
	case len(f) == 3 && f[0] == "done":
		c.done[f[1]], _ = strconv.Atoi(f[2])
	case len(f) == 2 && f[0] == "count":
		c.counting[f[1]]++
	case len(f) == 2 && f[0] == "counted":
		c.counted[f[1]] = c.counting[f[1]]
	case len(f) > 0 && f[0] == "error":
		c.problem = strings.Join(f, " ")
	}
}

// TestCrash kills processes at random points of whatever they are doing, one
// at a time or two that share the folder, and looks at what they left: every
// server in its old or its new state and nothing between, no count lost that
// was stored, every vector and graph sound.
func TestCrash(t *testing.T) {
	runs := crashRuns
	if s := os.Getenv("TOOLDEX_CRASH_RUNS"); s != "" {
		var err error
		if runs, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	state := newCrashState()
	start := time.Now()
	for run := range runs {
		crashOnce(t, dir, state, run, r)
		checkCrashed(t, dir, state)
		if t.Failed() {
			t.Fatalf("after run %d", run)
		}
	}
	t.Logf("%d kills, %.1f a second, %d lines of progress", runs, float64(runs)/time.Since(start).Seconds(), state.lines)
	if state.lines < 2*runs {
		t.Errorf("the children were killed before they did anything: %d lines", state.lines)
	}
}

// crashOnce starts one child or two and kills them, each within 25 ms of one
// of its first words.
func crashOnce(t *testing.T, dir string, state *crashState, run int, r *rand.Rand) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 1 + r.IntN(4)/3 {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "TOOLDEX_CHILD=crash", "TOOLDEX_CRASH_DIR="+dir,
			fmt.Sprint("TOOLDEX_CRASH_NAME=p", i), fmt.Sprint("TOOLDEX_CRASH_VERSION=", 1000*(run+1)+r.IntN(35)))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after, delay := r.IntN(10), time.Duration(r.Int64N(int64(25*time.Millisecond)))
		wg.Go(func() {
			lines := bufio.NewReader(out)
			for range 1 + after {
				line, err := lines.ReadString('\n')
				if err != nil {
					break
				}
				state.line(strings.Fields(line))
			}
			kill := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
			state.read(lines)
			_ = cmd.Wait() // it was killed
		})
	}
	wg.Wait()
	if state.problem != "" {
		t.Error(state.problem)
	}
}

// checkCrashed looks at the folder as a process would that comes next.
func checkCrashed(t *testing.T, dir string, state *crashState) {
	t.Helper()
	if found, err := check.Folder(dir); len(found) > 0 || err != nil {
		t.Errorf("Check: %+v, %v", found, err)
	}
	ix, err := Open(dir, Options{Offline: true, Embedder: newTestEmbedder("a", 8), HNSWThreshold: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer closeIndex(t, ix)
	if p := ix.Status().Problem; p != "" {
		t.Error(p)
	}
	checkVersions(t, ix, state)
	for id, n := range state.counting {
		got := ix.Metrics(id).Total
		if got < state.counted[id] || got > n {
			t.Errorf("tool %s: %d executions, want %d to %d", id, got, state.counted[id], n)
		}
		state.counted[id], state.counting[id] = got, got
	}
	checkVectors(t, ix)
	if _, err := ix.Search(t.Context(), Query{Text: "thing version"}); err != nil {
		t.Error(err)
	}
}

// checkVersions finds each server in one version that it may be in.
func checkVersions(t *testing.T, ix *Index, state *crashState) {
	t.Helper()
	for server, begun := range state.begun {
		tools := map[string]Hit{}
		hits, _ := ix.List(Listing{Filter: Filter{Servers: []string{server}}})
		for _, h := range hits {
			tools[h.ID] = h
		}
		done := state.done[server]
		version := -1
		for _, v := range []int{begun, done} {
			if isVersion(t, ix, tools, server, v) {
				version = v
				break
			}
		}
		if version < 0 && (done > 0 || len(tools) > 0) {
			t.Errorf("server %s is in neither version %d nor %d: %d tools", server, done, begun, len(tools))
		}
		state.done[server] = version
		state.begun[server] = version
		if version < 0 {
			delete(state.begun, server)
			delete(state.done, server)
		}
	}
}

// isVersion says whether these are exactly the tools of version v, with their
// objects.
func isVersion(t *testing.T, ix *Index, tools map[string]Hit, server string, v int) bool {
	want := crashList(server, v)
	if v <= 0 || len(want) != len(tools) {
		return false
	}
	for _, w := range want {
		h, ok := tools[w.ID()]
		if !ok || h.Tool.Description != w.Description {
			return false
		}
		if raw, err := ix.Raw(h.ID); err != nil || string(raw) != string(w.Raw) {
			t.Errorf("server %s version %d: %s has the object %s, %v", server, v, w.Name, raw, err)
		}
		if h.Tool.FirstSeen.IsZero() {
			t.Errorf("server %s: %s has no date", server, w.Name)
		}
	}
	return true
}

// checkVectors compares the stored vectors with what the embedder makes.
func checkVectors(t *testing.T, ix *Index) {
	t.Helper()
	e := newTestEmbedder("a", 8)
	docs := ix.snapshot().Docs()
	texts := make([][32]byte, len(docs))
	for i, d := range docs {
		texts[i] = d.Embedded[tool.AsText]
	}
	space := store.SpaceOf(e.Model(), fmt.Sprint(tool.TemplateVersion, "/", tool.AsText))
	_, err := ix.folder.Store.Vectors(t.Context(), space, texts, func(i int, data []byte) {
		got, ok := vector.DecodeCode(data, 8)
		if !ok {
			t.Fatalf("the vector of %s does not decode", docs[i].Qualified)
		}
		raw, err := ix.Raw(docs[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.EmbedQuery(t.Context(), tool.EmbeddedText(&docs[i].Tool, tool.ParametersOf(raw)))
		if err != nil {
			t.Fatal(err)
		}
		want, _ = vector.Unit(want)
		if diff := cmp.Diff(vector.Encode(want), got); diff != "" {
			t.Fatalf("%s has another vector: want -, got +:\n%s", docs[i].Qualified, diff)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckBy sees a process that reading the store ends, and one that finds
// nothing.
func TestCheckBy(t *testing.T) {
	dir := t.TempDir()
	run := func(child string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "TOOLDEX_CHILD="+child, "TOOLDEX_CHECK_DIR="+dir)
		return cmd
	}
	ix := openDir(t, dir, Options{})
	replace(t, ix, "s", rawTool("a", "first"))
	closeIndex(t, ix)
	if found, err := check.By(t.Context(), run("check"), dir); len(found) > 0 || err != nil {
		t.Errorf("a sound folder: %+v, %v", found, err)
	}
	found, err := check.By(t.Context(), run("overflow"), dir)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].What, "stack") || !found[0].Repairable() {
		t.Errorf("a check that ends: %+v, %v", found, err)
	}
	done, err := check.Repair(dir, found)
	if err != nil || len(done) != 1 || !strings.Contains(done[0], "store.damaged-1") {
		t.Errorf("Repair = %q, %v", done, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "store.damaged-1")); err != nil {
		t.Error(err)
	}
}

func init() {
	children["check"] = func() int {
		found, err := check.Folder(os.Getenv("TOOLDEX_CHECK_DIR"))
		if err != nil {
			return 1
		}
		if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
			return 1
		}
		return 0
	}
	// What a circle of pages does to a process.
	children["overflow"] = func() int {
		debug.SetMaxStack(1 << 20) // sooner
		var deeper func(n int) int
		deeper = func(n int) int { return deeper(n+1) + 1 }
		return deeper(0)
	}
}
