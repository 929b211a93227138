package snapshot

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/tool"
)

func lettersOf(r *rand.Rand, letters string, most int) string {
	runes := []rune(letters)
	out := make([]rune, r.IntN(most+1))
	for i := range out {
		out[i] = runes[r.IntN(len(runes))]
	}
	return string(out)
}

func TestNameTable(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for _, n := range []int{0, 1, 7, 64, 1000} {
		byName := map[string][]uint32{"absent": nil}
		docs := make([]*Document, n)
		for i := range docs {
			name := lettersOf(r, "abc", 4)
			docs[i] = &Document{Tool: tool.Tool{Name: name, Server: strings.Repeat("s", i%9)}}
			byName[name] = append(byName[name], uint32(i))
		}
		table := newNameTable(docs)
		for name, want := range byName {
			if got := table.find(name); !slices.Equal(got, want) {
				t.Errorf("%d documents, %q: got %v, want %v", n, name, got, want)
			}
		}
		if n > 100 && (table.longest != 4 || table.longestServer != 8) {
			t.Errorf("longest name %d and server %d, want 4 and 8", table.longest, table.longestServer)
		}
	}
}

// labelledCatalog is a snapshot of tools with all kinds of labels, and tools
// without any.
func labelledCatalog() *Snapshot {
	var lex bm25.Lexicon
	var docs []*Document
	for i := range 60 {
		d := NewDocument(tool.Tool{
			Server: []string{"", "beta", "Alpha", "ŚERVER"}[i%4], Name: fmt.Sprint("tool", i), Category: []string{"mail", " Mail "}[i%2],
			Tags: [][]string{nil, {" Urgent"}, {"urgent", "URGENT", "new"}}[i%3], Teams: [][]string{nil, {"Ops"}}[i%2],
			Visibility: []string{"", "private", "Public"}[i%3], Integration: []string{"", "REST"}[i%2],
		}, [16]byte{}, &lex)
		docs = append(docs, d)
	}
	return New(Corpus{Docs: docs, Lexicon: lex.View(), Params: DefaultParams()})
}

func TestLabels(t *testing.T) {
	s := labelledCatalog()
	for _, c := range []struct {
		filter Filter
		want   int
	}{
		{Filter{Tags: []string{"uRGENT "}}, 40},
		{Filter{Tags: []string{"new", "urgent"}}, 40},
		{Filter{ExcludeTags: []string{"New"}}, 40},
		{Filter{Tags: []string{"urg"}}, 0},
		{Filter{Servers: []string{""}}, 15},
		{Filter{Servers: []string{"ALPHA", " beta"}}, 30},
		{Filter{Servers: []string{"śerver"}}, 15},
		{Filter{Categories: []string{"MAIL"}}, 60},
		{Filter{Visibility: []string{"public"}}, 40},
		{Filter{Visibility: []string{"private", "other"}}, 20},
		{Filter{Teams: []string{"ops"}}, 30},
		{Filter{Teams: []string{""}}, 0},
		{Filter{Integration: "mcp"}, 30},
		{Filter{Integration: "Any"}, 60},
		{Filter{Integration: "rest", Servers: []string{"Beta"}}, 15},
	} {
		if _, n := s.allowed(&c.filter); n != c.want {
			t.Errorf("%+v: %d documents, want %d", c.filter, n, c.want)
		}
	}
}

func TestServerNumbers(t *testing.T) {
	s := labelledCatalog()
	if want := []string{"Alpha", "beta", "ŚERVER"}; !slices.Equal(s.servers, want) {
		t.Fatalf("servers %v, want %v", s.servers, want)
	}
	next := uint32(len(s.servers))
	tools := make([][]uint32, len(s.servers))
	for i, d := range s.docs {
		n := s.server[i]
		if d.Tool.Server == "" {
			if n != next {
				t.Errorf("document %d has no server and number %d, want %d", i, n, next)
			}
			next++
			continue
		}
		if s.servers[n] != d.Tool.Server {
			t.Errorf("document %d of %q has the number of %q", i, d.Tool.Server, s.servers[n])
		}
		tools[n] = append(tools[n], uint32(i))
	}
	if !slices.EqualFunc(s.tools, tools, slices.Equal) {
		t.Errorf("tools %v, want %v", s.tools, tools)
	}
}

// Searches that come at once share what the first one makes.
func TestFirstUseTogether(t *testing.T) {
	s := labelledCatalog()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			f := Filter{Tags: []string{"new"}, Servers: []string{"beta"}, DescriptionContains: "x"}
			if _, n := s.allowed(&f); n != 0 || len(s.byName()) != 60 {
				t.Errorf("%d documents allowed of %d", n, len(s.byName()))
			}
		})
	}
	wg.Wait()
}
