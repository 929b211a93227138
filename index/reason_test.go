package index

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestReason asks what two tools of a server share, among tools that all
// have an input and a word.
func TestReason(t *testing.T) {
	gizmos := []json.RawMessage{
		rawTool("setGizmoTray", "Set the tray of a gizmo that takes letterhead", "tenant", "gizmo", "tray", "page"),
		rawTool("getGizmoTray", "Get the letterhead tray of a gizmo", "tenant", "page", "tray"),
		rawTool("restartGizmo", "Restart a gizmo", "tenant"),
		rawTool("gizmo_help", "Explain a gizmo", "tenant"),
		rawTool("gizmo_prices", "Prices of a gizmo", "tenant"),
	}
	catalog := map[string][]json.RawMessage{"craft": gizmos}
	for i := range 10 { // trayless tools of every kind
		var tools []json.RawMessage
		for j := range 6 {
			tools = append(tools, rawTool(fmt.Sprintf("tool%c%c", 'a'+i, 'a'+j), strings.Repeat("word ", j), "name", fmt.Sprint("in", i, j)))
		}
		catalog[fmt.Sprint("other", i)] = tools
	}
	ix := newIndex(t, Options{}, catalog)
	tests := []struct{ from, to, want string }{
		{"craft/setGizmoTray", "craft/getGizmoTray", "shares inputs tray; words letterhead"},
		{"craft/restartGizmo", "craft/gizmo_help", "shares inputs tenant; words gizmo"},
	}
	for _, tt := range tests {
		server, name, _ := strings.Cut(tt.from, "/")
		near, err := ix.Similar(t.Context(), Tool{Server: server, Name: name}.ID(), Filter{Servers: []string{"craft"}}, 9)
		if err != nil {
			t.Fatal(err)
		}
		met := false
		for _, n := range near {
			if n.Tool.QualifiedName() == tt.to {
				met = true
				if got, _, _ := strings.Cut(n.Reason, "; category"); got != tt.want {
					t.Errorf("%s and %s: %s, want %s", tt.from, tt.to, got, tt.want)
				}
			}
		}
		if !met {
			t.Errorf("%s is not among %v", tt.to, near)
		}
	}
}
