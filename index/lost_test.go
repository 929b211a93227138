package index

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// tick is what an index does every two seconds.
func tick(t *testing.T, ix *Index) {
	t.Helper()
	ix.catalog.Poll(t.Context())
	ix.catalog.AskForLists(time.Now())
	_ = ix.catalog.WritePending(t.Context()) // status says it
}

// TestFolderDeleted deletes the state folder of an index that runs.
func TestFolderDeleted(t *testing.T) {
	dir := t.TempDir()
	e := newTestEmbedder("m", 4)
	ix := openDir(t, dir, Options{Embedder: e})
	replace(t, ix, "a", rawTool("one", "first"))
	replace(t, ix, "b", rawTool("two", "second"))
	if err := ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeIndex(t, ix)

	// Opened again, so that no object is in memory and no vector on its way.
	var asked []string
	ix = openDir(t, dir, Options{Embedder: e, Relist: func(server string) { asked = append(asked, server) }})
	known := ids(ix)
	ix.Record(known["a/one"], true, time.Second)
	if err := ix.catalog.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, _ := ix.Get(known["a/one"])

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	tick(t, ix)
	if p := ix.Status().Problem; !strings.Contains(p, "server a, b are stored in part") {
		t.Errorf("problem %q", p)
	}
	if slices.Sort(asked); !slices.Equal(asked, []string{"a", "b"}) {
		t.Errorf("asked for lists of %q", asked)
	}
	if n := len(ids(ix)); n != 2 {
		t.Errorf("%d tools are left in memory", n)
	}
	if _, err := ix.Raw(known["a/one"]); err == nil || !strings.Contains(err.Error(), "listed again") {
		t.Errorf("Raw of what is lost = %v", err)
	}
	if again := openDir(t, dir, Options{Offline: true}); len(ids(again)) != 0 {
		t.Errorf("half of what was lost is stored: %v", ids(again))
	}

	replace(t, ix, "a", rawTool("one", "first"))
	replace(t, ix, "b", rawTool("two", "second"))
	tick(t, ix)
	if err := ix.catalog.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := ix.Status(); st.Problem != "" || len(st.Pending) > 0 {
		t.Errorf("status %+v", st)
	}
	closeIndex(t, ix)
	e.embedded = nil
	again := openDir(t, dir, Options{Embedder: e})
	for name, id := range known {
		if raw, err := again.Raw(id); err != nil || raw == nil {
			t.Errorf("Raw(%s): %v", name, err)
		}
	}
	if h, _ := again.Get(known["a/one"]); !h.Tool.FirstSeen.Equal(first.Tool.FirstSeen) {
		t.Errorf("first seen %v, was %v", h.Tool.FirstSeen, first.Tool.FirstSeen)
	}
	if m := again.Metrics(known["a/one"]); m.Total != 1 {
		t.Errorf("metrics %+v", m)
	}
	if len(e.embedded) > 0 {
		t.Errorf("vectors were made again of %q", e.embedded)
	}
}

// TestFolderReplaced has another process make the deleted folder anew.
func TestFolderReplaced(t *testing.T) {
	dir := t.TempDir()
	replace(t, openDir(t, dir, Options{}), "a", rawTool("one", "first"), rawTool("two", "second"))
	ix := openDir(t, dir, Options{Relist: func(string) { t.Error("the server was listed already") }})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	replace(t, openDir(t, dir, Options{}), "a", rawTool("one", "first"), rawTool("three", "third"))
	tick(t, ix)
	if st := ix.Status(); st.Problem != "" || st.Tools != 2 {
		t.Errorf("status %+v", st)
	}
	for name, id := range ids(ix) {
		if raw, err := ix.Raw(id); err != nil || raw == nil {
			t.Errorf("Raw(%s): %v", name, err)
		}
	}
	replace(t, ix, "a", rawTool("one", "first"))
	if again := openDir(t, dir, Options{Offline: true}); len(ids(again)) != 1 {
		t.Errorf("another process sees %v", ids(again))
	}
}

// TestStoreStaysSmall changes a catalog's texts again and again.
func TestStoreStaysSmall(t *testing.T) {
	dir := t.TempDir()
	e := newTestEmbedder("m", 256)
	ix := openDir(t, dir, Options{Embedder: e})
	var most int64
	for round := range 5 {
		var tools []json.RawMessage
		for i := range 1200 {
			tools = append(tools, rawTool(fmt.Sprint("tool_", i), fmt.Sprintf("does thing %d in round %d", i, round)))
		}
		replace(t, ix, "s", tools...)
		if err := ix.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		ix.keeper.collect(t.Context(), spareVectors+1200)
		info, err := os.Stat(ix.folder.Store.Path())
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	if most > 11<<20 {
		t.Errorf("the store grew to %d MB for 1,200 tools", most>>20)
	}
	t.Logf("at most %d MB", most>>20)
}
