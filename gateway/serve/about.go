package serve

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// about tells a person who opens the address in a browser what it is for.
// mounts lists the endpoints beside the default one.
func (s *Server) mounts() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.mounted)) {
		fmt.Fprintf(&b, "/servers/%s/mcp\n", name)
	}
	if b.Len() == 0 {
		return ""
	}
	return "Virtual servers, to connect to in place of /mcp:\n\n" + b.String() + "\n"
}

func (s *Server) about(w http.ResponseWriter, r *http.Request) {
	url := "http://" + r.Host + "/mcp"
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, `%s %s finds the right tool among those of many MCP servers.

/mcp      MCP clients connect here, over streamable HTTP
/healthz  says ok while the process runs
/readyz   says whether calls are taken, and how the servers are
/metrics  has figures for Prometheus

%sTo connect a client:

Claude Code  claude mcp add --transport http tooldex %s
others       {"mcpServers": {"tooldex": {"url": %q}}}
`, s.opts.Name, s.opts.Version, s.mounts(), url, url)
}
