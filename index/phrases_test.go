package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/store"
)

// mailTools are three tools of which none says what people say.
func mailTools(t testing.TB) []Tool {
	t.Helper()
	var all []Tool
	for _, raw := range []string{
		`{"name":"dispatch_message","description":"Dispatches a message to a recipient."}`,
		`{"name":"list_folders","description":"Enumerates mailbox folders."}`,
		`{"name":"purge","description":"Purges expired items."}`,
	} {
		tl, err := Decode("post", json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tl)
	}
	return all
}

func openMail(t testing.TB, dir string, o Options) *Index {
	t.Helper()
	ix, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	return ix
}

func stockMail(t testing.TB, ix *Index) map[string]string {
	t.Helper()
	if _, err := ix.Replace(t.Context(), "post", mailTools(t)); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, tl := range mailTools(t) {
		ids[tl.Name] = tl.ID()
	}
	return ids
}

func of(t testing.TB, ix *Index, id string) ToolPhrases {
	t.Helper()
	p, ok := ix.Phrases().Of(id)
	if !ok {
		t.Fatalf("tool %s is not in the catalog", id)
	}
	return p
}

// found is the name of the first tool for a query, "" without one.
func found(t testing.TB, ix *Index, query string) string {
	t.Helper()
	res, err := ix.Search(t.Context(), Query{Text: query, Mode: Keyword})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Hits) == 0 {
		return ""
	}
	return res.Hits[0].Tool.Name
}

func add(t testing.TB, ix *Index, id string, source phrase.Source, said ...string) int {
	t.Helper()
	var list []phrase.Phrase
	for _, s := range said {
		list = append(list, phrase.Phrase{Text: s, Source: source})
	}
	n, err := ix.Phrases().Add(t.Context(), map[string][]phrase.Phrase{id: list})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What is added is searched at once, in every process, and after all of them
// ended; what is removed is not.
func TestPhrases(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		ix := openMail(t, dir, Options{})
		ids := stockMail(t, ix)
		if got := found(t, ix, "shoot off an email"); got != "" {
			t.Fatalf("%s is found without phrases", got)
		}
		id := ids["dispatch_message"]
		if n := add(t, ix, id, phrase.Import, "shoot off an email", "Shoot off an EMAIL."); n != 1 {
			t.Errorf("%d phrases are new", n)
		}
		if got := found(t, ix, "shoot off an email"); got != "dispatch_message" {
			t.Errorf("%q is found", got)
		}
		if dir != "" {
			other := openMail(t, dir, Options{})
			if got := found(t, other, "shoot off an email"); got != "dispatch_message" {
				t.Errorf("another process finds %q", got)
			}
			add(t, other, ids["purge"], phrase.Import, "tidy up old stuff")
			ix.catalog.Poll(t.Context())
			if got := found(t, ix, "tidy up"); got != "purge" {
				t.Errorf("what another process added is not searched: %q", got)
			}
			stockMail(t, other) // the same list: nothing is lost by it
			if got := found(t, other, "tidy up"); got != "purge" {
				t.Errorf("after the server was listed again: %q", got)
			}
		}
		n, err := ix.Phrases().Remove(t.Context(), func(p phrase.Phrase) bool { return strings.HasPrefix(p.Text, "shoot") }, id)
		if n != 1 || err != nil {
			t.Errorf("%d removed, %v", n, err)
		}
		if got := found(t, ix, "shoot off an email"); got != "" {
			t.Errorf("%s is found by a phrase that was removed", got)
		}
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Opening a folder finds the phrases again, whether or not what is derived
// was saved with them.
func TestPhrasesAfterOpening(t *testing.T) {
	dir := t.TempDir()
	ix := openMail(t, dir, Options{})
	ids := stockMail(t, ix)
	add(t, ix, ids["purge"], phrase.Model, "tidy up old stuff")
	for range 2 {
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
		ix = openMail(t, dir, Options{})
		if got := found(t, ix, "tidy up"); got != "purge" {
			t.Errorf("%q is found", got)
		}
	}
	offline := openMail(t, dir, Options{Offline: true})
	if got := found(t, offline, "tidy up"); got != "purge" {
		t.Errorf("offline %q is found", got)
	}
	if _, err := offline.Phrases().Add(t.Context(), map[string][]phrase.Phrase{ids["purge"]: {{Text: "x", Source: phrase.Import}}}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("an index that only reads took a phrase: %v", err)
	}
}

// A tool whose text changed keeps its phrases, marked stale, and one that
// went and came back finds them again.
func TestStalePhrases(t *testing.T) {
	dir := t.TempDir()
	ix := openMail(t, dir, Options{})
	ids := stockMail(t, ix)
	add(t, ix, ids["purge"], phrase.Model, "tidy up old stuff")
	tools := mailTools(t)
	tools[2].Description = "Deletes what is out of date."
	if _, err := ix.Replace(t.Context(), "post", tools); err != nil {
		t.Fatal(err)
	}
	if p := of(t, ix, ids["purge"]); len(p.Phrases) != 1 || !p.Phrases[0].Stale || p.Counted != 1 {
		t.Errorf("%+v", p)
	}
	if got := found(t, ix, "tidy up"); got != "purge" {
		t.Errorf("%q is found", got)
	}
	if _, err := ix.Phrases().Replace(t.Context(), phrase.Model, map[string][]phrase.Phrase{ids["purge"]: {{Text: "clear out", Source: phrase.Model}}}); err != nil {
		t.Fatal(err)
	}
	if p := of(t, ix, ids["purge"]); len(p.Phrases) != 1 || p.Phrases[0].Stale || p.Phrases[0].Text != "clear out" {
		t.Errorf("%+v", p)
	}
	if _, err := ix.Replace(t.Context(), "post", tools[:2]); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Replace(t.Context(), "post", tools); err != nil {
		t.Fatal(err)
	}
	if got := found(t, ix, "clear out"); got != "purge" {
		t.Errorf("%q is found after it came back", got)
	}
}

type packOf map[string]string

func (p packOf) Identity() (sum uint64) {
	for name, text := range p {
		sum += uint64(crc32.ChecksumIEEE([]byte(name + "\x00" + text)))
	}
	return sum
}

func (p packOf) Find(name, _ string) []phrase.Phrase {
	if text, ok := p[name]; ok {
		return []phrase.Phrase{{Text: text, Source: phrase.Pack}}
	}
	return nil
}

// A knowing packer has five phrases for every tool.
type knowing struct {
	id    uint64
	asked atomic.Int64
}

func (k *knowing) Identity() uint64 { return k.id }

func (k *knowing) Find(name, description string) (all []phrase.Phrase) {
	k.asked.Add(1)
	for i := range 5 {
		words := strings.Fields(description)
		all = append(all, phrase.Phrase{Text: fmt.Sprint(strings.Join(words[:min(i+3, len(words))], " "), " for ", name), Source: phrase.Pack})
	}
	return all
}

// Opening a folder asks the pack for nothing that it was asked before, and
// finds by it all the same; another pack is asked.
func TestPackAfterOpening(t *testing.T) {
	dir := t.TempDir()
	o := Options{Pack: &knowing{}}
	ix := openMail(t, dir, o)
	ids := stockMail(t, ix)
	want := of(t, ix, ids["purge"])
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	again := &knowing{}
	ix = openMail(t, dir, Options{Pack: again})
	r, err := ix.Search(t.Context(), Query{Text: "items for purge", Mode: Keyword})
	if err != nil || len(r.Hits) == 0 || r.Hits[0].Tool.Name != "purge" {
		t.Errorf("%+v, %v", r.Hits, err)
	}
	if n := again.asked.Load(); n > 0 {
		t.Errorf("the pack was asked %d times", n)
	}
	if diff := cmp.Diff(want, of(t, ix, ids["purge"])); diff != "" {
		t.Error(diff)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	other := &knowing{id: 1}
	openMail(t, dir, Options{Pack: other})
	if n := other.asked.Load(); n != 3 {
		t.Errorf("another pack was asked %d times", n)
	}
}

// A server that is reached with another token, or goes by another name, keeps
// the phrases of those of its tools that are as they were; one that shares
// nothing but a tool's name gets none, and what was forgotten stays so.
func TestPhrasesTakenOver(t *testing.T) {
	dir := t.TempDir()
	o := Options{Sources: map[string]string{"post": "token 1"}}
	ix := openMail(t, dir, o)
	ids := stockMail(t, ix)
	add(t, ix, ids["purge"], phrase.Model, "tidy up old stuff")
	add(t, ix, ids["list_folders"], phrase.Use, "which boxes are there")
	stock := func(server string, edit func(*Tool)) {
		t.Helper()
		tools := mailTools(t)
		for i := range tools {
			tools[i].Server = server
			edit(&tools[i])
		}
		if _, err := ix.Replace(t.Context(), server, tools); err != nil {
			t.Fatal(err)
		}
	}
	same := func(*Tool) {}
	sources := func(s map[string]string) {
		t.Helper()
		if err := ix.SetSources(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	sources(map[string]string{"post": "token 2"})
	stock("post", func(tl *Tool) {
		if tl.Name == "list_folders" {
			tl.Description = "Counts the mailbox folders."
		}
	})
	if p := of(t, ix, ids["purge"]); len(p.Phrases) != 1 || p.Phrases[0].Stale || found(t, ix, "tidy up") != "purge" {
		t.Errorf("with another token: %+v", p)
	}
	if p := of(t, ix, ids["list_folders"]); len(p.Phrases) > 0 {
		t.Errorf("written for another text: %+v", p)
	}
	sources(map[string]string{"mail": "token 2", "other": "elsewhere"})
	stock("mail", same)
	stock("other", same)
	renamed := ix.Resolve("mail/purge", nil)[0].ID
	if p := of(t, ix, renamed); len(p.Phrases) != 1 || p.Phrases[0].Stale {
		t.Errorf("under another name: %+v", p)
	}
	if p := of(t, ix, ix.Resolve("other/purge", nil)[0].ID); len(p.Phrases) > 0 {
		t.Errorf("another server: %+v", p)
	}
	if n, err := ix.Phrases().Remove(t.Context(), func(phrase.Phrase) bool { return true }); n != 1 || err != nil {
		t.Errorf("%d forgotten, %v", n, err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	ix = openMail(t, dir, Options{Sources: map[string]string{"mail": "token 2"}})
	stock("mail", same)
	if p := of(t, ix, renamed); len(p.Phrases) > 0 {
		t.Errorf("forgotten, and back: %+v", p)
	}
}

// Phrases of a tool that is gone can be forgotten with all others.
func TestForgetOfToolsThatAreGone(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		ix := openMail(t, dir, Options{})
		ids := stockMail(t, ix)
		add(t, ix, ids["purge"], phrase.Use, "tidy up old stuff")
		add(t, ix, ids["list_folders"], phrase.Use, "which boxes are there")
		if _, err := ix.Replace(t.Context(), "post", mailTools(t)[:2]); err != nil {
			t.Fatal(err)
		}
		if n, err := ix.Phrases().Remove(t.Context(), func(phrase.Phrase) bool { return true }); n != 2 || err != nil {
			t.Errorf("%d forgotten, %v", n, err)
		}
		stockMail(t, ix)
		if p := of(t, ix, ids["purge"]); len(p.Phrases) > 0 {
			t.Errorf("the tool came back with %+v", p)
		}
	}
}

// The sources stand in their order, and each is told from the others.
func TestPhraseSources(t *testing.T) {
	dir := t.TempDir()
	o := Options{Pack: packOf{"purge": "packed words"}}
	ix := openMail(t, dir, o)
	tools := mailTools(t)
	tools[2].Phrases = []string{"configured words"}
	if _, err := ix.Replace(t.Context(), "post", tools); err != nil {
		t.Fatal(err)
	}
	id := tools[2].ID()
	add(t, ix, id, phrase.Use, "uttered words")
	add(t, ix, id, phrase.Import, "imported words", "packed words")
	add(t, ix, id, phrase.Model, "model words")
	want := []string{"configured words", "packed words", "model words", "imported words", "uttered words"}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	ix = openMail(t, dir, o)
	if diff := cmp.Diff(want, phrase.Texts(of(t, ix, id).Phrases)); diff != "" {
		t.Error(diff)
	}
	for _, w := range want {
		if got := found(t, ix, strings.Fields(w)[0]); got != "purge" {
			t.Errorf("%s: %q is found", w, got)
		}
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	ix = openMail(t, dir, Options{}) // without the pack
	if got := found(t, ix, "packed"); got != "purge" {
		t.Errorf("the import of the same phrase does not count: %q", got)
	}
}

// At most twelve count, whatever a source has; with none everything is as it
// was.
func TestPhraseBounds(t *testing.T) {
	plain, said := openMail(t, "", Options{}), openMail(t, "", Options{})
	ids := stockMail(t, plain)
	stockMail(t, said)
	var many []string
	for _, w := range strings.Fields("a b c d e f g h i j k l m n o p q r") {
		many = append(many, w+w+w+" thing")
	}
	add(t, said, ids["purge"], phrase.Import, many...)
	if p := of(t, said, ids["purge"]); p.Counted != phrase.Most || len(p.Phrases) != len(many) {
		t.Errorf("%d of %d count", p.Counted, len(p.Phrases))
	}
	if found(t, said, "lll") != "purge" || found(t, said, "mmm") != "" {
		t.Error("others than the first twelve count")
	}
	if _, err := said.Phrases().Remove(t.Context(), func(phrase.Phrase) bool { return true }); err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := errors.Join(plain.Dump(&a), said.Dump(&b)); err != nil {
		t.Fatal(err)
	}
	strip := func(s string) string { return s[strings.Index(s, `"params"`):] } // behind the generation
	if diff := cmp.Diff(strip(a.String()), strip(b.String())); diff != "" {
		t.Error(diff)
	}
}

func TestPhraseErrors(t *testing.T) {
	ix := openMail(t, t.TempDir(), Options{})
	ids := stockMail(t, ix)
	_, err := ix.Phrases().Add(t.Context(), map[string][]phrase.Phrase{
		ids["purge"]: {{Text: "tidy up", Source: phrase.Import}}, "ffffffffffff": {{Text: "x", Source: phrase.Import}},
	})
	if err == nil || !strings.Contains(err.Error(), "ffffffffffff: not in the catalog") {
		t.Errorf("an unknown tool: %v", err)
	}
	if got := found(t, ix, "tidy"); got != "" {
		t.Error("half of a change is done")
	}
	_, err = ix.Phrases().Add(t.Context(), map[string][]phrase.Phrase{ids["purge"]: {{Text: "x", Source: phrase.Pack}}})
	if err == nil || !strings.Contains(err.Error(), "post/purge") {
		t.Errorf("a phrase of the pack is stored: %v", err)
	}
}

// A flooding pack gives the tools of a flooding server many long phrases that
// say what a rival's one phrase says.
type flooding struct{ phrases, bytes int }

func (flooding) Identity() uint64 { return 7 }

func (f flooding) Find(name, _ string) (all []phrase.Phrase) {
	if !strings.HasPrefix(name, "flood") {
		return []phrase.Phrase{{Text: "shoot off an email", Source: phrase.Pack}}
	}
	for i := range f.phrases {
		text := fmt.Sprintf("number%d %s", i, strings.Repeat("shoot off an email ", 300))[:f.bytes]
		all = append(all, phrase.Phrase{Text: text[:strings.LastIndex(text, " ")], Source: phrase.Pack})
	}
	return all
}

// flooded searches a catalog in which three rivals have one tool with one phrase each.
func flooded(t *testing.T, mode Mode, tools int, f flooding) *Results {
	catalog := map[string][]json.RawMessage{}
	for _, s := range []string{"a", "b", "c"} {
		catalog[s] = []json.RawMessage{rawTool("dispatch", "Hand a message over")}
	}
	for i := range tools {
		catalog["flood"] = append(catalog["flood"], rawTool(fmt.Sprint("flood_", i), "Hand a message over"))
	}
	ix := newIndex(t, Options{Pack: f, Embedder: wordEmbedder{64}}, catalog)
	if err := ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return mustSearch(t, ix, Query{Text: "shoot off an email", Mode: mode, Limit: 100})
}

// Phrases must not pay a server that floods the catalog: more than twelve of a
// tool, more than 120 bytes and words said again gain it nothing, and hundreds
// of such tools neither pass a rival with one phrase nor devalue its words.
func TestFloodingPhrases(t *testing.T) {
	of := func(res *Results, server string) float64 {
		for _, h := range res.Hits {
			if h.Tool.Server == server {
				return h.Score
			}
		}
		t.Fatalf("no tool of %s in %d rows", server, len(res.Hits))
		return 0
	}
	within, beyond := flooding{phrase.Most, phrase.MaxBytes + 1}, flooding{300, 5000}
	for _, mode := range []Mode{Keyword, Hybrid} {
		if a, b := of(flooded(t, mode, 30, within), "flood"), of(flooded(t, mode, 30, beyond), "flood"); a != b {
			t.Errorf("%s: twelve phrases of 120 bytes score %v, 300 of 5,000 bytes %v", mode, a, b)
		}
		alone, res := of(flooded(t, mode, 1, within), "a"), flooded(t, mode, 100, beyond)
		if rival := of(res, "a"); rival < .8*alone || mode == Keyword && rival < of(res, "flood") {
			t.Errorf("%s: the rival's score falls from %v to %v, the flood has %v", mode, alone, rival, of(res, "flood"))
		}
	}
}
