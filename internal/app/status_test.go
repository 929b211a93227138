package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/config"
)

// A listing is stale once another one is overdue, in whatever process it was
// made.
func TestStaleListings(t *testing.T) {
	cfg := &config.Config{Servers: []config.Server{
		{Spec: mcp.Spec{Name: "program", Command: "x"}},
		{Spec: mcp.Spec{Name: "kept", Command: "x", Eager: true}},
		{Spec: mcp.Spec{Name: "remote", URL: "http://127.0.0.1:1"}},
		{Spec: mcp.Spec{Name: "weekly", URL: "http://127.0.0.1:1", Refresh: 7 * 24 * time.Hour}},
	}}
	now := time.Now()
	var st index.Status
	for _, name := range []string{"gone", "kept", "program", "remote", "weekly"} {
		st.Servers = append(st.Servers, index.ServerStatus{Name: name, Listed: now.Add(-time.Hour)})
	}
	stale := func(at time.Time) string {
		var names []string
		for _, s := range storedStatus(st, cfg, at).Servers {
			if s.Stale {
				names = append(names, s.Name)
			}
		}
		return fmt.Sprint(names)
	}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, "[gone kept remote]"}, {-50 * time.Minute, "[gone]"}, {24 * time.Hour, "[gone kept program remote]"}} {
		if got := stale(now.Add(c.after)); got != c.want {
			t.Errorf("%v later: stale are %s, want %s", c.after, got, c.want)
		}
	}
	st.Servers[1].Listed = time.Time{}
	if got := stale(now.Add(-time.Hour)); got != "[kept]" {
		t.Errorf("just listed, or never: stale are %s", got)
	}
}
