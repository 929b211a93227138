package admin

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tooldex/tooldex/gateway/words"
)

// A route is one operation of the API: how it is answered, and how it is
// described.
type route struct {
	method, path string // the path as ServeMux and OpenAPI have it
	id, summary  string
	about        string // what else there is to know
	query        []parameter
	body         string // the schema of the request's body, "" for none
	status       int    // of success
	reply        string // the schema of its body, "" for none
	changes      bool   // it needs If-Match
	fails        []int  // the statuses of its errors, besides those of all
	open         bool   // it needs no key
	run          func(*call) (*reply, error)
}

// A parameter is one of a query.
type parameter struct {
	name, about string
	kind        string // string, boolean or integer
	many        bool   // it may be given several times
	least, most int    // of an integer
	values      []string
}

var (
	pageParameters = []parameter{
		{name: "hidden", kind: "boolean", about: "also what is not shown, and which rule takes it away"},
		{name: "page", kind: "integer", least: 1, most: 1 << 30, about: "from 1"},
		{name: "page_size", kind: "integer", least: 1, most: maxPage, about: "how many tools of each kind; 100 if not given"},
	}
	listParameters = []parameter{
		{name: "page", kind: "integer", least: 1, most: 1 << 30, about: "from 1"},
		{name: "page_size", kind: "integer", least: 1, most: 100, about: "how many tools; 20 if not given"},
		{name: "sort_by", kind: "string", values: []string{"name", "created_at", "execution_count", "success_rate", "category"}},
		{name: "sort_order", kind: "string", values: []string{"asc", "desc"}},
		{name: "server", kind: "string", many: true, about: "only tools of one of these upstreams"},
		{name: "tag", kind: "string", many: true, about: "only tools with one of these tags"},
		{name: "category", kind: "string", many: true, about: "only tools of one of these categories"},
		{name: "include_schemas", kind: "boolean", about: "with the tools' input and output schemas"},
	}
)

// routes are all operations. It is filled in by init, as the document that one
// of them answers with describes them all.
var routes []route

func init() {
	const unprocessable = http.StatusUnprocessableEntity
	badBody := []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, unprocessable}
	change := []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusPreconditionRequired}
	routes = []route{
		{method: "GET", path: "/servers", id: "listServers", summary: "List the virtual servers", reply: "Servers", run: listServers,
			about: "Those of the configuration's file, the default one first, and those made over the API. One that is not served says why."},
		{method: "POST", path: "/servers", id: "createServer", summary: "Make a virtual server", body: "NewServer", status: http.StatusCreated, reply: "Server", run: createServer,
			about: "It is served at once, at mcp_url, and by other processes of the state folder within two seconds. It stays after a restart.",
			fails: append(slices.Clone(badBody), http.StatusConflict)},
		{method: "GET", path: "/servers/{name}", id: "getServer", summary: "Show a virtual server", reply: "Server", run: showServer, fails: []int{http.StatusNotFound}},
		{method: "PUT", path: "/servers/{name}", id: "replaceServer", summary: "Replace the definition of a virtual server", body: "Definition", reply: "Server", changes: true, run: replaceServer,
			about: "What the body does not say is as if it had never been said.", fails: append(slices.Clone(change), badBody...)},
		{method: "PATCH", path: "/servers/{name}", id: "changeServer", summary: "Change some of a virtual server's definition", body: "Patch", reply: "Server", changes: true, run: patchServer,
			about: "The body is a JSON merge patch (RFC 7396): keys that it has replace those that are there, null removes one, what it does not name stays.", fails: append(slices.Clone(change), badBody...)},
		{method: "DELETE", path: "/servers/{name}", id: "deleteServer", summary: "Delete a virtual server", status: http.StatusNoContent, changes: true, run: deleteServer,
			about: "Its clients' sessions end.", fails: change},
		{method: "GET", path: "/servers/{name}/tools", id: "listServerTools", summary: "List what a virtual server shows", query: pageParameters, reply: "Shown", run: toolsOfServer,
			fails: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict}},
		{method: "POST", path: "/scopes/preview", id: "previewScope", summary: "List what a scope would show", query: pageParameters, body: "Definition", reply: "Shown", run: previewScope,
			about: "The body is a definition, of which scope and readonly matter. Nothing is kept.", fails: badBody},
		{method: "GET", path: "/upstreams", id: "listUpstreams", summary: "List the servers that own tools", reply: "Upstreams", run: listUpstreams},
		{method: "POST", path: "/upstreams/{name}/reindex", id: "reindexUpstream", summary: "List the tools of a server again", reply: "Reindexed", run: reindex,
			fails: []int{http.StatusNotFound, http.StatusBadGateway}},
		{method: "GET", path: "/tools", id: "listTools", summary: "List all tools", query: listParameters, reply: "Listed", run: listTools, fails: []int{http.StatusBadRequest, unprocessable}},
		{method: "POST", path: "/search", id: "search", summary: "Search for tools as a client does", body: "Search", reply: "Found", run: search,
			about: "The arguments of search_tools, besides through which virtual server, and whether each row's score is to be explained.",
			fails: append(slices.Clone(badBody), http.StatusNotFound, http.StatusConflict)},
		{method: "GET", path: "/status", id: "getStatus", summary: "Say how everything is", reply: "Status", run: status, about: `What "tooldex status --json" prints.`},
		{method: "GET", path: "/openapi.json", id: "getDocument", summary: "This document", reply: "Document", open: true, run: openAPI},
	}
}

// checkQuery says what is wrong with the parameters of a request.
func (x *route) checkQuery(r *http.Request) error {
	var names []string
	known := map[string]parameter{}
	for _, p := range x.query {
		names, known[p.name] = append(names, p.name), p
	}
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := query[name]
		p, ok := known[name]
		if !ok && len(names) == 0 {
			return problem(http.StatusBadRequest, "leave it out", "unknown parameter %q: %s %s has none", words.Excerpt(name), x.method, x.path)
		}
		if !ok {
			return problem(http.StatusBadRequest, "the parameters are "+words.Join(names), "unknown parameter %q%s", words.Excerpt(name), words.DidYouMean(name, names))
		}
		if len(values) > 1 && !p.many {
			return problem(http.StatusBadRequest, "give it once", "parameter %s is given %d times", name, len(values))
		}
		for _, v := range values {
			if want := p.wants(v); want != "" {
				return problem(http.StatusBadRequest, name+" is "+want, "parameter %s: %q is not %s", name, words.Excerpt(v), want)
			}
		}
	}
	return nil
}

// wants is what a value should be that is not; "" when it is.
func (p parameter) wants(v string) string {
	switch {
	case p.kind == "boolean" && v != "true" && v != "false":
		return "true or false"
	case p.kind == "integer":
		if n, err := strconv.Atoi(v); err != nil || n < p.least || n > p.most {
			return "a whole number from " + strconv.Itoa(p.least) + " to " + strconv.Itoa(p.most)
		}
	case p.values != nil && !slices.Contains(p.values, v):
		return "one of " + strings.Join(p.values, ", ")
	}
	return ""
}
