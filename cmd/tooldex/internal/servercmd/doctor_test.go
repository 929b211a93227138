package servercmd

import (
	"strings"
	"testing"

	"github.com/tooldex/tooldex/internal/app"
)

func TestRefusedCredentialsAreNamed(t *testing.T) {
	for text, want := range map[string]bool{
		"not connected: HTTP 401 Unauthorized: no token": true, "not connected: failed to connect: Unauthorized": true, "HTTP 403 Forbidden": true,
		"HTTP 404 Not Found": false, "port 4010 is closed": false,
	} {
		f := serverFindings(app.Relisting{Server: "s", Error: text}, "mcpServers")
		if got := strings.Contains(f[0].Remedy, "other credentials"); got != want {
			t.Errorf("%s: remedy %q", text, f[0].Remedy)
		}
	}
}
