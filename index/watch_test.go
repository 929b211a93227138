package index

import (
	"slices"
	"testing"
)

// Whoever watches is told when other tools are searched, and may tell by the
// state whether there are.
func TestWatch(t *testing.T) {
	ix := openDir(t, "", Options{})
	told := make(chan struct{}, 100)
	stop := ix.Watch(func() { told <- struct{}{} })
	_, before := ix.Entries(nil)
	replace := func(names ...string) {
		var tools []Tool
		for _, n := range names {
			tools = append(tools, Tool{Name: n, Server: "a"})
		}
		if _, err := ix.Replace(t.Context(), "a", tools); err != nil {
			t.Fatal(err)
		}
	}
	replace("one", "two", "hidden")
	<-told
	scope := NewScope(func(t *Tool) bool { return t.Name != "hidden" })
	entries, state := ix.Entries(scope)
	var names []string
	for _, e := range entries {
		names = append(names, e.Tool.Name)
		if h, ok := ix.Get(e.ID); !ok || h.Tool.Name != e.Tool.Name {
			t.Errorf("%s is not %s", e.ID, e.Tool.Name)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("the scope shows %v", names)
	}
	if state == before || state != ix.State() {
		t.Error("the state does not tell whether the tools are the same")
	}
	if err := ix.SetParams(DefaultParams()); err != nil {
		t.Fatal(err)
	}
	if state != ix.State() {
		t.Error("other parameters make another state of the same tools")
	}
	stop()
	replace("three")
	if state == ix.State() || len(told) > 0 {
		t.Error("a watcher that has stopped is told, or the state is the same for other tools")
	}
}
