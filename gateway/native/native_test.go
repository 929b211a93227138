package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

var quiet = slog.New(slog.DiscardHandler)

// over are the tools of a gateway with the catalog, by server.
func over(t testing.TB, o gateway.Options, catalog map[string][]string) (*Tools, *gateway.Gateway) {
	t.Helper()
	g := gateway.New(gatewaytest.Open(t), gatewaytest.Done, o)
	gatewaytest.Store(t, g, catalog)
	return New(g, quiet), g
}

func TestName(t *testing.T) {
	sixty := strings.Repeat("x", 60)
	for _, tt := range []struct{ server, tool, want string }{
		{"files", "read_file", "files__read_file"},
		{"files", "read__all", "files__read__all"},
		{"Files-2", "read-file_", "Files-2__read-file_"},
		{"f", sixty + "y", "f__" + sixty + "y"},
		{"ff", sixty + "y", "ff__" + sixty[:49] + `_HASH`},
		{"io.example", "read", "io_example__read_HASH"},
		{"files", "lire é", "files__lire___HASH"},
		{"a__b", "c", "a__b__c_HASH"},
		{"a_", "c", "a___c_HASH"},
		{"a", "_c", "a___c_HASH"},
		{"a", "c_0123456789", "a__c_0123456789_HASH"},
		{"", "c", "c_HASH"},
		{"a", "", "a___HASH"},
	} {
		want := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(tt.want), "HASH", "[0-9a-f]{10}") + "$")
		if got := Name(tt.server, tt.tool); !want.MatchString(got) || len(got) > maxName {
			t.Errorf("%s/%s is %s (%d), want %s", tt.server, tt.tool, got, len(got), tt.want)
		}
	}
}

// Whatever servers and tools are called, their names are apart and clients
// take them, and one that is made to look like another's is not it.
func TestNamesAreApart(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	allowed := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	parts := []string{"_", "__", "a", "b", "é", ".", "/", "-", "_0123456789", strings.Repeat("x", 40)}
	word := func() (s string) {
		for range 1 + r.IntN(4) {
			s += parts[r.IntN(len(parts))]
		}
		return s
	}
	of := map[string][2]string{}
	try := func(server, tool string) {
		name, pair := Name(server, tool), [2]string{server, tool}
		if !allowed.MatchString(name) {
			t.Fatalf("%q is called %q", pair, name)
		}
		if other, ok := of[name]; ok && other != pair {
			t.Fatalf("%q and %q are both called %q", pair, other, name)
		}
		of[name] = pair
	}
	for range 20000 {
		server, tool := word(), word()
		try(server, tool)
		for _, name := range []string{Name(server, tool)} { // as another tool's
			for i := range len(name) - 2 {
				if name[i:i+2] == "__" {
					try(name[:i], name[i+2:])
				}
			}
		}
	}
}

// all are the objects of all pages.
func all(t *testing.T, ts *Tools, v view.View, protocol string) (objects []json.RawMessage, pages int) {
	t.Helper()
	for cursor := ""; ; pages++ {
		page, next, err := ts.Page(v, cursor, protocol)
		if err != nil {
			t.Fatal(err)
		}
		if objects = append(objects, page...); next == "" {
			return objects, pages + 1
		}
		cursor = next
	}
}

func nameOf(t *testing.T, object json.RawMessage) string {
	t.Helper()
	var o struct{ Name string }
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	return o.Name
}

// Of an object only the name is another, and what the operator says; but what
// would keep a client from reading the list is left out or mended.
func TestObjects(t *testing.T) {
	o := gateway.Options{Servers: map[string]gateway.Server{"s": {Tools: map[string]gateway.Override{
		"b": {Description: "The \"operator's\" <words>."}, "c": {Description: "More."}, "h": {Hidden: true},
	}}}}
	list := []string{
		`{ "title" : "A <a>", "x":1.50,"name":"a\u0061","description":"d","inputSchema":{"type":"object", "properties":{"p":{"x":1e3}}},"_meta":{"k":[1]} }`,
		`{"name":"b","description":"theirs","inputSchema":{"type":"object"}}`,
		`{"name":"c","inputSchema":{"type":"object"}}`,
		`{"name":"d","inputSchema":null,"title":7,"annotations":[],"_meta":null,"icons":{},"outputSchema":true,"execution":"x","description":null}`,
		`{"name":"e","annotations":{"readOnlyHint":"yes"},"outputSchema":{"type":"array"}}`,
		`{"name":"f","annotations":{"readOnlyHint":true,"z":"yes"},"inputSchema":{"properties":{"a":true,"b":false,"c":{}},"required":"a"}}`,
		`{"name":"g","inputSchema":{"type":"object","properties":[],"required":["a",1]}}`,
		`{"name":"h"}`,
		`{"name":"i","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}}`,
	}
	ts, _ := over(t, o, map[string][]string{"s": list})
	want := []string{
		`{ "title" : "A <a>", "x":1.50,"name":"s__aa","description":"d","inputSchema":{"type":"object", "properties":{"p":{"x":1e3}}},"_meta":{"k":[1]} }`,
		`{"name":"s__b","description":"The \"operator's\" <words>.","inputSchema":{"type":"object"}}`,
		`{"name":"s__c","inputSchema":{"type":"object"},"description":"More."}`,
		`{"name":"s__d","inputSchema":{"type":"object"}}`,
		`{"name":"s__e","inputSchema":{"type":"object"}}`,
		`{"name":"s__f","annotations":{"readOnlyHint":true,"z":"yes"},"inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{}}}}`,
		`{"name":"s__g","inputSchema":{"type":"object"}}`,
	}
	check := func(protocol string) {
		t.Helper()
		got, _ := all(t, ts, view.View{}, protocol)
		for i, o := range got {
			if i < len(want) && string(o) != want[i] {
				t.Errorf("%s: %s\nis     %s,\nwant   %s", protocol, list[i], o, want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d tools are listed, want %d: none that is hidden or cannot run", len(got), len(want))
		}
	}
	check("2025-11-25")
	want[4] = `{"name":"s__e","outputSchema":{"type":"array"},"inputSchema":{"type":"object"}}`
	check(gateway.StatelessEra)
}

// many are so many tools of each of the servers.
func many(servers, tools int) map[string][]string {
	out := map[string][]string{}
	for s := range servers {
		name := fmt.Sprintf("server-%02d", s)
		for i := range tools {
			out[name] = append(out[name], fmt.Sprintf(`{"name":"tool_%04d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("word ", 20)))
		}
	}
	return out
}

// Ten thousand tools come in pages, each once and in order of name, the same
// every time.
func TestTenThousand(t *testing.T) {
	ts, _ := over(t, gateway.Options{}, many(20, 500))
	first, pages := all(t, ts, view.View{}, gateway.StatelessEra)
	again, _ := all(t, New(ts.g, quiet), view.View{}, gateway.StatelessEra)
	if len(first) != 10000 || pages != 50 {
		t.Errorf("%d tools on %d pages, want 10,000 on 50", len(first), pages)
	}
	last := ""
	for i, o := range first {
		if name := nameOf(t, o); name <= last || string(o) != string(again[i]) {
			t.Fatalf("tool %d is %s after %s, the second time %s", i, o, last, again[i])
		} else {
			last = name
		}
	}
}

// Large objects make small pages.
func TestLargeObjects(t *testing.T) {
	var list []string
	for i := range 40 {
		list = append(list, fmt.Sprintf(`{"name":"t%d","description":%q}`, i, strings.Repeat("x", 100<<10)))
	}
	ts, _ := over(t, gateway.Options{}, map[string][]string{"s": list})
	if got, pages := all(t, ts, view.View{}, ""); len(got) != 40 || pages != 4 {
		t.Errorf("%d tools of 100 KB on %d pages, want 40 on 4", len(got), pages)
	}
}

// Whatever comes and goes while a client pages, tools that stay are listed
// once each.
func TestPagingWhileTheCatalogChanges(t *testing.T) {
	ts, g := over(t, gateway.Options{}, many(4, 400))
	seen := map[string]int{}
	cursor := ""
	for page := 0; ; page++ {
		objects, next, err := ts.Page(view.View{}, cursor, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			seen[nameOf(t, o)]++
		}
		if next == "" {
			break
		}
		cursor = next
		var l upstream.Listing // one that sorts before, one after, and the tool of the cursor goes
		for i := range 400 {
			if name := fmt.Sprintf("tool_%04d", i); Name("server-01", name) != lastOf(t, objects) {
				l.Tools = append(l.Tools, json.RawMessage(fmt.Sprintf(`{"name":%q}`, name)))
			}
		}
		for _, extra := range []string{"a", "z"} {
			l.Tools = append(l.Tools, json.RawMessage(fmt.Sprintf(`{"name":"%s_%d"}`, extra, page)))
		}
		if _, err := g.Sync(t.Context(), "server-01", l); err != nil {
			t.Fatal(err)
		}
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s is listed %d times", name, n)
		}
	}
	for s := range 4 {
		for i := range 400 {
			if name := fmt.Sprintf("server-%02d__tool_%04d", s, i); seen[name] != 1 {
				t.Errorf("%s is listed %d times", name, seen[name])
			}
		}
	}
}

func lastOf(t *testing.T, objects []json.RawMessage) string {
	return nameOf(t, objects[len(objects)-1])
}

func TestCursors(t *testing.T) {
	ts, _ := over(t, gateway.Options{}, many(1, 1))
	for _, cursor := range []string{"!", "c2VydmVy=", "w6k", strings.Repeat("YWFh", 40)} {
		if _, _, err := ts.Page(view.View{}, cursor, ""); !errors.Is(err, ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// A view's list has its tools alone, in what is listed and in what is called.
func TestViews(t *testing.T) {
	ts, _ := over(t, gateway.Options{}, gatewaytest.Catalog)
	for _, v := range []view.View{gatewaytest.View, {}, {Scope: index.NewScope(func(t *index.Tool) bool { return t.Server == "files" })}} {
		var got []string
		objects, _ := all(t, ts, v, "")
		for _, o := range objects {
			got = append(got, nameOf(t, o))
		}
		for server, tools := range gatewaytest.Catalog {
			for _, raw := range tools {
				name := nameOf(t, json.RawMessage(raw))
				want := v.Scope.Sees(&index.Tool{Server: server, Name: name}) && name != "remote_schema"
				if slices.Contains(got, Name(server, name)) != want || ts.Has(v, Name(server, name)) != want {
					t.Errorf("%s/%s is listed in %v, want %t", server, name, got, want)
				}
			}
		}
	}
}
