package index

import (
	"encoding/json"
	"testing"
)

var watcher = []json.RawMessage{
	rawTool("create_project", "Create a project for a team, whose members follow it and post to it"),
	rawTool("find_errors", "Find errors and exceptions in the logs of a service"),
	rawTool("list_alerts", "List alert rules and the incidents that they opened"),
	rawTool("get_trace", "Get the spans of a trace, with their latency and errors"),
	rawTool("get_uptime", "Get uptime and other metrics of a monitor"),
}

func categoryOf(t *testing.T, ix *Index, name string) string {
	t.Helper()
	hits := ix.Resolve(name, nil)
	if len(hits) != 1 {
		t.Fatalf("%d tools are called %s", len(hits), name)
	}
	return hits[0].Category
}

// TestCategoryOfAServersTool has a tool whose own words say something else
// than those of the other tools of its server.
func TestCategoryOfAServersTool(t *testing.T) {
	ix := newIndex(t, Options{}, map[string][]json.RawMessage{"alone": watcher[:1], "watch": watcher})
	if got := categoryOf(t, ix, "watch/create_project"); got != "Monitoring" {
		t.Errorf("among tools that monitor it is in %s", got)
	}
	if got := categoryOf(t, ix, "alone/create_project"); got == "Monitoring" {
		t.Errorf("alone it is in %s", got)
	}
	// A tool changes with the others of its server, and back.
	before := categoryOf(t, ix, "alone/create_project")
	replace(t, ix, "alone", watcher...)
	if got := categoryOf(t, ix, "alone/create_project"); got != "Monitoring" {
		t.Errorf("with the others it is in %s", got)
	}
	replace(t, ix, "alone", watcher[:1]...)
	if got := categoryOf(t, ix, "alone/create_project"); got != before {
		t.Errorf("alone again it is in %s, not in %s", got, before)
	}
}

// TestCategoriesAreKept opens a folder again, from what was derived and from
// what was stored.
func TestCategoriesAreKept(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		ix, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ix.Status().Tools == 0 {
			replace(t, ix, "watch", watcher...)
		}
		if got := categoryOf(t, ix, "watch/create_project"); got != "Monitoring" {
			t.Errorf("it is in %s", got)
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
