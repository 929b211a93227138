package serve

import (
	"fmt"
	"net/http"
	"strings"
)

// mounts lists the endpoints beside the default one, unless who asks may be
// anybody.
func (h *Host) mounts() string {
	var b strings.Builder
	if h.opts.Guard.Enabled() {
		return "Every request needs a bearer token.\n\n"
	}
	for _, name := range h.others() {
		fmt.Fprintf(&b, "/servers/%s/mcp\n", name)
	}
	if b.Len() == 0 {
		return ""
	}
	return "Virtual servers, to connect to in place of /mcp:\n\n" + b.String() + "\n"
}

// about tells a person who opens the address in a browser what it is for.
func (h *Host) about(w http.ResponseWriter, r *http.Request) {
	url := "http://" + r.Host + "/mcp"
	if r.TLS != nil {
		url = "https://" + r.Host + "/mcp"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, `tooldex %s finds the right tool among those of many MCP servers.

/mcp      MCP clients connect here, over streamable HTTP
/healthz  says ok while the process runs
/readyz   says whether calls are taken, and how the servers are
/metrics  has figures for Prometheus

%sTo connect a client:

Claude Code  claude mcp add --transport http tooldex %s
others       {"mcpServers": {"tooldex": {"url": %q}}}
`, h.opts.Version, h.mounts(), url, url)
}
