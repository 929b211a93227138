package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

// Resolve finds the one tool that name means, as the gateway does, which does
// not know the servers that their entries disable.
func Resolve(e *app.Engine, name string) (index.Hit, error) {
	hit, err := e.Gateway.Resolve(view.View{}, name)
	server, _, _ := strings.Cut(name, "/")
	if err != nil && slices.Contains(e.Config.Off(), server) {
		return hit, Hint(fmt.Errorf("%s: server %s is disabled", name, server), "use it again with \"tooldex enable %s\"", server)
	}
	return hit, Told(err)
}
