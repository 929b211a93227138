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
	"422 path: oneOf":  "a path's number fits both of \"integer or string\" once Prism has read it from the path",
	"422 body: type":   "Prism takes the parts of a form for texts: lists that are a part an item, and objects that are JSON",
	"422 body: format": "formats are no assertions of JSON Schema 2020-12, so that ours are the API's to judge",
}

// TestRealPrism calls the tools of real documents against Prism, which serves
// the same document and checks each request by it, with the arguments that must
// be given and with all. Every tool of two documents is called and one in
// twelve of GitHub's; TOOLDEX_E2E_PRISM_ALL names documents of which every tool is.
func TestRealPrism(t *testing.T) {
	prism, folder := os.Getenv("TOOLDEX_E2E_PRISM"), os.Getenv("TOOLDEX_E2E_OPENAPI")
	if prism == "" || folder == "" {
		t.Skip("TOOLDEX_E2E_PRISM and TOOLDEX_E2E_OPENAPI are not set; .ci/rest installs what this test needs and sets them")
	}
	steps := map[string]int{"asana.yaml": 1, "weaviate.json": 1, "github.json": 12}
	if all := os.Getenv("TOOLDEX_E2E_PRISM_ALL"); all != "" {
		steps = map[string]int{}
		for _, name := range strings.Fields(all) {
			steps[name] = 1
		}
	}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		p := &prismDriver{t: t, origin: rest.Origin{Document: filepath.Join(folder, name)}, seen: map[string]int{}}
		p.start(prism)
		p.drive(steps[name])
		t.Logf("%s: %d calls of %d tools, refused %v", name, p.calls, p.tools, p.seen)
		for kind, n := range p.seen {
			if explained[kind] == "" {
				t.Errorf("%s: Prism refuses %d requests: %s", name, n, kind)
			}
		}
	}
}

// A prismDriver calls the tools of one document.
type prismDriver struct {
	t            *testing.T
	origin       rest.Origin
	base         string // of the recorder before Prism
	status       int    // of the last reply
	violations   string // that it named
	request      string
	seen         map[string]int // refused calls by kind
	calls, tools int
}

// start runs Prism with a recorder before it.
func (p *prismDriver) start(program string) {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // Prism cannot choose a free port
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command("node", program, "mock", "--errors", "--port", port, p.origin.Document)
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
			p.t.Fatalf("Prism ended with %s", p.origin.Document)
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

// drive calls every step-th tool.
func (p *prismDriver) drive(step int) {
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
	for i := 0; i < len(d.Operations); i += step {
		p.tools++
		p.tool(set, &d.Operations[i])
	}
}

func (p *prismDriver) tool(set *rest.Set, op *openapi.Operation) {
	var object struct{ InputSchema json.RawMessage }
	if err := json.Unmarshal(op.Tool, &object); err != nil {
		p.t.Fatalf("%s: %v", op.Name, err)
	}
	for _, all := range []bool{false, true} {
		args := invent(object.InputSchema, all)
		schema := arguments.NewSchema(tool.Schema{JSON: object.InputSchema}, nil)
		if err := arguments.NewChecker().Check(p.t.Context(), op.Name, schema, args); err != nil {
			p.t.Errorf("%s: what was invented is not valid: %v: %s", op.Name, err, args)
			continue
		}
		p.call(set, op, args)
	}
}

func (p *prismDriver) call(set *rest.Set, op *openapi.Operation, args json.RawMessage) {
	p.calls++
	p.status, p.violations = 0, ""
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	res, err := set.Call(ctx, upstream.Request{Server: "api", Tool: op.Name, Arguments: args})
	res.Release()
	switch {
	case err != nil && !errors.Is(err, upstream.ErrTooLarge):
		p.t.Errorf("%s %s: %v", op.Name, args, err)
	case p.status == 0:
		p.note("not sent: "+string(res.Raw), op, args)
	case p.status >= 400:
		for _, kind := range kinds(p.status, p.violations) {
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

// kinds are the violations of one request, without what is of it alone.
func kinds(status int, text string) (out []string) {
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
		return []string{fmt.Sprintf("%d %s", status, problem.Type[strings.LastIndex(problem.Type, "#")+1:])}
	}
	for _, v := range problem.Validation {
		if len(v.Location) > 0 && v.Location[0] == "response" {
			continue // what Prism itself makes up breaks the document
		}
		v.Location = slices.DeleteFunc(v.Location, func(s string) bool { return s == "request" })
		place := strings.Join(v.Location[:min(len(v.Location), 1)], " ")
		if kind := fmt.Sprintf("%d %s: %v", status, place, v.Code); !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out
}
