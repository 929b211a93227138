package cli

import (
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

// Resolve finds the one tool that name means, as the gateway does.
func Resolve(e *app.Engine, name string) (index.Hit, error) {
	hit, err := e.Gateway.Resolve(view.View{}, name)
	return hit, Told(err)
}
