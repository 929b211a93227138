package phrase

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ text, want, why string }{
		{"  open a\tpull\n request ", "open a pull request", ""},
		{"ファイルを開く", "ファイルを開く", ""},
		{" \n", "", "empty"},
		{"a\x00b", "", "control"},
		{"a\u202eb", "", "control"},
		{"\xff", "", "UTF-8"},
		{strings.Repeat("a", MaxBytes+1), "", "longer than 120"},
	} {
		got, err := Clean(tt.text)
		if got != tt.want || (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("Clean(%q) = %q, %v", tt.text, got, err)
		}
	}
}

func TestClip(t *testing.T) {
	long := strings.Repeat("eleven byte ", 11)
	if got := Clip(long); len(got) > MaxBytes || !strings.HasSuffix(got, " byte") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := Clip(strings.Repeat("é", 100)); got != strings.Repeat("é", 60) {
		t.Errorf("a rune is cut: %q", got)
	}
	if got := Clip(" short  one "); got != "short one" {
		t.Errorf("%q", got)
	}
}

// What the operator wrote comes first, however late, and nothing but order
// and bounds decides.
func TestCounted(t *testing.T) {
	all := []Phrase{
		{Text: "used once", Source: Use, Count: 1, Time: day},
		{Text: "used often", Source: Use, Count: 9, Time: day},
		{Text: "stale", Source: Model, Stale: true, Time: day},
		{Text: "Send mail.", Source: Model, Time: day.Add(time.Hour)},
		{Text: "older", Source: Model, Time: day},
		{Text: "imported", Source: Import, Time: day},
		{Text: "send  MAIL", Source: Config},
		{Text: "packed", Source: Pack},
		{Text: " ", Source: Pack},
	}
	want := []string{"send MAIL", "packed", "older", "stale", "imported", "used often", "used once"}
	if diff := cmp.Diff(want, Texts(Counted(all))); diff != "" {
		t.Error(diff)
	}
	if all[0].Text != "used once" {
		t.Error("the argument is sorted")
	}
	if Counted(nil) != nil {
		t.Error("no phrases are some")
	}
}

func TestCountedBounds(t *testing.T) {
	var all []Phrase
	for i := range 40 {
		all = append(all, Phrase{Text: fmt.Sprint(i, " ", strings.Repeat("word ", 60)), Source: Import, Time: day.Add(time.Duration(i))})
	}
	counted := Counted(all)
	if len(counted) != Most {
		t.Fatalf("%d phrases count", len(counted))
	}
	for i, p := range counted {
		if len(p.Text) > MaxBytes || !strings.HasPrefix(p.Text, fmt.Sprint(i, " ")) {
			t.Errorf("phrase %d: %d bytes, %q", i, len(p.Text), p.Text)
		}
	}
}

func TestMerge(t *testing.T) {
	stored := []Phrase{
		{Text: "Send mail", Source: Import, Time: day},
		{Text: "post a letter", Source: Use, Time: day, Count: 1, By: []string{"a"}},
		{Text: "old", Source: Model, Stale: true, Of: "1"},
	}
	got, added := Merge(stored, []Phrase{
		{Text: "send mail!", Source: Model},
		{Text: "post a letter", Source: Use, Time: day.Add(time.Hour), Count: 2, By: []string{"a", "b"}},
		{Text: "old", Source: Model, Of: "2"},
		{Text: "new", Source: Model, Of: "2"},
		{Text: "new", Source: Import},
	})
	want := []Phrase{
		{Text: "old", Source: Model, Of: "2"},
		{Text: "new", Source: Model, Of: "2"},
		{Text: "Send mail", Source: Import, Time: day},
		{Text: "post a letter", Source: Use, Time: day.Add(time.Hour), Count: 3, By: []string{"a", "b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || added != 1 {
		t.Errorf("%d added: %s", added, diff)
	}
	if stored[1].Count != 1 || len(stored[1].By) != 1 {
		t.Error("what is stored is changed in place")
	}
}

// Of use the least used goes, of the others what is stale and what is old.
func TestMergeBounds(t *testing.T) {
	var use, written []Phrase
	for i := range MostStored + 5 {
		use = append(use, Phrase{Text: fmt.Sprint("use ", i), Source: Use, Count: 1 + i})
		written = append(written, Phrase{Text: fmt.Sprint("model ", i), Source: Model, Time: day.Add(time.Duration(i)), Stale: i == 24})
	}
	got, _ := Merge(use, written)
	kept := map[string]bool{}
	for _, p := range got {
		kept[p.Text] = true
	}
	if len(got) != 2*MostStored || kept["use 4"] || !kept["use 5"] || kept["model 3"] || !kept["model 4"] || kept["model 24"] {
		t.Errorf("%d phrases: %v", len(got), kept)
	}
}

func TestReplace(t *testing.T) {
	got, added := Replace([]Phrase{{Text: "a", Source: Model}, {Text: "b", Source: Import}}, Model, []Phrase{{Text: "c", Source: Model}})
	if diff := cmp.Diff([]string{"c", "b"}, Texts(got)); diff != "" || added != 1 {
		t.Errorf("%d added: %s", added, diff)
	}
}

func TestExpired(t *testing.T) {
	p := Phrase{Source: Use, Time: day}
	if p.Expired(day.Add(useLife)) || !p.Expired(day.Add(useLife+1)) || (Phrase{Source: Import, Time: day}).Expired(day.Add(2*useLife)) {
		t.Error("the age of a phrase is misjudged")
	}
}

func TestParseSource(t *testing.T) {
	for _, s := range Sources() {
		if got, err := ParseSource(string(s)); got != s || err != nil {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	if _, err := ParseSource("heard"); err == nil {
		t.Error("heard is a source")
	}
}
