package pack

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/index/phrase"
)

const described = `Create a new branch from a branch that exists, in a repository of an organisation
	or of a user, and protect it against pushes if the caller asks for that`

func of(text string) []phrase.Phrase { return []phrase.Phrase{{Text: text, Kind: "ask"}} }

func packOf(t *testing.T, entries ...Entry) *Pack {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, "a test", entries); err != nil {
		t.Fatal(err)
	}
	p, err := Open(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func found(p interface {
	Find(name, description string) []phrase.Phrase
}, name, description string) string {
	return strings.Join(phrase.Texts(p.Find(name, description)), "|")
}

func TestFind(t *testing.T) {
	p := packOf(t,
		Entry{"create_branch", described, of("start a line of work of my own")},
		Entry{"create_branch", "Create a branch office of the bank, with an address, opening hours, a manager, and the counters that customers find there", of("open an office")},
		Entry{"list_projects", "List all projects in Sentry", of("what do we watch")},
		Entry{"search", "", of("anything")},
		Entry{"搜索", "使用必应搜索指定的关键词", of("find")})
	if p.Len() != 4 || p.Provenance() != "a test" {
		t.Errorf("%d tools of %q; want 4: one has no description to be known by", p.Len(), p.Provenance())
	}
	const branch = "start a line of work of my own"
	for _, tt := range []struct{ why, name, description, want string }{
		{"the same", "create_branch", described, branch},
		{"case and spaces", "create_branch", strings.ToUpper(strings.Join(strings.Fields(described), "\n\n")), branch},
		{"a sentence more", "create_branch", described + ". Returns the name of the branch.", branch},
		{"another name", "make_branch", described, ""},
		{"a name in another case", "Create_Branch", described, ""},
		{"another tool of the name", "create_branch", "Grow a branch on a tree of the garden, with leaves, and flowers in spring, until an apple hangs on it", ""},
		{"a short one, one word changed", "list_projects", "List all projects in GitLab", ""},
		{"a short one", "list_projects", "list all projects in sentry.", "what do we watch"},
		{"nothing to know it by", "search", "", ""},
		{"without spaces", "搜索", "使用必应搜索指定的关键词。", "find"},
	} {
		if got := found(p, tt.name, tt.description); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
		}
	}
	want := []phrase.Phrase{{Text: "what do we watch", Kind: "ask", Source: phrase.Pack}}
	if diff := gocmp.Diff(want, p.Find("list_projects", "List all projects in Sentry")); diff != "" {
		t.Error(diff)
	}
}

// Most a few thousand tools make several blocks: each is found in its own.
func TestBlocks(t *testing.T) {
	var entries []Entry
	for i := range 8000 {
		entries = append(entries, Entry{fmt.Sprint("tool", i), fmt.Sprint("does the thing ", i), []phrase.Phrase{
			{Text: fmt.Sprint("please ", i), Kind: "can"}, {Text: strings.Repeat("long ", 40)}}})
	}
	p := packOf(t, entries...)
	if len(p.ends)/4 < 2*blocksKept {
		t.Fatalf("%d blocks: too few to test what is kept of them", len(p.ends)/4)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range 8000 {
				i := (n + g*2000) % 8000 // each from elsewhere
				got := p.Find(fmt.Sprint("tool", i), fmt.Sprint("Does the thing ", i))
				if len(got) != 2 || got[0].Text != fmt.Sprint("please ", i) || got[1].Kind != "" || len(got[1].Text) > phrase.MaxBytes {
					t.Errorf("tool%d: %+v", i, got)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestDamage(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, "a test", []Entry{{"create_branch", described, of("branch off")}}); err != nil {
		t.Fatal(err)
	}
	for i := range b.Len() {
		file := bytes.Clone(b.Bytes())
		file[i] ^= 4
		p, err := Open(file)
		if i >= headerSize && err == nil {
			t.Fatalf("byte %d: a changed file is opened", i)
		}
		if err == nil { // sizes of the header: they must not lead outside
			p.Find("create_branch", described)
		}
		if _, err := Open(b.Bytes()[:i]); err == nil {
			t.Fatalf("a file cut at %d is opened", i)
		}
	}
}

func TestBuiltin(t *testing.T) {
	p := Builtin()
	if p.Len() < 10_000 || !strings.Contains(p.Provenance(), "makepack") {
		t.Errorf("%d tools, made from %q", p.Len(), p.Provenance())
	}
	if n := len(builtin); n > 2<<20 {
		t.Errorf("%d bytes, more than 2 MiB", n)
	}
	last := uint32(0)
	places := make([]record, p.Len())
	for i := range places {
		places[i] = p.record(i)
		if places[i].name < last {
			t.Fatalf("record %d is out of order", i)
		}
		last = places[i].name
	}
	slices.SortFunc(places, func(a, b record) int { return cmp.Compare(a.block, b.block) }) // each is read once
	for i, r := range places {
		all := p.phrases(int(r.block), int(r.offset))
		if len(all) == 0 || len(all) > phrase.Most {
			t.Fatalf("record %d has %d phrases", i, len(all))
		}
		for _, f := range all {
			if text, err := phrase.Clean(f.Text); err != nil || text != f.Text {
				t.Errorf("record %d: %q: %v", i, f.Text, err)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		path := filepath.Join(dir, "pack")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p, err := Load(write(`{"name":"pay","description":"Pay a bill","phrases":["settle up",{"kind":"words","text":"invoice"}]}` + "\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	ps := Packs{p, packOf(t, Entry{"pay", "Pay a bill", of("second")}, Entry{"owe", "Owe money", of("debt")})}
	if got := found(ps, "pay", "pay a bill"); got != "settle up|invoice" {
		t.Errorf("pay: %q", got)
	}
	if got := found(ps, "owe", "owe money"); got != "debt" || ps.Len() != 3 {
		t.Errorf("owe: %q of %d tools", got, ps.Len())
	}
	if p, err := Load("pack.bin"); err != nil || p.Len() != Builtin().Len() {
		t.Errorf("the shipped file: %v", err)
	}
	for text, want := range map[string]string{
		"":     "no tool in it",
		"hi\n": "pack:1: want an object",
		"{\"name\":\"a\",\"description\":\"b\",\"phrases\":[\"x\"]}\n{\"name\":\"a\",\"phrases\":[\"x\"]}": `pack:2: tool "a": name, description and phrases`,
		`{"name":"a","description":"b","phrases":["x",3]}`:                                                 `tool "a": phrase 2: want a text`,
		`{"name":"a","description":"b","phrases":["x\u0000"]}`:                                             "control characters",
		magic + "0123456789012345678901234567890123456789":                                                 "damaged",
	} {
		if _, err := Load(write(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%q: %v, want %q and the file's name", text, err, want)
		}
	}
	if _, err := Load(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("no file: %v", err)
	}
}

func BenchmarkFind(b *testing.B) {
	p := Builtin()
	b.Run("unknown", func(b *testing.B) {
		for b.Loop() {
			p.Find("no_tool_of_this_name", described)
		}
	})
	b.Run("other of the name", func(b *testing.B) {
		for b.Loop() {
			p.Find("create_branch", described)
		}
	})
}
