package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/words"
)

// UpstreamList are the servers that own tools.
type UpstreamList struct {
	Upstreams []upstream.Status `json:"upstreams"`
}

// Reindexed is what a server listed.
type Reindexed struct {
	Upstream string   `json:"upstream"`
	Tools    int      `json:"tools" jsonschema:"how many tools it lists"`
	Warnings []string `json:"warnings,omitempty" jsonschema:"what is wrong with some of them"`
}

// reindexTimeout bounds a listing, which may start the server and have it
// download.
const reindexTimeout = 2 * time.Minute

func listUpstreams(c *call) (*reply, error) {
	return &reply{body: UpstreamList{append([]upstream.Status{}, c.o.Upstreams.Status()...)}}, nil
}

func reindex(c *call) (*reply, error) {
	ctx, cancel := context.WithTimeout(c.r.Context(), reindexTimeout)
	defer cancel()
	result, ok, err := c.o.Upstreams.Reindex(ctx, c.name)
	switch {
	case !ok:
		var names []string
		for _, s := range c.o.Upstreams.Status() {
			names = append(names, s.Name)
		}
		return nil, problem(http.StatusNotFound, "GET /upstreams lists those that there are", "there is no upstream %q%s", words.Excerpt(c.name), words.DidYouMean(c.name, names))
	case err != nil:
		return nil, problem(http.StatusBadGateway, `GET /upstreams has its state; "tooldex doctor" looks for the cause`, "upstream %s could not be listed: %v", c.name, err)
	}
	c.audit("tools listed again")
	return &reply{body: result}, nil
}

func status(c *call) (*reply, error) { return &reply{body: c.o.Status(c.r.Context())}, nil }

func openAPI(c *call) (*reply, error) { return &reply{body: c.document}, nil }
