package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, folder string, o Options) *Log {
	t.Helper()
	l, err := Open(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the tests that care close it
	return l
}

func mustClose(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// filled is a folder with one file of n events, and that file's path.
func filled(t *testing.T, n int) (folder, path string) {
	t.Helper()
	folder = t.TempDir()
	l := open(t, folder, Options{})
	for i := range n {
		l.Add(Event{Kind: Execute, Tool: fmt.Sprintf("s/t%d", i), Principal: "token:a"})
	}
	mustClose(t, l)
	all, err := names(folder)
	if err != nil || len(all) != 1 {
		t.Fatalf("files %v, %v, want one", all, err)
	}
	return folder, filepath.Join(folder, all[0])
}

func records(t *testing.T, folder string, f Filter) []Record {
	t.Helper()
	var out []Record
	for r, err := range Records(t.Context(), folder, f, false) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// verified is the only finding of a folder.
func verified(t *testing.T, folder string) Finding {
	t.Helper()
	found, err := Verify(folder)
	if err != nil || len(found) != 1 {
		t.Fatalf("findings %+v, %v, want one", found, err)
	}
	return found[0]
}

func TestEventsAreReadAsTheyWereAdded(t *testing.T) {
	folder := t.TempDir()
	l := open(t, folder, Options{})
	ok, ms := true, int64(12)
	at := time.Date(2026, 11, 23, 9, 0, 0, 5, time.UTC)
	want := Event{Time: at, Kind: Execute, Principal: "token:a", Endpoint: "default", Tool: "s/t", OK: &ok, Ms: &ms, Request: "3", Reason: "r"}
	want = want.WithArguments(json.RawMessage(`{"b": 1, "a": "x"}`), true)
	l.Add(want)
	mustClose(t, l)
	got := records(t, folder, Filter{Events: []string{Execute}})
	if len(got) != 1 || got[0].Seq != 2 {
		t.Fatalf("got %+v, want one record, the second", got)
	}
	want.Values = json.RawMessage(`{"b":1,"a":"x"}`) // JSON has no spaces in a line
	if !reflect.DeepEqual(got[0].Event, want) {
		t.Errorf("got %+v, want %+v", got[0].Event, want)
	}
	if !slices.Equal(want.Arguments, []string{"a", "b"}) {
		t.Errorf("arguments %v", want.Arguments)
	}
	if found := verified(t, folder); found.State != Whole || found.Records != 3 {
		t.Errorf("found %+v, want a whole file of three records", found)
	}
}

func TestArgumentsAreBounded(t *testing.T) {
	many := map[string]string{}
	for i := range 3 * mostNames {
		many[fmt.Sprintf("%03d%s", i, strings.Repeat("x", 2*longName))] = strings.Repeat("v", 1000)
	}
	raw, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	e := Event{}.WithArguments(raw, true)
	if len(e.Arguments) != mostNames || len(e.Arguments[0]) != longName || e.Values != nil {
		t.Errorf("kept %d names, the first of %d bytes, and %d bytes of values", len(e.Arguments), len(e.Arguments[0]), len(e.Values))
	}
	if e := (Event{}).WithArguments(json.RawMessage(`[1]`), true); e.Arguments != nil || e.Values != nil {
		t.Errorf("an array gave %+v", e)
	}
}

func TestFilter(t *testing.T) {
	folder := t.TempDir()
	l := open(t, folder, Options{})
	now := time.Now()
	l.Add(Event{Time: now.Add(-time.Hour), Kind: Execute, Principal: "a", Endpoint: "x"})
	l.Add(Event{Time: now, Kind: Execute, Principal: "a", Endpoint: "y"})
	l.Add(Event{Time: now, Kind: Denied, Principal: "b", Endpoint: "x"})
	mustClose(t, l)
	for _, test := range []struct {
		name string
		f    Filter
		want int
	}{
		{"all, with the first and the last line", Filter{}, 5},
		{"since", Filter{Since: now, Events: Events()}, 2},
		{"principal", Filter{Principals: []string{"a"}}, 2},
		{"endpoint", Filter{Endpoints: []string{"x"}}, 2},
		{"both", Filter{Principals: []string{"a"}, Endpoints: []string{"x"}}, 1},
		{"event", Filter{Events: []string{Denied}}, 1},
	} {
		if got := len(records(t, folder, test.f)); got != test.want {
			t.Errorf("%s: %d records, want %d", test.name, got, test.want)
		}
	}
}

// What somebody does to a file, and what Verify says of it.
func TestVerifyFindsWhatWasDone(t *testing.T) {
	lines := func(edit func([]string) []string) func(string) string {
		return func(text string) string {
			return strings.Join(edit(strings.SplitAfter(text, "\n")), "")
		}
	}
	for _, test := range []struct {
		name    string
		edit    func(string) string
		line    int
		problem string
	}{
		{"a changed word", func(s string) string { return strings.Replace(s, "s/t3", "s/t9", 1) }, 5, "it was changed"},
		{"a changed principal", func(s string) string { return strings.Replace(s, "token:a", "token:b", 1) }, 2, "it was changed"},
		{"a removed line", lines(func(l []string) []string { return slices.Delete(l, 3, 4) }), 4, "lines 4 to 4 are missing"},
		{"two lines swapped", lines(func(l []string) []string { l[3], l[4] = l[4], l[3]; return l }), 4, "lines 4 to 4 are missing"},
		{"a line twice", lines(func(l []string) []string { return slices.Insert(l, 4, l[3]) }), 5, "out of order"},
		{"the end cut", lines(func(l []string) []string { return l[:6] }), 7, "it was cut"},
		{"half of the last line cut", func(s string) string { return s[:len(s)-40] }, 12, "it was cut"},
		{"everything cut", func(string) string { return "" }, 1, "it was cut"},
		{"a line added", func(s string) string { return s + s[strings.LastIndex(s[:len(s)-1], "\n")+1:] }, 13, "follows the last one"},
		{"half a line added", func(s string) string { return s + "{" }, 13, "follows the last one"},
		{"no JSON", lines(func(l []string) []string { l[2] = "x\n"; return l }), 3, "no record"},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder, path := filled(t, 10)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(test.edit(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
			found := verified(t, folder)
			if found.State != Damaged || found.Line != test.line || !strings.Contains(found.Problem, test.problem) {
				t.Errorf("found %+v, want line %d: %s", found, test.line, test.problem)
			}
		})
	}
}

func TestVerifyFindsWhatWasDoneToFiles(t *testing.T) {
	remove := func(t *testing.T, paths ...string) {
		for _, p := range paths {
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("a file without its head", func(t *testing.T) {
		folder, path := filled(t, 3)
		remove(t, path+headSuffix)
		if found := verified(t, folder); found.State != Damaged {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("a head without its file", func(t *testing.T) {
		folder, path := filled(t, 3)
		remove(t, path)
		if found := verified(t, folder); found.State != Damaged || !strings.Contains(found.Problem, "missing") {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("a file under another name", func(t *testing.T) {
		folder, path := filled(t, 3)
		other := filepath.Join(folder, "20200101T000000Z-aaaaaaaa"+suffix)
		if err := errors.Join(os.Rename(path, other), os.Rename(path+headSuffix, other+headSuffix)); err != nil {
			t.Fatal(err)
		}
		if found := verified(t, folder); found.State != Damaged {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("a file and its head removed", func(t *testing.T) {
		folder, path := filled(t, 3)
		l := open(t, folder, Options{})
		l.Add(Event{Kind: Execute})
		mustClose(t, l)
		remove(t, path, path+headSuffix)
		found, err := Verify(folder)
		if err != nil || len(found) != 2 || found[1].State != Damaged || found[1].File != filepath.Base(path) {
			t.Errorf("found %+v, %v", found, err)
		}
	})
	t.Run("no key", func(t *testing.T) {
		folder, _ := filled(t, 3)
		remove(t, filepath.Join(folder, keyFile))
		if _, err := Verify(folder); err == nil || !strings.Contains(err.Error(), "key") {
			t.Errorf("error %v", err)
		}
	})
}

func TestVerifyOfWhatIsWritten(t *testing.T) {
	folder := t.TempDir()
	l := open(t, folder, Options{})
	if err := l.Sync(t.Context(), Event{Kind: Intent}); err != nil {
		t.Fatal(err)
	}
	if found := verified(t, folder); found.State != Writing || found.Records != 2 {
		t.Errorf("found %+v, want a file that is written", found)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := l.Sync(t.Context(), Event{Kind: Intent}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 { // while it grows
		if found := verified(t, folder); found.State != Writing {
			t.Errorf("found %+v", found)
		}
	}
	wg.Wait()
	mustClose(t, l)
	if found := verified(t, folder); found.State != Whole || found.Records != 403 {
		t.Errorf("found %+v, want all", found)
	}
	if err := l.Sync(t.Context(), Event{Kind: Intent}); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want that it is closed", err)
	}
}

// Files follow each other by size; old ones go, which is written, and neither
// is damage.
func TestFilesFollowEachOther(t *testing.T) {
	folder := t.TempDir()
	l := open(t, folder, Options{MaxBytes: 2000})
	for range 100 {
		if err := l.Sync(t.Context(), Event{Kind: Execute, Tool: "s/t"}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, l)
	all, err := names(folder)
	if err != nil || len(all) < 5 {
		t.Fatalf("files %v, %v", all, err)
	}
	if got := len(records(t, folder, Filter{Events: []string{Execute}})); got != 100 {
		t.Errorf("%d records, want 100", got)
	}
	past := time.Now().Add(-time.Hour)
	for _, name := range all[:3] {
		if err := os.Chtimes(filepath.Join(folder, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	l = open(t, folder, Options{Keep: time.Minute})
	l.Add(Event{Kind: Execute})
	mustClose(t, l)
	found, err := Verify(folder)
	if err != nil || len(found) != len(all)-3+1 {
		t.Fatalf("%d findings, %v", len(found), err)
	}
	for _, f := range found {
		if f.State != Whole {
			t.Errorf("found %+v", f)
		}
	}
	if got := records(t, folder, Filter{Events: []string{pruned}}); len(got) != 1 || !slices.Equal(got[0].Files, all[:3]) {
		t.Errorf("pruned %+v", got)
	}
}

// Two logs of one folder have a file each and one key; what they wrote is read
// in the order of time.
func TestTwoWriters(t *testing.T) {
	folder := t.TempDir()
	a, b := open(t, folder, Options{}), open(t, folder, Options{})
	base := time.Now()
	for i := range 20 {
		l := a
		if i%2 == 1 {
			l = b
		}
		l.Add(Event{Time: base.Add(time.Duration(i) * time.Millisecond), Kind: Execute, Count: i + 1})
	}
	mustClose(t, a)
	mustClose(t, b)
	for i, r := range records(t, folder, Filter{Events: []string{Execute}}) {
		if r.Count != i+1 {
			t.Fatalf("record %d is number %d", i+1, r.Count)
		}
	}
	found, err := Verify(folder)
	if err != nil || len(found) != 2 || found[0].State != Whole || found[1].State != Whole {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestFollowGoesOn(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := open(t, folder, Options{})
	add := func(n int) {
		if err := l.Sync(ctx, Event{Kind: Execute, Count: n}); err != nil {
			t.Error(err)
		}
	}
	add(1)
	n := 0
	for r, err := range Records(ctx, folder, Filter{Events: []string{Execute}}, true) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; r.Count != n {
			t.Fatalf("record %d is number %d", n, r.Count)
		}
		if n == 5 {
			cancel() // which ends the loop
			continue
		}
		add(n + 1)
	}
	if n != 5 {
		t.Errorf("%d records", n)
	}
}

// Where nothing can be written, whoever waits is told, the rest is counted,
// and it goes on as soon as it can.
func TestFolderThatCannotBeWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "audit")
	l := open(t, folder, Options{})
	away := folder + "-away"
	if err := os.Rename(folder, away); err != nil && runtime.GOOS == "windows" {
		t.Skip("a folder in use is not renamed there: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(t.Context(), Event{Kind: Intent}); err == nil {
		t.Error("an event was acknowledged that is nowhere")
	}
	if err := l.Problem(); err == nil || !strings.Contains(err.Error(), "1 events are lost") {
		t.Errorf("problem %v", err)
	}
	if err := os.Rename(away, folder); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(t.Context(), Event{Kind: Intent}); err != nil {
		t.Error(err)
	}
	mustClose(t, l)
	if got := records(t, folder, Filter{Events: []string{lost}}); len(got) != 1 || got[0].Count != 1 {
		t.Errorf("lost %+v", got)
	}
}

func TestOpenRefusesAKeyThatIsNone(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, keyFile), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder, Options{}); err == nil || !strings.Contains(err.Error(), "32 bytes") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkAdd(b *testing.B) {
	l, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l.Add(Event{Kind: Execute, Principal: "token:a", Tool: "server/tool"})
	}
	_ = l.Close() // events may be lost at this rate
}
