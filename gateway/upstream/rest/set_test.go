package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/rest/call"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
	"github.com/tooldex/tooldex/gateway/upstream/rest/web"
)

func TestCredentials(t *testing.T) {
	shop := newShop(t)
	file := filepath.Join(t.TempDir(), "secret")
	write := func(secret string) {
		if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first-secret")
	t.Setenv("SHOP_SECRET", "from-the-environment")
	for name, c := range map[string]struct {
		auth call.Auth
		want string
	}{
		"bearer":     {call.Auth{Bearer: call.Secret{Env: "SHOP_SECRET"}}, `"auth":"Bearer [masked]"`},
		"basic":      {call.Auth{User: "me", Password: call.Secret{File: file}}, `"auth":"Basic [masked]"`},
		"key header": {call.Auth{KeyName: "X-Key", KeyIn: "header", Key: call.Secret{File: file}}, `"key":"[masked]"`},
		"key query":  {call.Auth{KeyName: "q", KeyIn: "query", Key: call.Secret{File: file}}, `"query":"q=[masked]"`},
		"key cookie": {call.Auth{KeyName: "sid", KeyIn: "cookie", Key: call.Secret{File: file}}, `"cookie":"sid=[masked]"`},
		"missing":    {call.Auth{Bearer: call.Secret{Env: "NOT_SET_ANYWHERE"}}, "credentials: the environment variable NOT_SET_ANYWHERE is not set"},
		"empty":      {call.Auth{Bearer: call.Secret{File: "/dev/null"}}, "credentials: the file /dev/null of the secret is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			set := open(t, shop.spec(t, func(sp *Spec) { sp.Auth = c.auth }), Options{})
			res, err := set.Call(t.Context(), upstream.Request{Server: "shop", Tool: "who"})
			if got := fmt.Sprint(string(res.Raw), err); !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), c.want) {
				t.Errorf("got %s", got)
			}
		})
	}
	// A parameter that holds the key is no argument; a new secret needs no restart.
	var l upstream.Listing
	set := open(t, shop.spec(t, func(sp *Spec) {
		sp.Auth = call.Auth{KeyName: "q", KeyIn: "query", Key: call.Secret{File: file}}
	}), Options{
		Stored: func(string) (int, time.Time) { return 1, time.Now() }, // so that Run does not read the document, too
		OnList: func(_ context.Context, _ string, got upstream.Listing) { l = got },
	})
	if _, err := set.Refresh(t.Context(), "shop"); err != nil || strings.Contains(string(l.Tools[0]), `"q"`) {
		t.Errorf("%v, tool %s", err, l.Tools[0])
	}
	write("short") // too short to be masked, so that it is seen
	if text, _, _ := answer(t, set, "who", "{}"); !strings.Contains(text, `"query":"q=short"`) {
		t.Errorf("got %s", text)
	}
}

func TestClientCredentials(t *testing.T) {
	for _, c := range []struct {
		expires string
		tokens  int64 // fetched for three calls
	}{{"3600", 1}, {"1", 3}} { // one that expires within seconds is not used again
		shop := newShop(t)
		t.Setenv("ROBOT_SECRET", "robot-secret")
		auth := call.Auth{Credentials: call.Credentials{TokenURL: shop.URL + "/token", ID: "robot", Secret: call.Secret{Env: "ROBOT_SECRET"}, Audience: c.expires}}
		set := open(t, shop.spec(t, func(sp *Spec) { sp.Auth = auth }), Options{})
		for range 3 {
			if text, _, _ := answer(t, set, "who", "{}"); !strings.Contains(text, `"auth":"Bearer [masked]"`) {
				t.Errorf("got %s", text)
			}
		}
		if n := shop.tokens.Load(); n != c.tokens {
			t.Errorf("expires in %s s: %d tokens", c.expires, n)
		}
		t.Setenv("ROBOT_SECRET", "another-secret")
		auth.Credentials.Scopes = []string{"other"} // another API, so no token yet
		set = open(t, shop.spec(t, func(sp *Spec) { sp.Auth = auth }), Options{})
		_, err := set.Call(t.Context(), upstream.Request{Server: "shop", Tool: "who"})
		if err == nil || !strings.Contains(err.Error(), "/token: invalid_client: who is that") || strings.Contains(err.Error(), "another-secret") {
			t.Errorf("got %v", err)
		}
	}
}

// A token that was taken back is replaced once; credentials that stay refused
// are named in the status.
func TestRefusedToken(t *testing.T) {
	shop := newShop(t)
	good, asked := "Bearer token-number-2", 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.Header.Get("Authorization") != good {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer api.Close()
	t.Setenv("ROBOT_SECRET", "robot-secret")
	set := open(t, shop.spec(t, func(sp *Spec) {
		sp.BaseURL = api.URL
		sp.Auth.Credentials = call.Credentials{TokenURL: shop.URL + "/token", ID: "robot", Secret: call.Secret{Env: "ROBOT_SECRET"}, Audience: "3600"}
	}), Options{})
	if text, isError, _ := answer(t, set, "who", "{}"); isError || asked != 2 {
		t.Errorf("got %s after %d requests", text, asked)
	}
	good = "none"
	if text, isError, _ := answer(t, set, "who", "{}"); !isError || asked != 4 {
		t.Errorf("got %s after %d requests", text, asked)
	}
	if st := set.Status()[0]; st.State != upstream.NeedsLogin || !strings.Contains(st.Error, "401 Unauthorized to GET /who: check auth") {
		t.Errorf("%+v", st)
	}
	good = "Bearer token-number-4"
	if _, isError, _ := answer(t, set, "who", "{}"); isError || set.Status()[0].State != upstream.Ready {
		t.Errorf("%+v", set.Status())
	}
}

// Addresses that the operator did not write may not be private.
func TestPrivateAddresses(t *testing.T) {
	shop := newShop(t)
	for name, c := range map[string]struct {
		change func(*Spec)
		ok     bool
	}{
		"base_url is one":    {nil, true},
		"a server of a file": {func(sp *Spec) { sp.BaseURL = ""; serverIn(t, sp.Document, shop.URL) }, true},
		"allowed":            {func(sp *Spec) { sp.AllowPrivate = true }, true},
		"a single request": {func(sp *Spec) {
			sp.Document, sp.Singles = "", []openapi.Single{{Name: "who", URL: shop.URL + "/who"}}
		}, true},
		"named by a document from elsewhere": {func(sp *Spec) {
			sp.BaseURL = ""
			serverIn(t, sp.Document, shop.URL)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			// Listed just now, so that Run does not read the document behind us.
			set := open(t, shop.spec(t, c.change), Options{Stored: func(string) (int, time.Time) { return 1, time.Now() }})
			if _, err := set.Refresh(t.Context(), "shop"); err != nil {
				t.Fatal(err)
			}
			if !c.ok { // as if the document had come from a public address
				a := set.named("shop")
				a.mu.Lock()
				a.have = &loaded{a.have.operations, a.have.base, false}
				a.mu.Unlock()
			}
			res, err := set.Call(t.Context(), upstream.Request{Server: "shop", Tool: "who"})
			if c.ok && err != nil || !c.ok && (!errors.Is(err, web.ErrPrivate) || res.Sent) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// serverIn adds a server to a document.
func serverIn(t *testing.T, path, server string) {
	t.Helper()
	text := shopDocument + "servers: [{url: " + server + "}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Calls under way go on with the document that they began with.
func TestDocumentChanges(t *testing.T) {
	shop := newShop(t)
	sp := shop.spec(t, nil)
	set := open(t, sp, Options{})
	l, err := set.Refresh(t.Context(), "shop")
	if err != nil || len(l.Tools) != 10 {
		t.Fatalf("%d tools, %v", len(l.Tools), err)
	}
	done := make(chan string, 1)
	go func() {
		res, err := set.Call(context.Background(), upstream.Request{Server: "shop", Tool: "slow"})
		done <- fmt.Sprint(string(res.Raw), err)
	}()
	<-shop.begun
	write := func(text string) {
		if err := os.WriteFile(sp.Document, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("openapi: 3.0.0\ninfo: {title: Other}\npaths: {/who: {get: {operationId: me}}}\n")
	if l, err = set.Refresh(t.Context(), "shop"); err != nil || len(l.Tools) != 1 {
		t.Fatalf("%s, %v", l.Tools, err)
	}
	close(shop.hold)
	if got := <-done; !strings.Contains(got, "late") {
		t.Errorf("got %s", got)
	}
	if _, isError, _ := answer(t, set, "me", ""); isError {
		t.Error("the new operation cannot be called")
	}
	write("what: is this")
	if _, err = set.Refresh(t.Context(), "shop"); err == nil || !strings.Contains(err.Error(), `refresh shop: document `) || !strings.Contains(err.Error(), "it is no OpenAPI document") {
		t.Errorf("got %v", err)
	}
	st := set.Status()[0]
	if st.State != upstream.Ready || st.Tools != 1 || !st.Failed || st.Server != "Other" || st.Protocol != "OpenAPI 3.0.0" || st.Transport != "rest" {
		t.Errorf("%+v", st)
	}
	if _, isError, _ := answer(t, set, "me", ""); isError {
		t.Error("the operations of before are gone")
	}
}

func TestApply(t *testing.T) {
	shop := newShop(t)
	listed := make(chan string, 10)
	set := open(t, shop.spec(t, nil), Options{OnList: func(_ context.Context, name string, _ upstream.Listing) { listed <- name }})
	if name := <-listed; name != "shop" { // nothing is known of it: it is read at once
		t.Errorf("listed %s", name)
	}
	one := shop.spec(t, func(sp *Spec) { sp.Name = "one" })
	c, err := set.Apply([]Spec{one, {Name: "off", Disabled: "it is broken"}})
	if err != nil || !slices.Equal(c.Added, []string{"off", "one"}) || len(c.Changed) != 0 || len(c.Removed) != 1 || set.Has("shop") {
		t.Errorf("%+v %v", c, err)
	}
	if name := <-listed; name != "one" {
		t.Errorf("listed %s", name)
	}
	if _, err := set.Call(t.Context(), upstream.Request{Server: "off", Tool: "x"}); !errors.Is(err, upstream.ErrDisabled) || !strings.Contains(err.Error(), "it is broken") {
		t.Errorf("got %v", err)
	}
	one.Timeout = time.Second
	if c, err = set.Apply([]Spec{one}); err != nil || len(c.Changed) != 1 {
		t.Errorf("%+v %v", c, err)
	}
	if _, err = set.Apply([]Spec{{Name: "bad"}}); err == nil || !set.Has("one") {
		t.Errorf("got %v", err)
	}
}

func TestSpecs(t *testing.T) {
	for want, sp := range map[string]Spec{
		"it has neither openapi, the path or address of a document, nor tools with a url":                     {},
		"base_url is no address such as https://api.example.com/v1":                                           {Origin: Origin{Document: "x", BaseURL: "api.example.com"}},
		"tools.t: its url is no http or https address":                                                        {Singles: []openapi.Single{{Name: "t", URL: "/x"}}},
		"tools.t: method TRACE is none of GET":                                                                {Singles: []openapi.Single{{Name: "t", URL: "https://a.example", Method: "trace"}}},
		"tools.t: its input_schema is no schema of an object":                                                 {Singles: []openapi.Single{{Name: "t", URL: "https://a.example", InputSchema: []byte(`{"type":"string"}`)}}},
		"tools.t: its url has a user or an argument before the path":                                          {Singles: []openapi.Single{{Name: "t", URL: "https://{h}.example/x"}}},
		"headers.A B: it is no header":                                                                        {Origin: Origin{Document: "x"}, Headers: map[string]string{"A B": "c"}},
		"auth: more than one of bearer, basic, key and client credentials; keep one":                          {Origin: Origin{Document: "x"}, Auth: call.Auth{Bearer: call.Secret{Env: "A"}, User: "u", Password: call.Secret{Env: "B"}}},
		"auth: basic authentication needs user, and password, password_env or password_file":                  {Origin: Origin{Document: "x"}, Auth: call.Auth{User: "u"}},
		`auth.key_in: "body" is none of header, query, cookie`:                                                {Origin: Origin{Document: "x"}, Auth: call.Auth{KeyName: "k", KeyIn: "body", Key: call.Secret{Env: "A"}}},
		"auth: client credentials need client_id, and client_secret, client_secret_env or client_secret_file": {Origin: Origin{Document: "x"}, Auth: call.Auth{Credentials: call.Credentials{TokenURL: "https://a.example/t"}}},
	} {
		if err := sp.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSingleRequests(t *testing.T) {
	shop := newShop(t)
	set := open(t, shop.spec(t, func(sp *Spec) {
		sp.Document = ""
		sp.Singles = []openapi.Single{
			{Name: "kind", URL: shop.URL + "/kinds/{kind}?fixed=1&n={n}", Description: "One kind."},
			{Name: "ask", URL: shop.URL + "/who?fixed=1", InputSchema: []byte(`{"properties":{"q":{"type":"array"}}}`)},
			{Name: "tell", Method: "post", URL: shop.URL + "/echo", InputSchema: []byte(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)},
		}
	}), Options{})
	l, err := set.Refresh(t.Context(), "shop")
	want := `{"name":"kind","description":"One kind.\n\nGET /kinds/{kind}","inputSchema":{"additionalProperties":false,"properties":{"kind":{"type":"string"},"n":{"type":"string"}},` +
		`"required":["kind","n"],"type":"object"},"annotations":{"openWorldHint":true,"readOnlyHint":true}}`
	if err != nil || string(l.Tools[0]) != want {
		t.Errorf("got %s, %v", l.Tools[0], err)
	}
	for _, c := range [][3]string{
		{"kind", `{"kind":"here","n":"a&b"}`, `"query":"moved=1"`}, {"ask", `{"q":["a","b c"]}`, `"query":"fixed=1&q=a&q=b%20c"`},
		{"tell", `{"a":"x"}`, `"body":"{\"a\":\"x\"}"`},
	} {
		if text, _, _ := answer(t, set, c[0], c[1]); !strings.Contains(text, c[2]) {
			t.Errorf("%s: got %s", c[0], text)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("secret.json", `{"type":"string","description":"secret"}`)
	write("api/types/t.json", `{"type":"integer"}`)
	main := write("api/main.json", `{"openapi":"3.0.0","servers":[{"url":"/v2"}],"paths":{"/a":{"get":{"parameters":[
		{"name":"in","in":"query","schema":{"$ref":"types/t.json"}},{"name":"out","in":"query","schema":{"$ref":"../secret.json"}},
		{"name":"abs","in":"query","schema":{"$ref":"/etc/hostname"}},{"name":"far","in":"query","schema":{"$ref":"http://far.example/x.json"}}]}}}}`)
	d, err := Read(t.Context(), Origin{Document: main})
	if err != nil || !strings.Contains(string(d.Operations[0].Tool), `"in":{"type":"integer"},"out":{},"abs":{},"far":{}`) {
		t.Fatalf("%s, %v", d.Operations[0].Tool, err)
	}
	for _, w := range []string{"it leads out of the document's folder", "set allow_remote_refs: true", "the document's server /v2 is relative, and the document is a file: set base_url"} {
		if !strings.Contains(strings.Join(d.Warnings, "\n"), w) {
			t.Errorf("no warning %q in %q", w, d.Warnings)
		}
	}
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	d, err = Read(t.Context(), Origin{Document: srv.URL + "/api/main.json", RemoteRefs: true, AllowPrivate: true})
	if err != nil || d.Base != srv.URL+"/v2" || !strings.Contains(string(d.Operations[0].Tool), `"in":{"type":"integer"}`) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err = Read(t.Context(), Origin{Document: srv.URL + "/none?key=s3cret"}); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "it answers 404") {
		t.Errorf("got %v", err)
	}
}
