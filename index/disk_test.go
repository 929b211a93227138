package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/tooldex/tooldex/index/check"
)

func TestMain(m *testing.M) {
	if child := os.Getenv("TOOLDEX_CHILD"); child != "" {
		os.Exit(children[child]())
	}
	goleak.VerifyTestMain(m)
}

// children are what this test binary does when it is started as another
// process, by the name in TOOLDEX_CHILD.
var children = map[string]func() int{}

func openDir(t testing.TB, dir string, o Options) *Index {
	t.Helper()
	ix, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeIndex(t, ix) })
	return ix
}

func closeIndex(t testing.TB, ix *Index) {
	t.Helper()
	if err := ix.Close(); err != nil {
		t.Error(err)
	}
}

func ids(ix *Index) map[string]string {
	byName := map[string]string{}
	hits, _ := ix.List(Listing{})
	for _, h := range hits {
		byName[h.Tool.QualifiedName()] = h.ID
	}
	return byName
}

func TestReopen(t *testing.T) {
	dir := t.TempDir()
	ix := openDir(t, dir, Options{})
	list := []json.RawMessage{
		rawTool("read_file", "Read the contents of a file", "path"),
		json.RawMessage(`{"name":"odd","description":"Ünïcode 漢字","title":"T","big":12345678901234567890,
			"_meta":{"tags":["a","b"],"category":"Files","examples":[{"description":"d","arguments":{"x":1}}]}}`),
	}
	replace(t, ix, "files", list...)
	before, _ := ix.List(Listing{})
	q := Query{Text: "read contents", Mode: Keyword}
	found, err := ix.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	closeIndex(t, ix)

	ix = openDir(t, dir, Options{})
	after, _ := ix.List(Listing{})
	if !reflect.DeepEqual(before, after) {
		t.Errorf("after opening again:\ngot  %+v\nwant %+v", after, before)
	}
	again, err := ix.Search(t.Context(), q)
	if err != nil || !reflect.DeepEqual(found.Hits, again.Hits) {
		t.Errorf("the same search finds %+v, then %+v (%v)", found.Hits, again.Hits, err)
	}
	for i, name := range []string{"files/read_file", "files/odd"} {
		raw, err := ix.Raw(ids(ix)[name])
		if err != nil || string(raw) != string(list[i]) {
			t.Errorf("Raw(%s) = %s, %v", name, raw, err)
		}
	}
	st := ix.Status()
	if len(st.Servers) != 1 || st.Servers[0].Listed.IsZero() || st.Problem != "" || st.Bytes == 0 {
		t.Errorf("status %+v", st)
	}
	if d := replace(t, ix, "files", list...); d.Unchanged != 2 || len(d.Added)+len(d.Changed)+len(d.Removed) > 0 {
		t.Errorf("the same list again: %+v", d)
	}
	if now := ix.Status().Servers[0].Listed; !now.After(st.Servers[0].Listed) {
		t.Errorf("a server that was listed again was so at %v, before at %v", now, st.Servers[0].Listed)
	}
}

func TestFirstSeenSurvives(t *testing.T) {
	dir := t.TempDir()
	ix := openDir(t, dir, Options{})
	replace(t, ix, "s", rawTool("a", "first"), rawTool("b", "second"))
	seen := firstHit(ix).Tool.FirstSeen
	if seen.IsZero() {
		t.Fatal("no date")
	}
	replace(t, ix, "s", rawTool("b", "second"))
	closeIndex(t, ix)
	ix = openDir(t, dir, Options{})
	replace(t, ix, "s", rawTool("a", "first again"), rawTool("b", "second"))
	if got := firstHit(ix).Tool.FirstSeen; !got.Equal(seen) {
		t.Errorf("a tool that came back was first seen %v, want %v", got, seen)
	}
}

func firstHit(ix *Index) Hit {
	hits, _ := ix.List(Listing{})
	return hits[0]
}

func TestMetricsSurviveAndAddUp(t *testing.T) {
	dir := t.TempDir()
	one, two := openDir(t, dir, Options{}), openDir(t, dir, Options{})
	replace(t, one, "s", rawTool("a", "first"))
	id := firstHit(one).ID
	two.catalog.Poll(t.Context())
	one.Record(id, true, time.Second)
	two.Record(id, false, time.Second)
	if m := one.Metrics(id); m.Total != 1 || m.Failed != 0 {
		t.Errorf("before anything is written: %+v", m)
	}
	if err := errors.Join(one.catalog.Flush(t.Context()), two.catalog.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	one.catalog.Poll(t.Context())
	if m := one.Metrics(id); m.Total != 2 || m.Failed != 1 || m.Time != 2*time.Second {
		t.Errorf("of both processes: %+v", m)
	}
	one.Record(id, true, time.Second)
	closeIndex(t, one)
	if m := openDir(t, dir, Options{}).Metrics(id); m.Total != 3 {
		t.Errorf("after Close and Open: %+v", m)
	}
}

func TestConfigurationsDoNotMeet(t *testing.T) {
	dir := t.TempDir()
	mine := openDir(t, dir, Options{Sources: map[string]string{"db": "token one"}})
	theirs := openDir(t, dir, Options{Sources: map[string]string{"db": "token two", "own": ""}})
	replace(t, mine, "db", rawTool("query", "mine"))
	replace(t, theirs, "db", rawTool("query", "theirs"), rawTool("drop", "theirs"))
	replace(t, theirs, "own", rawTool("x", "x"))
	mine.Record(ids(mine)["db/query"], true, 0)
	closeIndex(t, mine)
	closeIndex(t, theirs)

	mine = openDir(t, dir, Options{Sources: map[string]string{"db": "token one"}})
	theirs = openDir(t, dir, Options{Sources: map[string]string{"db": "token two", "own": ""}})
	mine.catalog.Poll(t.Context())
	if got := fmt.Sprint(len(ids(mine)), " ", firstHit(mine).Tool.Description, " ", len(ids(theirs))); got != "1 mine 3" {
		t.Errorf("got %s", got)
	}
	if m := theirs.Metrics(ids(theirs)["db/query"]); m.Total != 0 {
		t.Errorf("theirs has the metrics of mine: %+v", m)
	}
	data, err := os.ReadFile(filepath.Join(dir, "store.db"))
	if err != nil || strings.Contains(string(data), "token one") {
		t.Errorf("the connection is readable in the store (%v)", err)
	}
	if gone, err := mine.Prune(t.Context(), "db", "own"); err != nil || len(gone) > 0 {
		t.Errorf("Prune = %v, %v, want both kept", gone, err)
	}
	gone, err := mine.Prune(t.Context())
	if err != nil || fmt.Sprint(gone) != "[db own]" {
		t.Errorf("Prune = %v, %v", gone, err)
	}
	if n := len(ids(openDir(t, dir, Options{Sources: map[string]string{"db": "token two"}}))); n != 0 {
		t.Errorf("%d tools after pruning", n)
	}
	if n := len(ids(openDir(t, dir, Options{}))); n != 1 {
		t.Errorf("%d tools for a process without sources, want mine", n)
	}
}

// TestPolling lets one process see another's change within 2 s.
func TestPolling(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		one, two := openDir(t, dir, Options{}), openDir(t, dir, Options{})
		replace(t, one, "s", rawTool("a", "first"))
		time.Sleep(pollEvery + time.Millisecond)
		synctest.Wait()
		if n := len(ids(two)); n != 1 {
			t.Fatalf("the other process has %d tools after %v", n, pollEvery)
		}
		generation := two.Status().Generation
		one.Record(firstHit(one).ID, true, 0)
		time.Sleep(flushEvery + pollEvery)
		synctest.Wait()
		if m := two.Metrics(firstHit(two).ID); m.Total != 1 {
			t.Errorf("the other process counts %+v", m)
		}
		if g := two.Status().Generation; g != generation {
			t.Errorf("metrics moved the generation from %d to %d", generation, g)
		}
		replace(t, two, "s", rawTool("b", "second"))
		time.Sleep(pollEvery + time.Millisecond)
		synctest.Wait()
		if got := ids(one); len(got) != 1 || got["s/b"] == "" {
			t.Errorf("one has %v", got)
		}
		raw, err := one.Raw(ids(one)["s/b"])
		if err != nil || !strings.Contains(string(raw), "second") {
			t.Errorf("Raw = %s, %v", raw, err)
		}
	})
}

// TestBusyStore keeps the store locked by another process's transaction.
func TestBusyStore(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ix := openDir(t, dir, Options{})
		replace(t, ix, "s", rawTool("a", "first"))
		lock, err := bbolt.Open(filepath.Join(dir, "store.db"), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		replace(t, ix, "s", rawTool("a", "first"), rawTool("b", "second")) // waits 10 s in the bubble's time
		if n := len(ids(ix)); n != 2 {
			t.Errorf("%d tools are searchable", n)
		}
		if st := ix.Status(); fmt.Sprint(st.Pending) != "[s]" || !strings.Contains(st.Problem, "locked by another process") {
			t.Errorf("status %+v", st)
		}
		if raw, err := ix.Raw(ids(ix)["s/b"]); err != nil || len(raw) == 0 {
			t.Errorf("a tool that waits to be stored cannot be described: %v", err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := ix.Status(); len(st.Pending) > 0 || st.Problem != "" {
			t.Errorf("after the lock was given up: %+v", st)
		}
		if n := len(ids(openDir(t, dir, Options{Offline: true}))); n != 2 {
			t.Errorf("%d tools are stored", n)
		}
	})
}

func TestOfflineChangesNothing(t *testing.T) {
	dir := t.TempDir()
	ix := openDir(t, dir, Options{})
	replace(t, ix, "s", rawTool("a", "first"))
	closeIndex(t, ix)
	before, err := os.ReadFile(filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	ix = openDir(t, dir, Options{Offline: true})
	ix.Record(firstHit(ix).ID, true, 0)
	replace(t, ix, "s", rawTool("b", "second"))
	if raw, err := ix.Raw(firstHit(ix).ID); err != nil || len(raw) == 0 {
		t.Errorf("Raw: %v", err)
	}
	closeIndex(t, ix)
	if after, _ := os.ReadFile(filepath.Join(dir, "store.db")); string(before) != string(after) {
		t.Error("the store was changed")
	}
}

func TestUnusableFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Options{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Open of a file = %v", err)
	}
	if _, err := Open(filepath.Join(file, "x"), Options{}); err == nil || !strings.Contains(err.Error(), "choose a folder") {
		t.Errorf("Open below a file = %v", err)
	}
}

// TestNewerStore meets a store of a newer format when opening, and while
// running.
func TestNewerStore(t *testing.T) {
	dir := t.TempDir()
	running := openDir(t, dir, Options{})
	replace(t, running, "s", rawTool("a", "first"))
	raiseFormat(t, filepath.Join(dir, "store.db"))
	before, _ := os.ReadFile(filepath.Join(dir, "store.db"))
	for name, ix := range map[string]*Index{"running": running, "opened": openDir(t, dir, Options{})} {
		replace(t, ix, "s", rawTool("a", "first"), rawTool("b", "second"))
		replace(t, ix, "s", rawTool("a", "first"), rawTool("b", "second"))
		if n := len(ids(ix)); n != 2 {
			t.Errorf("%s: %d tools", name, n)
		}
		for tool, id := range ids(ix) {
			if raw, err := ix.Raw(id); err != nil || len(raw) == 0 {
				t.Errorf("%s: Raw(%s): %v", name, tool, err)
			}
		}
		if p := ix.Status().Problem; !strings.Contains(p, "update tooldex") || !strings.Contains(p, "memory only") {
			t.Errorf("%s: problem %q", name, p)
		}
		closeIndex(t, ix)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, "store.db")); string(before) != string(after) {
		t.Error("the newer store was changed")
	}
}

// raiseFormat gives the store of a newer tooldex.
func raiseFormat(t *testing.T, path string) {
	t.Helper()
	newer, err := os.ReadFile("store/testdata/newer.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, newer, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedStore loses the file under a running process and at opening.
func TestDamagedStore(t *testing.T) {
	dir := t.TempDir()
	ix := openDir(t, dir, Options{})
	list := []json.RawMessage{rawTool("a", "first"), rawTool("b", "second")}
	replace(t, ix, "s", list...)
	path := filepath.Join(dir, "store.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	ix.catalog.Poll(t.Context())
	if n := len(ids(ix)); n != 2 {
		t.Errorf("%d tools after the store was lost", n)
	}
	replace(t, ix, "s", list...)
	if p := ix.Status().Problem; !strings.Contains(p, "store.damaged-1") || !strings.Contains(p, "lost") {
		t.Errorf("problem %q", p)
	}
	closeIndex(t, ix)
	ix = openDir(t, dir, Options{})
	for name, id := range ids(ix) {
		if raw, err := ix.Raw(id); err != nil || len(raw) == 0 {
			t.Errorf("Raw(%s): %v", name, err)
		}
	}
	if n := len(ids(ix)); n != 2 {
		t.Errorf("%d tools were stored again", n)
	}
	if found, err := check.Folder(dir); err != nil || len(found) != 1 || found[0].Repairable() {
		t.Errorf("Check = %+v, %v", found, err)
	}
}

func TestCancelledReplace(t *testing.T) {
	ix := openDir(t, t.TempDir(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ix.Replace(ctx, "s", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Replace = %v", err)
	}
}

// damageFile flips a bit in the middle of a file.
func damageFile(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 4
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
