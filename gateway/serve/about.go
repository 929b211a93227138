package serve

import (
	"fmt"
	"net/http"
)

// about tells a person who opens the address in a browser what it is for.
func (s *Server) about(w http.ResponseWriter, r *http.Request) {
	url := "http://" + r.Host + "/mcp"
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, `%s %s finds the right tool among those of many MCP servers.

/mcp      MCP clients connect here, over streamable HTTP
/healthz  says ok while the process runs
/readyz   says whether calls are taken, and how the servers are
/metrics  has figures for Prometheus

To connect a client:

Claude Code  claude mcp add --transport http tooldex %s
others       {"mcpServers": {"tooldex": {"url": %q}}}
`, s.opts.Name, s.opts.Version, url, url)
}
