package call

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

func build(t *testing.T, op *openapi.Operation, arguments string) (*http.Request, string, error) {
	t.Helper()
	req, err := Build(t.Context(), op, "https://a.example/v1", json.RawMessage(arguments))
	if err != nil {
		return nil, "", err
	}
	var body []byte
	if req.Body != nil {
		if body, err = io.ReadAll(req.Body); err != nil {
			t.Fatal(err)
		}
	}
	return req, string(body), nil
}

// The table of OpenAPI 3.1, section 4.8.12.6, and what Swagger 2.0 adds.
func TestStyles(t *testing.T) {
	values := map[string]string{"s": `"blue"`, "a": `["blue","black"]`, "o": `{"R":100,"G":200}`, "n": `12345678901234567890.5`}
	for _, c := range []struct {
		in, style string
		explode   bool
		value     string
		want      string
	}{
		{"path", "simple", false, "s", "blue"}, {"path", "simple", false, "a", "blue,black"}, {"path", "simple", false, "o", "G,200,R,100"}, {"path", "simple", true, "o", "G=200,R=100"},
		{"path", "label", false, "s", ".blue"}, {"path", "label", true, "a", ".blue.black"}, {"path", "label", false, "a", ".blue,black"}, {"path", "label", true, "o", ".G=200.R=100"},
		{"path", "matrix", false, "s", ";color=blue"}, {"path", "matrix", false, "a", ";color=blue,black"}, {"path", "matrix", true, "a", ";color=blue;color=black"},
		{"path", "matrix", false, "o", ";color=G,200,R,100"}, {"path", "matrix", true, "o", ";G=200;R=100"},
		{"query", "form", true, "s", "color=blue"}, {"query", "form", true, "a", "color=blue&color=black"}, {"query", "form", false, "a", "color=blue,black"},
		{"query", "form", true, "o", "G=200&R=100"}, {"query", "form", false, "o", "color=G,200,R,100"}, {"query", "form", true, "n", "color=12345678901234567890.5"},
		{"query", "spaceDelimited", false, "a", "color=blue%20black"}, {"query", "pipeDelimited", false, "a", "color=blue%7Cblack"}, {"query", "tabDelimited", false, "a", "color=blue%09black"},
		{"query", "deepObject", true, "o", "color%5BG%5D=200&color%5BR%5D=100"}, {"query", "deepObject", true, "a", "color%5B0%5D=blue&color%5B1%5D=black"},
		{"header", "simple", false, "a", "blue,black"}, {"header", "simple", true, "o", "G=200,R=100"},
		{"cookie", "form", false, "a", "color=blue,black"},
	} {
		op := &openapi.Operation{Method: "GET", Path: "/x", Params: []openapi.Param{{Argument: "color", Name: "color", In: c.in, Style: c.style, Explode: c.explode}}}
		if c.in == "path" {
			op.Path = "/x/{color}"
		}
		req, _, err := build(t, op, `{"color":`+values[c.value]+`}`)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{"path": strings.TrimPrefix(req.URL.EscapedPath(), "/v1/x/"), "query": req.URL.RawQuery, "header": req.Header.Get("color"), "cookie": req.Header.Get("Cookie")}[c.in]
		if got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

// Whatever arguments hold, the request stays on its path and its host.
func TestArgumentsStayInPlace(t *testing.T) {
	op := &openapi.Operation{Method: "GET", Path: "/files/{name}/raw", Params: []openapi.Param{
		{Argument: "name", Name: "name", In: "path", Style: "simple", Required: true},
		{Argument: "q", Name: "q", In: "query", Style: "form", Explode: true}, {Argument: "r", Name: "r", In: "query", Style: "form", Reserved: true},
		{Argument: "X-Tag", Name: "X-Tag", In: "header", Style: "simple"}, {Argument: "c", Name: "c", In: "cookie", Style: "form"},
		{Argument: "Host", Name: "Host", In: "header", Style: "simple"},
	}}
	for name, want := range map[string]string{
		"a/b": "/v1/files/a%2Fb/raw", "a%2fb": "/v1/files/a%252fb/raw", "../etc": "/v1/files/..%2Fetc/raw", "..%2f..": "/v1/files/..%252f../raw",
		"a?b#c": "/v1/files/a%3Fb%23c/raw", `a\b`: "/v1/files/a%5Cb/raw", "é ;": "/v1/files/%C3%A9%20%3B/raw", "@evil.example": "/v1/files/%40evil.example/raw",
		"{q}": "/v1/files/%7Bq%7D/raw", "a\r\nb": "/v1/files/a%0D%0Ab/raw",
	} {
		arguments, _ := json.Marshal(map[string]string{"name": name}) // always encodes
		req, _, err := build(t, op, string(arguments))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got := req.URL.EscapedPath(); got != want || req.URL.Host != "a.example" || req.URL.RawQuery != "" {
			t.Errorf("%q: got %s", name, req.URL)
		}
	}
	for arguments, want := range map[string]string{
		`{"name":".."}`:                    `argument name: ".." would be another path`,
		`{"name":"."}`:                     `argument name: "." would be another path`,
		`{"name":""}`:                      `argument name: it is empty, which would be another path`,
		`{"name":null}`:                    `argument name: it is missing`,
		`{}`:                               `argument name: it is missing`,
		`{"name":"a","X-Tag":"a\r\nB: c"}`: `argument X-Tag: it has control characters, which no header may have`,
		`{"name":"a","X-Tag":"a\u0000"}`:   `argument X-Tag: it has control characters, which no header may have`,
		`{"name":"a","Host":"evil"}`:       `argument Host: header Host belongs to the connection and is not for callers`,
		`{"name":"a","other":1}`:           `argument other: the operation has no such parameter`,
		`[]`:                               `argument (all): they are no JSON object`,
	} {
		var wrong *ArgumentError
		if _, _, err := build(t, op, arguments); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", arguments, err)
		}
	}
	req, _, err := build(t, op, `{"name":"a","q":"x&y=z#f+ ","r":"/a?b&c=d#e","c":"a; b=c\r\n"}`)
	if err != nil || req.URL.RawQuery != "q=x%26y%3Dz%23f%2B%20&r=/a?b%26c%3Dd%23e" || req.URL.Fragment != "" {
		t.Errorf("got %v, %v", req.URL, err)
	}
	if got := req.Header.Get("Cookie"); got != "c=a%3B%20b%3Dc%0D%0A" {
		t.Errorf("got cookie %q", got)
	}
}

func TestBodies(t *testing.T) {
	fields := map[string]bool{"a": true, "l": true}
	for _, c := range []struct {
		body      openapi.Body
		arguments string
		want      string // content type, and body
	}{
		{openapi.Body{Kind: openapi.JSON, Type: "application/json", Fields: fields}, `{"a":1.50,"l":["é<"]}`, `application/json {"a":1.50,"l":["é<"]}`},
		{openapi.Body{Kind: openapi.JSON, Type: "application/json", Fields: fields}, `{}`, " "},
		{openapi.Body{Kind: openapi.JSON, Type: "application/json", Fields: fields, Required: true}, `{}`, "application/json {}"},
		{openapi.Body{Kind: openapi.JSON, Type: "application/merge-patch+json", Argument: "body"}, `{"body":[1]}`, "application/merge-patch+json [1]"},
		{openapi.Body{Kind: openapi.JSON, Type: "application/json", Open: true}, `{"x":null}`, `application/json {"x":null}`},
		{openapi.Body{Kind: openapi.Form, Fields: fields}, `{"a":"x y&z","l":[1,2]}`, "application/x-www-form-urlencoded a=x%20y%26z&l=1&l=2"},
		{openapi.Body{Kind: openapi.Form, Fields: fields, Parts: map[string]openapi.Part{"l": {Style: "form"}, "a": {Style: "deepObject", Explode: true}}}, `{"a":{"k":{"m":1}},"l":[1,2]}`, "application/x-www-form-urlencoded a%5Bk%5D%5Bm%5D=1&l=1,2"},
		{openapi.Body{Kind: openapi.Text, Type: "text/plain", Argument: "body"}, `{"body":"héllo"}`, "text/plain; charset=utf-8 héllo"},
		{openapi.Body{Kind: openapi.Text, Type: "application/xml", Argument: "body"}, `{"body":"<a/>"}`, "application/xml <a/>"},
		{openapi.Body{Kind: openapi.Binary, Type: "image/png", Argument: "body"}, `{"body":"data:image/gif;base64,AAEC"}`, "image/png \x00\x01\x02"},
		{openapi.Body{Kind: openapi.Binary, Type: "*/*", Argument: "body"}, `{"body":"data:image/gif;base64,AAEC"}`, "image/gif \x00\x01\x02"},
		{openapi.Body{Kind: openapi.Binary, Type: "application/octet-stream", Argument: "body"}, `{"body":"plain, text"}`, "application/octet-stream plain, text"},
		{openapi.Body{Kind: openapi.Binary, Type: "application/octet-stream", Argument: "body"}, `{"body":"data:image/gif;base64,AAEC"}`, "image/gif \x00\x01\x02"},
		{openapi.Body{Kind: openapi.Binary, Type: "*/*", Argument: "body"}, `{"body":"plain, text"}`, "text/plain; charset=utf-8 plain, text"},
	} {
		req, body, err := build(t, &openapi.Operation{Method: "POST", Path: "/x", Body: &c.body}, c.arguments)
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Header.Get("Content-Type") + " " + body; got != c.want {
			t.Errorf("%s: got %q, want %q", c.arguments, got, c.want)
		}
	}
	op := &openapi.Operation{Method: "POST", Path: "/x", Body: &openapi.Body{Kind: openapi.Binary, Type: "image/png", Argument: "body"}}
	if _, _, err := build(t, op, `{"body":"data:image/png;base64,%%%"}`); err == nil || !strings.Contains(err.Error(), "argument body: its data: URL is no base64") {
		t.Errorf("got %v", err)
	}
}

func TestMultipart(t *testing.T) {
	op := &openapi.Operation{Method: "POST", Path: "/x", Body: &openapi.Body{Kind: openapi.Multipart, Open: true,
		Binary: map[string]bool{"f": true, "t": true}, Parts: map[string]openapi.Part{"csv": {Style: "form"}}}}
	req, body, err := build(t, op, `{"f":"data:image/png;name=a%22.png;base64,AAEC","t":["one","two"],"o":{"k":1},"n":5,"csv":["a","b"],"x\"\r\ny":"z"}`)
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(strings.NewReader(body), params["boundary"])
	var got []string
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.Header.Get("Content-Disposition")+" "+p.Header.Get("Content-Type")+" "+string(data))
	}
	want := "form-data; name=\"f\"; filename=\"a\\\".png\" image/png \x00\x01\x02|" +
		"form-data; name=\"t\"; filename=\"file.txt\" text/plain; charset=utf-8 one|form-data; name=\"t\"; filename=\"file.txt\" text/plain; charset=utf-8 two|" +
		"form-data; name=\"o\" application/json {\"k\":1}|form-data; name=\"n\"  5|form-data; name=\"csv\"  a,b|form-data; name=\"x%22%0D%0Ay\"  z"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got %q\nwant %q", s, want)
	}
}

func TestReplies(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	for _, c := range []struct {
		status            int
		contentType, body string
		want              string
	}{
		{200, "application/json", ` {"a": 1.0} `, `{"content":[{"text":"{\"a\": 1.0}","type":"text"}],"structuredContent":{"a": 1.0}}`},
		{201, "application/hal+json; charset=iso-8859-1", "[\"\xe9\"]", `{"content":[{"text":"[\"é\"]","type":"text"}],"structuredContent":["é"]}`},
		{200, "application/json", "<html>", `{"content":[{"text":"<html>","type":"text"},{"text":"(The reply claims to be application/json and is no JSON: it is given as text.)","type":"text"}]}`},
		{204, "", "", `{"content":[{"text":"204 No Content","type":"text"}]}`},
		{304, "", "", `{"content":[{"text":"304 Not Modified","type":"text"}]}`},
		{200, "text/plain; charset=windows-1252", "caf\xe9 \x80", `{"content":[{"text":"café €","type":"text"}]}`},
		{200, "text/plain; charset=none", "caf\xe9", `{"content":[{"text":"caf�","type":"text"}]}`},
		{200, "", "plain", `{"content":[{"text":"plain","type":"text"}]}`},
		{200, "image/png", "\x00\x01", `{"content":[{"data":"AAE=","mimeType":"image/png","type":"image"}]}`},
		{200, "audio/ogg", "\x00", `{"content":[{"data":"AA==","mimeType":"audio/ogg","type":"audio"}]}`},
		{200, "application/pdf", "%PDF", `{"content":[{"resource":{"blob":"JVBERg==","mimeType":"application/pdf","uri":"https://a.example/x"},"type":"resource"}]}`},
		{404, "application/problem+json", `{"title":"gone"}`, `{"content":[{"text":"404 Not Found: {\"title\":\"gone\"}","type":"text"}],"isError":true}`},
		{500, "image/png", "\x00\x01", `{"content":[{"text":"500 Internal Server Error, with 2 bytes of image/png","type":"text"}],"isError":true}`},
		{599, "", "", `{"content":[{"text":"599","type":"text"}],"isError":true}`},
	} {
		res := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.contentType}}}
		if got := string(Result(res, []byte(c.body), "https://a.example/x")); got != c.want {
			t.Errorf("%d %s %q: got %s", c.status, c.contentType, c.body, got)
		}
	}
	res := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}}
	if got := string(Result(res, []byte(deep), "")); !strings.Contains(got, "has more than 512 levels: it is given as text") || strings.Contains(got, "structuredContent") {
		t.Errorf("got %.200s", got)
	}
}
