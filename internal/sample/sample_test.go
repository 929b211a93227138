package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the clock of the servers under test.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func start(t *testing.T, o Options) *Server {
	t.Helper()
	o.Now = noon
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// connect runs s over a pair of pipes and returns a client of it.
func connect(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.ServeStdio(context.Background(), fromClient, toClient)
		toClient.Close()
		done <- err
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		toServer.Close()
		<-done
	})
	return session
}

func seeded(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := Seed(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func listed(t *testing.T, c *mcp.ClientSession) map[string]*mcp.Tool {
	t.Helper()
	tools := map[string]*mcp.Tool{}
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = tool
	}
	return tools
}

// call calls a tool and returns its structured content as JSON, or the text
// of its error.
func call(t *testing.T, c *mcp.ClientSession, name, args string) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if res.IsError {
		return "error: " + res.Content[0].(*mcp.TextContent).Text
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// parsed makes two JSON texts comparable.
func parsed(s string) any {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	return v
}

// calls are run in this order on one seeded folder.
var calls = []struct{ tool, args, want string }{
	{"read_text_file", `{"path":"notes.txt","first_line":2,"lines":1}`, `{"text":"TODO: call the plumber before Friday\n","total_lines":3}`},
	{"read_text_file", `{"path":"notes.txt","first_line":99}`, `{"text":"","total_lines":3}`},
	{"read_text_file", `{"path":"none.txt"}`, "error: openat none.txt: no such file or directory"},
	{"search_in_files", `{"pattern":"todo","ignore_case":true}`, `{"matches":[{"line":2,"path":"notes.txt","text":"TODO: call the plumber before Friday"},{"line":3,"path":"reports/2026-q1.md","text":"TODO: add March."}],"truncated":false}`},
	{"search_in_files", `{"pattern":"("}`, "error: error parsing regexp: missing closing ): `(`"},
	{"write_text_file", `{"path":"a.txt","text":"one\n"}`, `{"path":"a.txt","bytes":4}`},
	{"write_text_file", `{"path":"a.txt","text":"two\n"}`, "error: write a.txt: exists already; set overwrite to replace it"},
	{"write_text_file", `{"path":"a.txt","text":"seven\n","overwrite":true}`, `{"path":"a.txt","bytes":6}`},
	{"move_file", `{"from":"a.txt","to":"notes.txt"}`, "error: move a.txt: notes.txt exists already"},
	{"move_file", `{"from":"a.txt","to":"b.txt"}`, `{"from":"a.txt","to":"b.txt"}`},
	{"read_text_file", `{"path":"b.txt"}`, `{"text":"seven\n","total_lines":1}`},

	{"change_case", `{"text":"order Line-2","style":"snake"}`, `{"text":"order_line_2"}`},
	{"change_case", `{"text":"order, line","style":"kebab"}`, `{"text":"order-line"}`},
	{"change_case", `{"text":"élan","style":"upper"}`, `{"text":"ÉLAN"}`},
	{"count_text", `{"text":"One. Two three?\nü"}`, `{"characters":17,"bytes":18,"words":4,"lines":2}`},
	{"sort_lines", `{"text":"b\na\nb\n","options":{"unique":true,"descending":true}}`, `{"text":"b\na\n"}`},
	{"sort_lines", `{"text":"b\na"}`, `{"text":"a\nb"}`},

	{"current_time", `{"zone":"Asia/Tokyo"}`, `{"offset":"+09:00","time":"2026-03-01T21:00:00+09:00","unix":1772366400,"weekday":"Sunday","zone":"Asia/Tokyo"}`},
	{"current_time", `{"zone":"Mars/Base"}`, `error: zone "Mars/Base": unknown; want an IANA name such as Europe/Berlin`},
	{"convert_time_zone", `{"time":"2026-03-08 09:00","from":"America/New_York","to":"Europe/Berlin"}`, `{"offset":"+01:00","time":"2026-03-08T14:00:00+01:00","unix":1772974800,"weekday":"Sunday","zone":"Europe/Berlin"}`},
	{"time_between", `{"from":"2026-01-01","to":"2026-01-03 12:00"}`, `{"unit":"days","value":2.5}`},
	{"time_between", `{"from":"2026-01-03","to":"2026-01-01","unit":"hours"}`, `{"unit":"hours","value":-48}`},

	{"calculate", `{"expression":"-pow(2, 2) + 3 * (4 - 1) / r","variables":{"r":3}}`, `{"value":-1}`},
	{"calculate", `{"expression":"1/0"}`, `error: expression "1/0": division by zero`},
	{"convert_units", `{"value":26.2,"from":"mile","to":"km"}`, `{"quantity":"length","unit":"km","value":42.1648128}`},
	{"convert_units", `{"value":-40,"from":"fahrenheit","to":"celsius"}`, `{"quantity":"temperature","unit":"celsius","value":-40}`},
	{"convert_units", `{"value":1,"from":"GiB","to":"kg"}`, `error: convert GiB to kg: one is a data, the other a mass`},
	{"summarize_numbers", `{"numbers":[4,1,3,2]}`, `{"count":4,"sum":10,"mean":2.5,"median":2.5,"min":1,"max":4}`},
	{"summarize_numbers", `{"numbers":[5,1,3]}`, `{"count":3,"sum":9,"mean":3,"median":3,"min":1,"max":5}`},
	{"summarize_numbers", `{"numbers":[]}`, `error: numbers: is empty`},
	{"distance_between_points", `{"from":{"latitude":0,"longitude":0},"to":{"latitude":0,"longitude":180}}`, `{"distance":20015.114,"unit":"km"}`},
}

func TestEveryToolWorks(t *testing.T) {
	c := connect(t, start(t, Options{Root: seeded(t)}))
	untested := listed(t, c)
	if n := len(untested); n != 15 {
		t.Errorf("%d tools, want 15", n)
	}
	for _, k := range calls {
		delete(untested, k.tool)
		got := call(t, c, k.tool, k.args)
		if strings.HasPrefix(k.want, "error: openat") {
			got = strings.ReplaceAll(got, "The system cannot find the file specified.", "no such file or directory")
		}
		if d := cmp.Diff(parsed(k.want), parsed(got)); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", k.tool, k.args, d)
		}
	}
	delete(untested, "list_directory") // see TestFolders
	for name := range untested {
		t.Errorf("%s: no call in the table", name)
	}
}

func TestFolders(t *testing.T) {
	c := connect(t, start(t, Options{Groups: []string{"files"}, Root: seeded(t)}))
	for _, k := range []struct{ args, want string }{
		{`{}`, "config:folder notes.txt:file reports:folder sales.csv:file"},
		{`{"path":"reports"}`, "reports/2025.md:file reports/2026-q1.md:file"},
		{`{"path":"config","recursive":true}`, "config/app.json:file"},
	} {
		var out entriesOut
		if err := json.Unmarshal([]byte(call(t, c, "list_directory", k.args)), &out); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range out.Entries {
			names = append(names, e.Path+":"+e.Kind)
		}
		if got := strings.Join(names, " "); got != k.want {
			t.Errorf("list_directory %s: got %q, want %q", k.args, got, k.want)
		}
	}
}

// Nothing outside the folder can be read, written or found, by path or link.
func TestFolderIsClosed(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := seeded(t)
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil && runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege there:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	c := connect(t, start(t, Options{Groups: []string{"files"}, Root: dir}))
	for _, p := range []string{"../" + filepath.Base(outside) + "/secret.txt", secret, "link/secret.txt", "link.txt", "reports/../../x", "link/../../x"} {
		arg := string(mustJSON(p))
		for tool, args := range map[string]string{
			"read_text_file":  `{"path":` + arg + `}`,
			"write_text_file": `{"path":` + arg + `,"text":"x","overwrite":true}`,
			"move_file":       `{"from":"notes.txt","to":` + arg + `}`,
		} {
			if got := call(t, c, tool, args); !strings.HasPrefix(got, "error: ") {
				t.Errorf("%s %s: got %s", tool, p, got)
			}
		}
	}
	for tool, args := range map[string]string{"list_directory": `{"path":"link"}`, "search_in_files": `{"path":"link","pattern":"."}`} {
		if got := call(t, c, tool, args); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s in a link: got %s", tool, got)
		}
	}
	if got := call(t, c, "search_in_files", `{"pattern":"secret"}`); strings.Contains(got, "secret.txt") || strings.Contains(got, "link") {
		t.Errorf("search_in_files follows a link: %s", got)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("the file outside: %q, %v", b, err)
	}
}

func TestToolsAreDocumented(t *testing.T) {
	c := connect(t, start(t, Options{Root: seeded(t)}))
	for name, tool := range listed(t, c) {
		in := tool.InputSchema.(map[string]any)
		if tool.Title == "" || tool.Description == "" || tool.OutputSchema == nil || tool.Annotations == nil || in["examples"] == nil {
			t.Errorf("%s: lacks a title, description, output schema, annotations or examples", name)
		}
		for _, e := range in["examples"].([]any) {
			if got := call(t, c, name, string(mustJSON(e))); strings.HasPrefix(got, "error: validating") {
				t.Errorf("%s: example %v: %s", name, e, got)
			}
		}
	}
}

func TestGroups(t *testing.T) {
	dir := seeded(t)
	for _, k := range []struct {
		o    Options
		want []string
		err  string
	}{
		{o: Options{}, want: []string{"change_case", "calculate", "current_time"}},
		{o: Options{Root: dir, Groups: []string{"files"}}, want: []string{"read_text_file"}},
		{o: Options{Groups: []string{"files"}}, err: `group "files": needs a folder`},
		{o: Options{Groups: []string{"food"}}, err: `group "food": unknown, want some of files, text, time, numbers`},
		{o: Options{Root: filepath.Join(dir, "none")}, err: "open sample folder: "},
	} {
		s, err := New(k.o)
		if k.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), k.err) {
				t.Errorf("%+v: got %v, want %s", k.o, err, k.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		tools := listed(t, connect(t, s))
		for _, name := range k.want {
			if tools[name] == nil {
				t.Errorf("%+v: %s is missing", k.o, name)
			}
		}
	}
}

func TestCalculator(t *testing.T) {
	for _, k := range []struct {
		expression string
		want       float64
		err        string
	}{
		{"2*pow(3, 2)", 18, ""}, {"-2*-3", 6, ""}, {"7 % 4", 3, ""}, {"1-2-3", -4, ""}, {"-(-3)", 3, ""}, {"1.5e2", 150, ""},
		{"max(1, min(3, 4))", 3, ""}, {"round(sqrt(2)*100)", 141, ""}, {"log(1000) + ln(1)", 3, ""}, {"cos(pi)", -1, ""},
		{"x", 0, `"x" is no variable`}, {"f(1)", 0, `"f" is no function of 1`}, {"max(1)", 0, `"max" is no function of 1`}, {"x.y(1)", 0, `"" is no function of 1`},
		{"(1", 0, "1:3: expected ')', found newline"}, {"", 0, "expected operand, found 'EOF'"}, {"$", 0, "illegal character U+0024 '$'"},
		{`"a"`, 0, `"a" is no number`}, {"5 % 0", 0, "division by zero"}, {"sqrt(-1)", 0, "has no finite value"},
		{"2^3", 0, "operator ^: want + - * / or %; powers are pow(x, y)"}, {"!2", 0, "operator !: want + - * / or %; powers are pow(x, y)"},
		{"func() {}", 0, "want numbers, variables, + - * / %, parentheses and functions"},
	} {
		got, err := evaluate(k.expression, nil)
		if k.err != "" {
			if err == nil || !strings.Contains(err.Error(), ": "+k.err) {
				t.Errorf("%.20s: got %v, %v, want %s", k.expression, got, err, k.err)
			}
			continue
		}
		if err != nil || got-k.want > 1e-12 || k.want-got > 1e-12 {
			t.Errorf("%s: got %v, %v, want %v", k.expression, got, err, k.want)
		}
	}
}

func FuzzCalculator(f *testing.F) {
	f.Add("2*pow(3+x, 2)")
	f.Add("max(1,-2e3")
	f.Fuzz(func(t *testing.T, expression string) {
		evaluate(expression, map[string]float64{"x": 2}) // must not panic
	})
}

func TestHTTPServesBothErasAndSSE(t *testing.T) {
	s := start(t, Options{})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	for name, k := range map[string]struct {
		transport mcp.Transport
		version   string
	}{
		"stateless": {&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: web.Client()}, "2026-07-28"},
		"sessions":  {&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: web.Client()}, "2025-11-25"},
		"sse":       {&mcp.SSEClientTransport{Endpoint: web.URL + "/sse", HTTPClient: web.Client()}, "2025-06-18"},
	} {
		t.Run(name, func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
			c, err := client.Connect(t.Context(), k.transport, &mcp.ClientSessionOptions{ProtocolVersion: k.version})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if got := call(t, c, "change_case", `{"text":"a","style":"upper"}`); got != `{"text":"A"}` {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestBrowsersOfOtherSitesAreRefused(t *testing.T) {
	web := httptest.NewServer(start(t, Options{}).Handler())
	t.Cleanup(web.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/mcp", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://evil.example")
	res, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("got %s, want 403", res.Status)
	}
}

func TestSeedKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	mine := []byte("mine")
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), mine, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Seed(dir); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || !bytes.Equal(b, mine) {
		t.Errorf("notes.txt: %q, %v", b, err)
	}
	if err := Seed(filepath.Join(dir, "notes.txt")); err == nil {
		t.Error("seeding into a file succeeded")
	}
}
