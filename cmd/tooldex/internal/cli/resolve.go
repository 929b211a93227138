package cli

import (
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

// Resolve finds the one tool that name means.
func Resolve(e *app.Engine, name string) (index.Hit, error) {
	hits := e.Index.Resolve(name, nil)
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		server, _, _ := strings.Cut(name, "/")
		if why := e.Config.DisabledReason(server); why != "" {
			return index.Hit{}, Hint(fmt.Errorf("tool %q: server %s is disabled: %s", name, server, why), "mend mcpServers.%s in %s", server, e.Config.Path)
		}
		err := fmt.Errorf("tool %q: not in the catalog", name)
		var near []string
		for _, h := range e.Index.Suggest(name, nil, 3) {
			near = append(near, h.Tool.QualifiedName())
		}
		if len(near) > 0 {
			return index.Hit{}, Hint(err, "did you mean %s? \"tooldex tools list\" shows all", strings.Join(near, ", "))
		}
		return index.Hit{}, Hint(err, "\"tooldex tools list\" shows all tools")
	}
	var names []string
	for _, h := range hits {
		names = append(names, h.Tool.QualifiedName())
	}
	return index.Hit{}, Hint(fmt.Errorf("tool %q: ambiguous: %s", name, strings.Join(names, ", ")), "give the name with its server, such as %s", names[0])
}
