package prism

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/arguments"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
	"github.com/tooldex/tooldex/index/tool"
)

// explained are the kinds of requests that we take for valid and Prism refuses,
// with why each is left as it is.
var explained = map[string]string{
	"422 path: oneOf":                    "a path's number fits both of \"integer or string\" once Prism has read it from the path",
	"422 body of a form: type":           "Prism takes the parts of a form for texts: lists that are a part an item, and objects that are JSON",
	"422 body of a form: <nil>":          "likewise: it refuses the quotation marks of an object that is JSON",
	"422 body: format":                   "formats are no assertions of JSON Schema 2020-12, so that ours are the API's to judge",
	"422 body of a form: required":       "Prism takes what is not in a form for an empty object, whose fields it misses; an empty list leaves nothing in a form",
	"422 body of a form is missing":      "likewise: lists that are empty are all that there is in it",
	"422 query: required":                "likewise of an object in the query that is not given",
	"415 INVALID_CONTENT_TYPE of a form": "lists of objects in a form go as deepObject, a[0][b]=c, as the document says; Prism takes them as JSON alone",
	"422 body left open: required":       "the input schema is larger than 64 KB, so that its deepest parts are left open, and a warning says so",
}

// A plan is how a document is tried.
type plan struct {
	replies bool // Prism knows the replies, too
	reach   int  // definitions that a request may refer to
}

// plans have no replies where Prism would take minutes to start with them. With
// requests of DocuSign's that refer to more it had not started after eight
// minutes.
var plans = map[string]plan{
	"asana.yaml": {true, everything}, "weaviate.json": {true, everything}, "github.json": {false, everything},
	"kubernetes.json": {false, everything}, "openai.yaml": {false, everything}, "stripe.yaml": {false, everything},
	"xsoar.json":    {false, everything},
	"docusign.json": {false, 110},
}

const everything = math.MaxInt

// TestRealPrism calls every tool of real documents against Prism, which serves
// the same document and checks each request by it, with the arguments that must
// be given and with all. TOOLDEX_E2E_PRISM_DOCUMENTS names those to try; else all
// are but DocuSign's, with which Prism takes minutes.
func TestRealPrism(t *testing.T) {
	prism, folder := os.Getenv("TOOLDEX_E2E_PRISM"), os.Getenv("TOOLDEX_E2E_OPENAPI")
	if prism == "" || folder == "" {
		t.Skip("TOOLDEX_E2E_PRISM and TOOLDEX_E2E_OPENAPI are not set; .ci/rest installs what this test needs and sets them")
	}
	chosen := maps.Clone(plans)
	delete(chosen, "docusign.json")
	if named := os.Getenv("TOOLDEX_E2E_PRISM_DOCUMENTS"); named != "" {
		clear(chosen)
		for _, name := range strings.Fields(named) {
			chosen[name] = plans[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		t.Run(name, func(t *testing.T) { try(t, prism, filepath.Join(folder, name), chosen[name]) })
	}
}

func try(t *testing.T, program, document string, how plan) {
	p := &prismDriver{t: t, origin: rest.Origin{Document: document}, seen: map[string]int{}}
	served := document
	if !how.replies {
		served, p.without = requestsOnly(t, document, how.reach)
	}
	p.start(program, served)
	p.drive()
	t.Logf("%d calls of %d tools, %d left out, refused %v", p.calls, p.tools, len(p.without), p.seen)
	for kind, n := range p.seen {
		if explained[kind] == "" {
			t.Errorf("Prism refuses %d requests: %s", n, kind)
		}
	}
}

// A prismDriver calls the tools of one document.
type prismDriver struct {
	t            *testing.T
	origin       rest.Origin
	without      map[string]bool // operations that Prism does not serve
	open         string          // warnings of parts of schemas that are left open
	base         string          // of the recorder before Prism
	status       int             // of the last reply
	violations   string          // that it named
	request      string
	seen         map[string]int // refused calls by kind
	calls, tools int
}

// start runs Prism, which serves a document, with a recorder before it.
func (p *prismDriver) start(program, document string) {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // Prism cannot choose a free port
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command("node", program, "mock", "--errors", "--port", port, document)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); !strings.Contains(lines.Text(), "is listening"); {
		if !lines.Scan() {
			p.t.Fatalf("Prism ended with %s", document)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // it ends with Prism
	target := &url.URL{Scheme: "http", Host: address}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(res *http.Response) error {
		p.status, p.violations = res.StatusCode, res.Header.Get("sl-violations")
		if p.violations == "" && res.StatusCode >= 400 {
			body, err := io.ReadAll(res.Body)
			p.violations = string(body)
			res.Body = io.NopCloser(bytes.NewReader(body))
			return err
		}
		return nil
	}
	recorder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.request = r.Method + " " + r.URL.String()
		proxy.ServeHTTP(w, r)
	}))
	p.t.Cleanup(recorder.Close)
	p.base = recorder.URL
}

// drive calls the tools.
func (p *prismDriver) drive() {
	t := p.t
	p.origin.BaseURL = p.base
	d, err := rest.Read(t.Context(), p.origin)
	if err != nil {
		t.Fatal(err)
	}
	set, err := rest.NewSet([]rest.Spec{{Name: "api", Origin: p.origin, Headers: map[string]string{"Authorization": "Bearer secret"}}}, rest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.open = strings.Join(d.Warnings, "\n")
	for i := range d.Operations {
		if p.without[d.Operations[i].Method+" "+d.Operations[i].Path] {
			continue
		}
		p.tools++
		p.tool(set, &d.Operations[i])
	}
}

func (p *prismDriver) tool(set *rest.Set, op *openapi.Operation) {
	var object struct{ InputSchema json.RawMessage }
	if err := json.Unmarshal(op.Tool, &object); err != nil {
		p.t.Fatalf("%s: %v", op.Name, err)
	}
	schema := arguments.NewSchema(tool.Schema{JSON: object.InputSchema}, nil)
	for _, all := range []bool{false, true} {
		var args json.RawMessage
		var err error
		for pick := range everyForm + 1 { // what one form must have may fit another one, too
			args = invent(object.InputSchema, all, pick)
			if err = arguments.NewChecker().Check(p.t.Context(), op.Name, schema, args); err == nil {
				break
			}
		}
		if err != nil {
			p.t.Errorf("%s: what was invented is not valid: %v: %s", op.Name, err, args)
			continue
		}
		p.call(set, op, args)
	}
}

func (p *prismDriver) call(set *rest.Set, op *openapi.Operation, args json.RawMessage) {
	p.calls++
	p.status, p.violations = 0, ""
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute) // Prism takes its time with large bodies
	defer cancel()
	res, err := set.Call(ctx, upstream.Request{Server: "api", Tool: op.Name, Arguments: args})
	res.Release()
	switch {
	case err != nil && !errors.Is(err, upstream.ErrTooLarge):
		p.t.Errorf("%s %s: %v", op.Name, args, err)
	case p.status == 0:
		p.note("not sent: "+string(res.Raw), op, args)
	case p.status >= 400:
		body := ""
		switch {
		case op.Body == nil:
		case op.Body.Kind == openapi.Form || op.Body.Kind == openapi.Multipart:
			body = " of a form"
		case strings.Contains(p.open, op.Method+" "+op.Path+":"):
			body = " left open"
		}
		for _, kind := range kinds(p.status, p.violations, body) {
			p.note(kind, op, args)
		}
	}
}

func (p *prismDriver) note(kind string, op *openapi.Operation, args json.RawMessage) {
	p.seen[kind]++
	if testing.Verbose() && p.seen[kind] <= 5 {
		p.t.Logf("%s: %s with %s\n  sent %.300s\n  %.600s", kind, op.Name, args, p.request, p.violations)
	}
}

// A violation is what Prism finds wrong with one place of a request.
type violation struct {
	Location []string
	Code     any
}

// kinds are the violations of one request, without what is of it alone; body
// says what the request's is.
func kinds(status int, text, body string) (out []string) {
	text = strings.TrimPrefix(text, "Too many violations! ")
	var problem struct {
		Type       string
		Validation []violation
	}
	if json.Unmarshal([]byte(text), &problem.Validation) != nil {
		if err := json.Unmarshal([]byte(text), &problem); err != nil {
			problem.Type = text
		}
	}
	if len(problem.Validation) == 0 {
		return []string{fmt.Sprintf("%d %s%s", status, problem.Type[strings.LastIndex(problem.Type, "#")+1:], body)}
	}
	for _, v := range problem.Validation {
		if len(v.Location) > 0 && v.Location[0] == "response" {
			continue // what Prism itself makes up breaks the document
		}
		v.Location = slices.DeleteFunc(v.Location, func(s string) bool { return s == "request" })
		kind := fmt.Sprintf("%d body%s is missing", status, body)
		if len(v.Location) > 0 {
			place := v.Location[0]
			if place == "body" && v.Code != "format" {
				place += body
			}
			kind = fmt.Sprintf("%d %s: %v", status, place, v.Code)
		}
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out
}
