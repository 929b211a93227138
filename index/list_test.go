package index

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestListOrders(t *testing.T) {
	ix := newIndex(t, Options{}, nil)
	replace(t, ix, "b", rawTool("beta", "Send an email"), rawTool("same", "Send a message to a chat channel"))
	replace(t, ix, "a", rawTool("same", "Read a file from a folder"), rawTool("alpha", "Frobnicate"))
	id := func(server, name string) string { return Tool{Server: server, Name: name}.ID() }
	ix.Record(id("b", "same"), true, time.Second)
	ix.Record(id("b", "same"), false, time.Second)
	ix.Record(id("a", "alpha"), true, time.Second)
	for _, c := range []struct {
		listing Listing
		want    string
	}{
		{Listing{}, "a/alpha b/beta a/same b/same "},
		{Listing{Descending: true}, "a/same b/same b/beta a/alpha "},
		{Listing{Sort: ByExecutionCount}, "a/same b/beta a/alpha b/same "},
		{Listing{Sort: ByExecutionCount, Descending: true}, "b/same a/alpha a/same b/beta "},
		{Listing{Sort: BySuccessRate}, "b/same a/alpha a/same b/beta "},
		{Listing{Sort: BySuccessRate, Descending: true}, "a/alpha b/same a/same b/beta "},
		{Listing{Sort: ByCategory}, "b/beta b/same a/alpha a/same "},
		{Listing{Offset: 1, Limit: 2}, "b/beta a/same "},
		{Listing{Offset: 3, Limit: 2}, "b/same "},
		{Listing{Offset: 9, Limit: 2}, ""},
		{Listing{Offset: -1, Limit: 1}, "a/alpha "},
	} {
		hits, total := ix.List(c.listing)
		if got := names(hits); got != c.want || total != 4 {
			t.Errorf("%+v: got %s of %d, want %s of 4", c.listing, got, total, c.want)
		}
	}
	hits, total := ix.List(Listing{Filter: Filter{Servers: []string{"A"}}, Limit: 1})
	if names(hits) != "a/alpha " || total != 2 {
		t.Errorf("filtered: got %s of %d", names(hits), total)
	}
	hits, _ = ix.List(Listing{Sort: ByCreatedAt})
	if !slices.IsSortedFunc(hits, func(a, b Hit) int { return a.Tool.FirstSeen.Compare(b.Tool.FirstSeen) }) {
		t.Error("created_at does not sort by first sight")
	}
}

func TestCategories(t *testing.T) {
	ix := newIndex(t, Options{}, nil)
	var tools []Tool
	for _, raw := range []json.RawMessage{
		rawTool("read_file", "Read a file from a folder"),
		rawTool("write_file", "Write a file to a directory path"),
		rawTool("send_email", "Send an email message"),
		json.RawMessage(`{"name": "own", "description": "Read a file", "_meta": {"category": "Mine"}, "inputSchema": {"type": "object"}}`),
		json.RawMessage(`{"name": "own2", "description": "Read a file", "_meta": {"category": "mine"}, "inputSchema": {"type": "object"}}`),
	} {
		tl, err := Decode("s", raw)
		if err != nil {
			t.Fatal(err)
		}
		tl.Tags = []string{"x"}
		tools = append(tools, tl)
	}
	if _, err := ix.Replace(t.Context(), "s", tools); err != nil {
		t.Fatal(err)
	}
	replace(t, ix, "t", rawTool("frob", "Frobnicate"))
	categories, tags, servers, total := ix.Categories(Filter{})
	got := []string{}
	for _, c := range categories {
		got = append(got, c.Name)
		if known := c.Name == "File Operations" || c.Name == "Communication"; known != (c.Description != "") {
			t.Errorf("category %s: description %q", c.Name, c.Description)
		}
	}
	if diff := cmp.Diff([]string{"File Operations", "Mine", "Communication", "Other"}, got); diff != "" {
		t.Error(diff)
	}
	want := []CategoryCount{{Name: "s", Count: 5}, {Name: "t", Count: 1}}
	if diff := cmp.Diff(want, servers); diff != "" || total != 6 || tags[0].Count != 5 {
		t.Errorf("servers %v, tags %v, total %d", servers, tags, total)
	}
	if hits, _ := ix.List(Listing{Filter: Filter{Categories: []string{"MINE"}}}); names(hits) != "s/own s/own2 " {
		t.Errorf("category filter gives %s", names(hits))
	}
}

func TestSimilar(t *testing.T) {
	same := rawTool("read_file", "Read the contents of a file", "path", "encoding")
	ix := newIndex(t, Options{}, map[string][]json.RawMessage{
		"one":   {same, rawTool("write_file", "Write contents to a file", "path", "contents")},
		"two":   {same},
		"three": {rawTool("read_file", "read the  Contents of a FILE", "path", "encoding")},
		"four":  {rawTool("write_file", "Write contents to a file", "path", "contents"), rawTool("send_mail", "Send mail", "to")},
	})
	id := Tool{Server: "one", Name: "read_file"}.ID()
	for _, vectors := range []bool{false, true} {
		if vectors {
			attach(t, ix, wordEmbedder{16})
		}
		got, err := ix.Similar(t.Context(), id, Filter{}, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 {
			t.Fatalf("%d rows, want 2: %v", len(got), got)
		}
		twin := []string{got[0].Tool.QualifiedName()}
		twin = append(twin, got[0].Homes...)
		slices.Sort(twin)
		if diff := cmp.Diff([]string{"three/read_file", "two/read_file"}, twin); diff != "" || got[0].Reason != "same text" {
			t.Errorf("twins: %s, reason %q", diff, got[0].Reason)
		}
		if got[1].Tool.Name != "write_file" || len(got[1].Homes) != 1 ||
			got[1].Reason != "shares inputs path; words file; category File Operations" {
			t.Errorf("second row %s %v, reason %q", got[1].Tool.QualifiedName(), got[1].Homes, got[1].Reason)
		}
		if got[0].Score < got[1].Score || got[1].Score <= 0 || got[0].Score > 1 {
			t.Errorf("scores %v, %v", got[0].Score, got[1].Score)
		}
	}
	got, err := ix.Similar(t.Context(), id, Filter{Servers: []string{"four"}}, 9)
	if err != nil || len(got) == 0 || got[0].Tool.Server != "four" || len(got[0].Homes) > 0 {
		t.Errorf("filtered: %v, %v", got, err)
	}
	if _, err := ix.Similar(t.Context(), "nothing", Filter{}, 9); err == nil {
		t.Error("an unknown tool has neighbors")
	}
	if _, err := ix.Similar(t.Context(), id, Filter{}, -1); err == nil {
		t.Error("a negative limit is accepted")
	}
}

// More near-duplicates than any first guess at how many rows to look at.
func TestSimilarLooksBeyondDuplicates(t *testing.T) {
	catalog := map[string][]json.RawMessage{}
	for i := range 200 {
		catalog[string(rune('a'+i%26))+strings.Repeat("x", i/26)] = []json.RawMessage{rawTool("read_file", "Read a file")}
	}
	catalog["other"] = []json.RawMessage{rawTool("write_file", "Write a file"), rawTool("copy_file", "Copy a file")}
	ix := newIndex(t, Options{}, catalog)
	got, err := ix.Similar(t.Context(), Tool{Server: "a", Name: "read_file"}.ID(), Filter{}, 3)
	if err != nil || len(got) != 3 || len(got[0].Homes) != 198 {
		t.Fatalf("%d rows, error %v", len(got), err)
	}
}

func TestDumpIsComplete(t *testing.T) {
	ix := small(t)
	var b bytes.Buffer
	if err := ix.Dump(&b); err != nil {
		t.Fatal(err)
	}
	var d dump
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	want := dumpedTool{
		ID: Tool{Server: "files", Name: "search"}.ID(), Tool: "files/search", Category: "File Operations",
		Lengths: map[string]uint32{"name": 1, "title": 0, "description": 3, "server": 1, "params": 1, "param_text": 1, "phrases": 0},
		Terms: map[string]map[string]int{
			"name":        {"search": 1},
			"description": {"find": 1, "file": 1, "name": 1},
			"server":      {"file": 1},
			"params":      {"pattern": 1},
			"param_text":  {"pattern": 1},
		},
	}
	i := slices.IndexFunc(d.Tools, func(t dumpedTool) bool { return t.Tool == "files/search" })
	if i < 0 {
		t.Fatal("files/search is not dumped")
	}
	if diff := cmp.Diff(want, d.Tools[i]); diff != "" || d.N != 4 || d.DF["file"] != 2 {
		t.Errorf("n %d, df(file) %d: %s", d.N, d.DF["file"], diff)
	}
}
