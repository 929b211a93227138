package stored

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain is also the other processes of the tests.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TOOLDEX_STORED_CHILD"); dir != "" {
		os.Exit(child(In(dir), os.Getenv("TOOLDEX_STORED_DIES")))
	}
	os.Exit(m.Run())
}

func create(t *testing.T, f *Folder, name, definition string) Entry {
	t.Helper()
	e, err := f.Create(name, json.RawMessage(definition))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// all are the endpoints by name, with what is wrong with them or their
// definition on one line.
func all(t *testing.T, f *Folder) map[string]string {
	t.Helper()
	entries, err := f.All()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		out[e.Name] = strings.Join(strings.Fields(string(e.Definition)), "")
		if e.Problem != nil {
			out[e.Name] = "! " + e.Problem.Error()
		}
	}
	return out
}

func TestFolder(t *testing.T) {
	state := t.TempDir()
	f := In(state)
	if got := all(t, f); len(got) != 0 {
		t.Errorf("an empty folder has %v", got)
	}
	first := create(t, f, "Finance", `{"surface": "meta"}`)
	create(t, f, "finance", `{"surface":"discover"}`) // no capitals on some systems
	create(t, f, "con", `{}`)
	if _, err := f.Create("Finance", json.RawMessage(`{}`)); !errors.Is(err, ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	second, err := f.Replace("Finance", json.RawMessage(`{"a":"\u2028<é"}`), first.Tag)
	if err != nil || second.Tag == first.Tag || !second.Created.Equal(first.Created) || !second.Changed.After(first.Changed) {
		t.Errorf("got %+v, %v after %+v", second, err, first)
	}
	if _, err := f.Replace("Finance", json.RawMessage(`{}`), first.Tag); !errors.Is(err, ErrChanged) {
		t.Errorf("replaced an unknown version: %v", err)
	}
	if err := f.Delete("Finance", first.Tag); !errors.Is(err, ErrChanged) {
		t.Errorf("deleted an unknown version: %v", err)
	}
	if err := errors.Join(f.Delete("finance", AnyVersion), f.Delete("con", AnyVersion)); err != nil {
		t.Error(err)
	}
	if _, err := f.Replace("finance", json.RawMessage(`{}`), AnyVersion); !errors.Is(err, ErrNone) {
		t.Errorf("replaced what is gone: %v", err)
	}
	// Another process of the same folder reads the same.
	if e, err := In(state).Get("Finance"); err != nil || e.Tag != second.Tag || len(all(t, In(state))) != 1 {
		t.Errorf("got %+v, %v, all %v", e, err, all(t, In(state)))
	}
}

func TestNoNameLeavesTheFolder(t *testing.T) {
	state := t.TempDir()
	f := In(state)
	for _, name := range []string{"..", ".", "../x", "a/b", `a\b`, "a%2fb"} {
		e := create(t, f, name, `{}`)
		if filepath.Dir(e.File) != filepath.Join(state, "endpoints") {
			t.Errorf("%q is kept in %s", name, e.File)
		}
		if _, there := all(t, f)[name]; !there {
			t.Errorf("%q is not among %v", name, all(t, f))
		}
	}
}

// Damage to one file concerns that endpoint alone, and is named.
func TestDamage(t *testing.T) {
	f := In(t.TempDir())
	create(t, f, "good", `{"a":1}`)
	for _, text := range []string{"", "{", `{"format":1}`, `{"format":1,"endpoint":[]}`, `{"format":7,"endpoint":{}}`, "\x00\x00\x00", strings.Repeat(" ", maxFile+1)} {
		bad := create(t, f, "bad", `{}`)
		if err := os.WriteFile(bad.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := all(t, f)
		if got["good"] != `{"a":1}` || !strings.HasPrefix(got["bad"], "! file "+bad.File+": it") {
			t.Errorf("%.20q: got %v", text, got)
		}
		// It is replaced or removed like any other.
		e, err := f.Get("bad")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Replace("bad", json.RawMessage(`{"b":2}`), e.Tag); err != nil || all(t, f)["bad"] != `{"b":2}` {
			t.Errorf("%.20q: %v, all %v", text, err, all(t, f))
		}
		if err := f.Delete("bad", AnyVersion); err != nil {
			t.Error(err)
		}
	}
}

func TestUnreadableFolder(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "endpoints"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := In(state).All(); err == nil {
		t.Errorf("got %v, want an error", got)
	}
	if _, err := In(state).Create("a", json.RawMessage(`{}`)); err == nil {
		t.Error("created an endpoint in a file")
	}
}
