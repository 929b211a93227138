package index

import (
	"slices"
	"testing"

	"github.com/tooldex/tooldex/index/tool"
)

// namesOf are the qualified names of the catalog.
func namesOf(ix *Index) []string {
	hits, _ := ix.List(Listing{})
	var out []string
	for _, h := range hits {
		out = append(out, h.Tool.QualifiedName())
	}
	return out
}

func wantNames(t *testing.T, ix *Index, when string, want ...string) {
	t.Helper()
	if got := namesOf(ix); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", when, got, want)
	}
}

// Servers come and go without an index being opened again; what was stored of
// one is there when it comes back, and nothing under another connection.
func TestSetSources(t *testing.T) {
	dir := t.TempDir()
	both := map[string]string{"a": "one", "b": "one"}
	ix := openDir(t, dir, Options{Sources: both})
	replace(t, ix, "a", rawTool("read", "read a file"))
	replace(t, ix, "b", rawTool("write", "write a file"))
	wantNames(t, ix, "both", "a/read", "b/write")
	for _, step := range []struct {
		when    string
		sources map[string]string
		want    []string
	}{
		{"b is gone", map[string]string{"a": "one"}, []string{"a/read"}},
		{"b is back", both, []string{"a/read", "b/write"}},
		{"a is reached otherwise", map[string]string{"a": "two", "b": "one"}, []string{"b/write"}},
		{"a is as before, c is new", map[string]string{"a": "one", "b": "one", "c": ""}, []string{"a/read", "b/write"}},
		{"none", map[string]string{}, nil},
		{"both again", both, []string{"a/read", "b/write"}},
	} {
		if err := ix.SetSources(t.Context(), step.sources); err != nil {
			t.Fatal(step.when, err)
		}
		wantNames(t, ix, step.when, step.want...)
	}
	if _, err := ix.Raw(mustOne(t, ix, "b/write")); err != nil {
		t.Error(err)
	}
}

func mustOne(t *testing.T, ix *Index, name string) string {
	t.Helper()
	hits := ix.Resolve(name, nil)
	if len(hits) != 1 {
		t.Fatalf("%s: %d hits", name, len(hits))
	}
	return hits[0].ID
}

// What is said of tools changes without a listing: hidden ones are there to
// come back, and the time of the listing stays.
func TestRelabel(t *testing.T) {
	dir := t.TempDir()
	o := Options{Sources: map[string]string{"a": ""}}
	ix := openDir(t, dir, o)
	replace(t, ix, "a", rawTool("read", "read a file"), rawTool("write", "write a file"))
	before := ix.Status().Servers[0]
	relabel := func(change func(*tool.Tool)) Diff {
		t.Helper()
		objects, err := ix.Objects(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var tools []tool.Tool
		for _, raw := range objects {
			x, err := tool.Decode("a", raw)
			if err != nil {
				t.Fatal(err)
			}
			change(&x)
			tools = append(tools, x)
		}
		d, err := ix.Relabel(t.Context(), "a", tools)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	hide := func(x *tool.Tool) { x.Hidden = x.Name == "write" }
	if d := relabel(hide); !slices.Equal(d.Changed, []string{"a/write"}) {
		t.Errorf("got %+v", d)
	}
	wantNames(t, ix, "write is hidden", "a/read")
	wantNames(t, openDir(t, dir, o), "another process", "a/read")
	if d := relabel(hide); len(d.Changed) != 0 || d.Unchanged != 2 {
		t.Errorf("the same again: %+v", d)
	}
	relabel(func(x *tool.Tool) { x.Tags = []string{"new"} })
	wantNames(t, ix, "shown again", "a/read", "a/write")
	if hits, _ := ix.List(Listing{Filter: Filter{Tags: []string{"new"}}}); len(hits) != 2 {
		t.Errorf("%d tools have the new tag", len(hits))
	}
	if after := ix.Status().Servers[0]; !after.Listed.Equal(before.Listed) {
		t.Errorf("the listing: %+v, was %+v", after, before)
	}
	if d, err := ix.Relabel(t.Context(), "never", nil); err != nil || d.Unchanged != 0 || len(ix.Status().Servers) != 1 {
		t.Errorf("a server that was never listed: %+v, %v, %+v", d, err, ix.Status().Servers)
	}
}
