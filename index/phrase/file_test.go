package phrase

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var written = []Record{
	{Tool: "post/send", Phrases: List{
		{Text: "shoot off an email", Kind: "ask", Source: Import, Time: day, Of: "0123456789abcdef"},
		{Text: "<b>メールを送る</b> & \"go\"", Kind: "local", Source: Model, Time: day.Add(time.Millisecond), Model: "llama 3"},
	}},
	{Tool: "post/purge", Phrases: List{{Text: "tidy up", Source: Use, Count: 3, Time: day}}},
}

// What is written is read as what it was, and written again as the same bytes.
func TestFiles(t *testing.T) {
	for _, format := range []Format{JSONL, TSV} {
		var first, second bytes.Buffer
		if err := Write(&first, format, written); err != nil {
			t.Fatal(err)
		}
		records, problems, err := Read(bytes.NewReader(first.Bytes()), "x")
		if len(problems) > 0 || err != nil {
			t.Fatalf("%s: %q, %v", format, problems, err)
		}
		var got, want []Phrase
		for _, r := range records {
			got = append(got, r.Phrases...)
		}
		for _, r := range written {
			want = append(want, r.Phrases...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
		if err := Write(&second, format, records); err != nil || first.String() != second.String() {
			t.Errorf("%s: %v\n%s\n%s", format, err, first.String(), second.String())
		}
	}
}

// Files that people and assistants write.
func TestReadOthers(t *testing.T) {
	want := []Record{{Line: 1, Phrases: List{{Text: "send mail", Source: Import}, {Text: "mail it", Kind: "can", Source: Import}}}}
	for _, text := range []string{
		`{"tool":"post/send","phrases":["send mail",{"kind":"can","text":" mail  it "}]}`,
		"\ufeff" + `{"server":"post","name":"send","description_sha256":"00","phrases":["send mail",{"kind":"can","text":"mail it"}],"note":1}` + "\r\n\r\n",
	} {
		got, problems, err := Read(strings.NewReader(text), "x")
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Record{}, "Tool", "Server", "Name", "DescriptionSHA")); diff != "" || len(problems) > 0 || err != nil {
			t.Errorf("%s: %q, %v: %s", text, problems, err, diff)
		}
		if got[0].Title() != "post/send" {
			t.Errorf("%q", got[0].Title())
		}
	}
	got, problems, err := Read(strings.NewReader("# mine\npost/send\tsend mail\npost/send\tmail it\tcan\n"), "x")
	if len(got) != 2 || got[1].Phrases[0].Kind != "can" || got[1].Line != 3 || len(problems) > 0 || err != nil {
		t.Errorf("%+v, %q, %v", got, problems, err)
	}
}

// Every bad line is named, with what is wrong with it.
func TestReadProblems(t *testing.T) {
	text := strings.Join([]string{
		`{"tool":"a","phrases":["fine"]}`,
		`{"tool":"a","phrases":"none"}`,
		`{"tool":"a"`,
		`{"phrases":["x"]}`,
		`{"tool":"a","phrases":["fine","` + strings.Repeat("a", 121) + `"]}`,
		`{"tool":"a","phrases":["a\u0007b"]}`,
		`{"tool":"a","phrases":[{"text":"x","source":"pack"}]}`,
		`{"tool":"a","phrases":[{"text":"x","source":"heard"}]}`,
		`{"tool":"a","phrases":[{"text":"x","kind":"odd"}]}`,
		`{"tool":"a","phrases":[{"txet":"x"}]}`,
		`{"tool":"a","phrases":[]}`,
	}, "\n")
	records, found, err := Read(strings.NewReader(text), "my.jsonl")
	if len(records) != 2 || err != nil {
		t.Errorf("%d records, %v", len(records), err)
	}
	var problems []string
	for _, p := range found {
		problems = append(problems, p.String())
	}
	for i, want := range []string{"list of texts", "no line of JSON", "names no tool", "longer than 120", "control", "not imported", `unknown source "heard"`, `unknown kind "odd"`, "txet"} {
		if i >= len(problems) || !strings.Contains(problems[i], want) || !strings.HasPrefix(problems[i], "my.jsonl:"+string("23456789"[min(i, 7)])) && i < 8 {
			t.Errorf("problem %d is not %q: %q", i, want, problems)
			break
		}
	}
	_, found, _ = Read(strings.NewReader("a\n"+"a\tb\tcan\timport\tyesterday\na\tb\t\t\t\tmany\na\tb\t\t\t\t\t\t\t\t9\n"), "my.tsv")
	if len(found) != 4 || !strings.Contains(found[0].String(), "my.tsv:1: want 2 to 8 columns") {
		t.Errorf("%q", found)
	}
}
