package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tooldex/tooldex/gateway/admin/stored"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// Written is the definition of an endpoint, with the defaults of what it does
// not say. What it says of scope and meta_config is as it was written.
type Written struct {
	Name     string          `json:"name" jsonschema:"1 to 64 of A-Z a-z 0-9 . _ -; the address ends in it"`
	Type     string          `json:"type" jsonschema:"there is meta"`
	Enabled  bool            `json:"enabled" jsonschema:"whether clients are served"`
	Surface  string          `json:"surface" jsonschema:"its set of meta-tools, such as meta or discover"`
	Hide     bool            `json:"hide_underlying_tools" jsonschema:"whether tools/list has the meta-tools alone"`
	ReadOnly bool            `json:"readonly" jsonschema:"whether it shows and runs tools without effects alone"`
	Scope    json.RawMessage `json:"scope,omitempty" jsonschema:"which tools it shows"`
	Meta     json.RawMessage `json:"meta_config,omitempty" jsonschema:"how its meta-tools work; what is absent is as in the configuration"`
}

// Where an endpoint is defined.
const (
	fromFile = "file" // of the configuration
	fromAPI  = "api"
)

// Server is an endpoint as replies have it.
type Server struct {
	Written
	URL      string    `json:"mcp_url" jsonschema:"where MCP clients connect"`
	Source   string    `json:"source" jsonschema:"where it is defined: file, the configuration's, or api"`
	File     string    `json:"file,omitempty" jsonschema:"the file that defines it"`
	Tools    int       `json:"tools" jsonschema:"how many tools its clients see"`
	Created  time.Time `json:"created,omitzero" jsonschema:"when it was made, over the API"`
	Changed  time.Time `json:"changed,omitzero" jsonschema:"when its definition last changed, over the API"`
	Warnings []string  `json:"warnings,omitempty" jsonschema:"what of it is probably not meant"`
	Problem  string    `json:"problem,omitempty" jsonschema:"why it is not served"`
}

// added are the keys of a Server that no definition has: a reply that is sent
// back, changed, is a definition.
var added = map[string]bool{
	"mcp_url": true, "source": true, "file": true, "tools": true, "created": true, "changed": true, "warnings": true, "problem": true,
}

// A server is an endpoint that is there, before its tools are counted.
type server struct {
	Server
	rules []view.Rule
	tag   string

	wordsOnly string // as Endpoint has it
}

// servers are all endpoints, those of the file first.
func (h *Handler) servers() ([]server, error) {
	var out []server
	for _, e := range h.o.Definer.Configured() {
		s := h.server(e)
		s.Source, s.File = fromFile, e.File
		out = append(out, s)
	}
	kept, err := h.o.Stored.All()
	for _, k := range kept {
		out = append(out, h.kept(k, out))
	}
	return out, err
}

// kept is an endpoint of the store beside those of the file.
func (h *Handler) kept(k stored.Entry, others []server) server {
	e := Endpoint{Written: Written{Name: k.Name, Type: "meta"}}
	err := k.Problem
	if err == nil {
		e, err = h.o.Definer.Define(k.Name, k.Definition)
	}
	s := h.server(e)
	if i := slices.IndexFunc(others, func(o server) bool { return o.Name == k.Name && o.Source == fromFile }); i >= 0 && err == nil {
		err = fmt.Errorf("its name is taken by an endpoint of %s", others[i].File)
	}
	s.Source, s.File, s.Created, s.Changed, s.tag = fromAPI, k.File, k.Created, k.Changed, k.Tag
	if err != nil {
		s.Problem, s.Enabled, s.Warnings = strings.ReplaceAll(err.Error(), "\n", "; "), false, nil
	}
	return s
}

func (h *Handler) server(e Endpoint) server {
	s := server{Server: Server{Written: e.Written, Warnings: slices.Clone(e.Warnings)}, rules: e.Rules, tag: tagOf(e.Written), wordsOnly: e.WordsOnly}
	s.URL = h.o.URL() + "/servers/" + e.Name + "/mcp"
	if e.Name == "default" {
		s.URL = h.o.URL() + "/mcp"
	}
	return s
}

// tagOf identifies a definition.
func tagOf(w Written) string {
	text, err := rawjson.Marshal(w)
	if err != nil {
		return "" // it is made of JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// counted is the endpoint with the number of its tools; one that is not served
// has none.
func (h *Handler) counted(s server) Server {
	if s.Problem != "" {
		return s.Server
	}
	_, s.Tools = h.o.Index.List(index.Listing{Filter: h.viewOf(s.rules).Over(index.Filter{}), Limit: 1})
	if _, total := h.o.Index.List(index.Listing{Limit: 1}); s.Tools == 0 && total > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("its scope lets none of the %d tools through", total))
	}
	return s.Server
}

func (h *Handler) viewOf(rules []view.Rule) view.View { return view.Of(h.o.Gateway.Labels, rules...) }

// find is the endpoint that the path names.
func (c *call) find() (server, error) {
	all, err := c.servers()
	var names []string
	for i := range all {
		if all[i].Name == c.name {
			return all[i], nil
		}
		names = append(names, all[i].Name)
	}
	if err != nil {
		return server{}, err
	}
	return server{}, problem(http.StatusNotFound, "GET /servers lists those that there are", "there is no virtual server %q%s", words.Excerpt(c.name), words.DidYouMean(c.name, names))
}

// served is find of one that can be served.
func (c *call) served() (server, error) {
	s, err := c.find()
	if err == nil && s.Problem != "" {
		err = problem(http.StatusConflict, "mend what is named", "virtual server %s is not served: %s", s.Name, s.Problem)
	}
	return s, err
}

func listServers(c *call) (*reply, error) {
	all, err := c.servers()
	if err != nil {
		return nil, err
	}
	out := Servers{Servers: []Server{}}
	for _, s := range all {
		out.Servers = append(out.Servers, c.counted(s))
	}
	return &reply{body: out}, nil
}

// Servers are all endpoints.
type Servers struct {
	Servers []Server `json:"servers"`
}

func showServer(c *call) (*reply, error) {
	s, err := c.find()
	if err != nil {
		return nil, err
	}
	return &reply{body: c.counted(s), etag: s.tag}, nil
}

func createServer(c *call) (*reply, error) {
	members, err := c.object()
	if err != nil {
		return nil, err
	}
	var name string
	if raw, ok := members["name"]; !ok || json.Unmarshal(raw, &name) != nil || name == "" {
		return nil, problem(http.StatusUnprocessableEntity, `give it one, such as {"name": "finance-ai-tools"}`, "the virtual server: name: it is missing or no text")
	}
	text, err := c.checked(name, members)
	if err != nil {
		return nil, err
	}
	c.name = name
	if there, err := c.find(); err == nil {
		return nil, taken(there)
	}
	_, err = c.o.Stored.Create(name, text)
	if errors.Is(err, stored.ErrExists) { // another process was faster
		return nil, problem(http.StatusConflict, "choose another name, or change that one", "the name %s is taken", name)
	}
	if err != nil {
		return nil, err
	}
	return c.changed(http.StatusCreated, "created")
}

func taken(by server) *Problem {
	if by.Source == fromFile {
		return problem(http.StatusConflict, "choose another name, or change it in that file", "the name %s is taken by a virtual server of the configuration %s", by.Name, by.File)
	}
	return problem(http.StatusConflict, "choose another name, or change that one with PUT or PATCH /servers/"+by.Name, "the name %s is taken by a virtual server made over the API", by.Name)
}

// checked is a definition that can be kept.
func (c *call) checked(name string, members map[string]json.RawMessage) (json.RawMessage, error) {
	text, err := definition(members)
	if err != nil {
		return nil, err
	}
	if given, ok := members["name"]; ok && rawjson.Text(given) != name {
		return nil, problem(http.StatusUnprocessableEntity, "leave it out, or make another virtual server", "virtual server %s: name: a virtual server keeps its name", name)
	}
	if _, err := c.o.Definer.Define(name, text); err != nil {
		return nil, unusable("virtual server "+words.Excerpt(name), err)
	}
	return text, nil
}

// inForce puts what was kept in force, and says what was done.
func (c *call) inForce(done string) {
	c.o.Definer.Changed(c.r.Context())
	c.o.Logger.Info("virtual server "+done+" over the API", "virtual_server", c.name)
	c.audit("virtual server " + done)
}

// changed puts what was kept in force and answers with the endpoint.
func (c *call) changed(status int, done string) (*reply, error) {
	c.inForce(done)
	s, err := c.find()
	if err != nil {
		return nil, err
	}
	out := &reply{status: status, body: c.counted(s), etag: s.tag}
	if status == http.StatusCreated {
		out.location = "/servers/" + c.name
	}
	return out, nil
}

// changeable is the endpoint that the path names and the version that the
// caller knows, if it may be changed.
func (c *call) changeable() (s server, tag string, err error) {
	if s, err = c.find(); err != nil {
		return s, "", err
	}
	if s.Source == fromFile {
		return s, "", problem(http.StatusConflict, "change it there; what is running follows the file", "virtual server %s is of the configuration %s, which the API does not write", s.Name, s.File)
	}
	given := strings.TrimSpace(c.r.Header.Get("If-Match"))
	if given == "" {
		return s, "", problem(http.StatusPreconditionRequired, `send If-Match with the ETag that GET /servers/`+s.Name+` has, or "If-Match: *" to change any version`,
			"a change of virtual server %s names the version that it is of", s.Name)
	}
	if given == stored.AnyVersion {
		return s, given, nil
	}
	for one := range strings.SplitSeq(given, ",") {
		if tag := strings.Trim(strings.TrimSpace(one), `"`); tag == s.tag {
			return s, tag, nil
		}
	}
	return s, "", outdated(s.Name)
}

func outdated(name string) *Problem {
	return problem(http.StatusPreconditionFailed, "GET /servers/"+name+" has what it is by now, with its ETag", "virtual server %s has changed meanwhile", name)
}

// storeError is an error of the store about an endpoint.
func storeError(name string, err error) error {
	switch {
	case errors.Is(err, stored.ErrChanged):
		return outdated(name)
	case errors.Is(err, stored.ErrNone):
		return problem(http.StatusNotFound, "POST /servers makes it again", "virtual server %s has been deleted meanwhile", name)
	}
	return err
}

func replaceServer(c *call) (*reply, error) {
	_, tag, err := c.changeable()
	if err != nil {
		return nil, err
	}
	members, err := c.object()
	if err != nil {
		return nil, err
	}
	return c.replace(members, tag)
}

func (c *call) replace(members map[string]json.RawMessage, tag string) (*reply, error) {
	text, err := c.checked(c.name, members)
	if err != nil {
		return nil, err
	}
	if _, err := c.o.Stored.Replace(c.name, text, tag); err != nil {
		return nil, storeError(c.name, err)
	}
	return c.changed(http.StatusOK, "changed")
}

func patchServer(c *call) (*reply, error) {
	s, tag, err := c.changeable()
	if err != nil {
		return nil, err
	}
	patch, err := c.object()
	if err != nil {
		return nil, err
	}
	k, err := c.o.Stored.Get(s.Name)
	if err == nil && k.Problem != nil {
		err = problem(http.StatusConflict, "replace it with PUT, or delete it", "virtual server %s: %v", s.Name, k.Problem)
	}
	if err != nil {
		return nil, storeError(s.Name, err)
	}
	if tag == stored.AnyVersion {
		tag = k.Tag // the one that the patch is applied to
	}
	changes, err := rawjson.Marshal(patch)
	if err != nil {
		return nil, err
	}
	merged, err := merge(k.Definition, changes)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(merged, &members); err != nil {
		return nil, err
	}
	return c.replace(members, tag)
}

func deleteServer(c *call) (*reply, error) {
	s, tag, err := c.changeable()
	if err != nil {
		return nil, err
	}
	if err := c.o.Stored.Delete(s.Name, tag); err != nil {
		return nil, storeError(s.Name, err)
	}
	c.inForce("deleted")
	return &reply{status: http.StatusNoContent}, nil
}
