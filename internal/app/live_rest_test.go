package app

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/internal/sample/tickets"
)

// REST APIs come, change and go with the file, and a name may pass from one
// kind to the other.
func TestLiveREST(t *testing.T) {
	api := httptest.NewServer(tickets.New())
	defer api.Close()
	r := serving(t, "")
	entry := fmt.Sprintf("rest: {desk: {openapi: %q", api.URL+tickets.Document)

	r.write(t, entry+"}}")
	until(t, "an API is added", func() bool { return r.has("desk/close_ticket") })
	res, err := r.Servers.Call(t.Context(), upstream.Request{Server: "desk", Tool: "get_ticket", Arguments: []byte(`{"id":2}`)})
	if err != nil || !strings.Contains(string(res.Raw), "since the update") {
		t.Errorf("got %s, %v", res.Raw, err)
	}

	r.write(t, entry+", exclude: {methods: [DELETE]}, tags: [fresh]}}")
	until(t, "operations are left out and tools are labelled", func() bool {
		return !r.has("desk/close_ticket") && r.has("desk/list_tickets", "fresh")
	})

	r.write(t, entry+", openapy: x}}")
	until(t, "an entry with a mistake is disabled alone", func() bool { return !r.has("desk/list_tickets") })

	r.write(t, fmt.Sprintf("mcpServers: {desk: {url: %q}}", numbers(t)))
	until(t, "a server has the name", func() bool { return r.has("desk/convert_units") && !r.has("desk/list_tickets") })

	r.write(t, entry+"}}")
	until(t, "the API has it again", func() bool { return !r.has("desk/convert_units") && r.has("desk/get_ticket") })
}
