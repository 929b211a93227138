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

const rows = `[{"city":"Oslo","n":3},{"city":"Rome","n":5},{"city":"Oslo","n":4},{"city":"Bern"}]`

// calls are run in this order on one seeded folder.
var calls = []struct{ tool, args, want string }{
	{"read_text_file", `{"path":"notes.txt","first_line":2,"lines":1}`, `{"text":"TODO: call the plumber before Friday\n","total_lines":3}`},
	{"read_text_file", `{"path":"notes.txt","first_line":99}`, `{"text":"","total_lines":3}`},
	{"read_text_file", `{"path":"none.txt"}`, "error: openat none.txt: no such file or directory"},
	{"search_in_files", `{"pattern":"todo","ignore_case":true}`, `{"matches":[{"line":2,"path":"notes.txt","text":"TODO: call the plumber before Friday"},{"line":3,"path":"reports/2026-q1.md","text":"TODO: add March."}],"truncated":false}`},
	{"search_in_files", `{"pattern":"("}`, "error: error parsing regexp: missing closing ): `(`"},
	{"make_directory", `{"path":"new/deep"}`, `{"created":"new/deep"}`},
	{"write_text_file", `{"path":"new/a.txt","text":"one\n"}`, `{"path":"new/a.txt","bytes":4}`},
	{"write_text_file", `{"path":"new/a.txt","text":"two\n"}`, "error: write new/a.txt: exists already; set overwrite to replace it"},
	{"write_text_file", `{"path":"new/a.txt","text":"seven\n","overwrite":true}`, `{"path":"new/a.txt","bytes":6}`},
	{"append_text", `{"path":"new/a.txt","text":"more\n"}`, `{"path":"new/a.txt","bytes":11}`},
	{"move_file", `{"from":"new/a.txt","to":"notes.txt"}`, "error: move new/a.txt: notes.txt exists already"},
	{"move_file", `{"from":"new/a.txt","to":"b.txt"}`, `{"from":"new/a.txt","to":"b.txt"}`},
	{"read_text_file", `{"path":"b.txt"}`, `{"text":"seven\nmore\n","total_lines":2}`},
	{"delete_file", `{"path":"b.txt"}`, `{"deleted":"b.txt"}`},
	{"delete_file", `{"path":""}`, "error: delete .: the served folder itself cannot be deleted"},

	{"change_case", `{"text":"order LineItem-2","style":"snake"}`, `{"text":"order_line_item_2"}`},
	{"change_case", `{"text":"order line","style":"camel"}`, `{"text":"orderLine"}`},
	{"change_case", `{"text":"straße","style":"upper"}`, `{"text":"STRASSE"}`},
	{"change_case", `{"text":"élan VITAL","style":"title"}`, `{"text":"Élan Vital"}`},
	{"count_text", `{"text":"One. Two three?\nü"}`, `{"characters":17,"bytes":18,"words":4,"lines":2,"sentences":2}`},
	{"replace_text", `{"text":"a.b.c","find":".","replacement":"$1"}`, `{"text":"a$1b$1c","replacements":2}`},
	{"replace_text", `{"text":"2026-01-31","find":"(\\d+)-(\\d+)-(\\d+)","replacement":"$3.$2.$1","regex":true}`, `{"text":"31.01.2026","replacements":1}`},
	{"compare_texts", `{"old":"a\n","new":"a\n"}`, `{"same":true,"diff":""}`},
	{"compare_texts", `{"old":"a\nb\n","new":"a\nc\n"}`, `{"same":false,"diff":"diff old new\n--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"}`},
	{"extract_patterns", `{"text":"ann@example.com, bob@x.org.","kind":"email"}`, `{"matches":["ann@example.com","bob@x.org"]}`},
	{"extract_patterns", `{"text":"see https://a.b/c?d=1.","kind":"url"}`, `{"matches":["https://a.b/c?d=1"]}`},
	{"extract_patterns", `{"text":"nothing","kind":"number"}`, `{"matches":[]}`},
	{"extract_patterns", `{"text":"a1 b22","kind":"custom","pattern":"[a-z]\\d+"}`, `{"matches":["a1","b22"]}`},
	{"hash_text", `{"text":"abc"}`, `{"algorithm":"sha256","hex":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}`},
	{"hash_text", `{"text":"abc","algorithm":"md5"}`, `{"algorithm":"md5","hex":"900150983cd24fb0d6963f7d28e17f72"}`},
	{"encode_text", `{"text":"a b&c","format":"url"}`, `{"text":"a+b%26c"}`},
	{"encode_text", `{"text":"aGVsbG8=","format":"base64","decode":true}`, `{"text":"hello"}`},
	{"encode_text", `{"text":"ff","format":"hex","decode":true}`, "error: decode hex: the decoded bytes are not text"},
	{"sort_lines", `{"text":"b\nA\na\nb\n","options":{"ignore_case":true,"unique":true,"descending":true}}`, `{"text":"b\nA\n"}`},

	{"current_time", `{"zone":"Asia/Tokyo"}`, `{"offset":"+09:00","time":"2026-03-01T21:00:00+09:00","unix":1772366400,"weekday":"Sunday","zone":"Asia/Tokyo"}`},
	{"current_time", `{"zone":"Mars/Base"}`, `error: zone "Mars/Base": unknown; list_time_zones names some`},
	{"convert_time_zone", `{"time":"2026-03-08 09:00","from":"America/New_York","to":"Europe/Berlin"}`, `{"offset":"+01:00","time":"2026-03-08T14:00:00+01:00","unix":1772974800,"weekday":"Sunday","zone":"Europe/Berlin"}`},
	{"add_to_date", `{"time":"2026-01-31","amount":{"months":1}}`, `{"offset":"+00:00","time":"2026-02-28T00:00:00Z","unix":1772236800,"weekday":"Saturday","zone":"UTC"}`},
	{"add_to_date", `{"time":"2026-03-01 08:30","amount":{"weeks":-1,"hours":1,"minutes":45}}`, `{"offset":"+00:00","time":"2026-02-22T10:15:00Z","unix":1771755300,"weekday":"Sunday","zone":"UTC"}`},
	{"time_between", `{"from":"2026-01-01","to":"2026-01-03 12:00"}`, `{"text":"2 days 12h0m0s","unit":"days","value":2.5}`},
	{"time_between", `{"from":"2026-01-03","to":"2026-01-01","unit":"hours"}`, `{"text":"minus 2 days","unit":"hours","value":-48}`},
	{"list_time_zones", `{"filter":"new york"}`, `{"zones":[{"offset":"-05:00","time":"2026-03-01 07:00","zone":"America/New_York"}]}`},
	{"describe_date", `{"date":"2027-01-01"}`, `{"day_of_year":1,"days_in_month":31,"iso_week":"2026-W53","leap_year":false,"quarter":1,"weekday":"Friday"}`},
	{"describe_date", `{"date":"1 May"}`, `error: date "1 May": want YYYY-MM-DD`},
	{"count_business_days", `{"from":"2026-12-21","to":"2026-12-31","holidays":["2026-12-25","2026-12-26"]}`, `{"business_days":8,"calendar_days":11}`},
	{"count_business_days", `{"from":"2026-12-31","to":"2026-12-21"}`, `error: from 2026-12-31 to 2026-12-21: want 1 to 40000 days`},

	{"calculate", `{"expression":"-2^2 + 3 * (4 - 1) / r","variables":{"r":3}}`, `{"value":-1}`},
	{"calculate", `{"expression":"1/0"}`, `error: expression "1/0": division by zero`},
	{"convert_units", `{"value":26.2,"from":"miles","to":"km"}`, `{"quantity":"length","unit":"km","value":42.1648128}`},
	{"convert_units", `{"value":-40,"from":"Fahrenheit","to":"celsius"}`, `{"quantity":"temperature","unit":"celsius","value":-40}`},
	{"convert_units", `{"value":1,"from":"GiB","to":"kg"}`, `error: convert GiB to kg: one is a data, the other a mass`},
	{"convert_units", `{"value":1,"from":"parsec","to":"kg"}`, `error: unit "parsec": unknown; list_units names them`},
	{"list_units", `{"quantity":"temperature"}`, `{"quantities":{"temperature":["celsius","fahrenheit","kelvin"]}}`},
	{"summarize_numbers", `{"numbers":[4,1,3,2],"percentiles":[100,25]}`, `{"count":4,"sum":10,"mean":2.5,"median":2.5,"min":1,"max":4,"std_dev":1.2909944487358056,"percentiles":[{"percent":100,"value":4},{"percent":25,"value":1.75}]}`},
	{"summarize_numbers", `{"numbers":[]}`, `error: numbers: is empty`},
	{"convert_number_base", `{"number":"0xff","to":2}`, `{"number":"11111111"}`},
	{"convert_number_base", `{"number":"zz","from":36,"to":10}`, `{"number":"1295"}`},
	{"convert_number_base", `{"number":"12","from":2,"to":10}`, `error: number "12": not a whole number in base 2`},
	{"factor_integer", `{"number":360}`, `{"factors":[2,2,2,3,3,5],"prime":false}`},
	{"factor_integer", `{"number":999999999989}`, `{"factors":[999999999989],"prime":true}`},
	{"distance_between_points", `{"from":{"latitude":0,"longitude":0},"to":{"latitude":0,"longitude":180}}`, `{"distance":20015.114,"unit":"km"}`},

	{"csv_to_json", `{"csv":"a;b\n1;x\n;true\n","delimiter":";","typed":true}`, `{"rows":[{"a":1,"b":"x"},{"a":null,"b":true}]}`},
	{"csv_to_json", `{"csv":"a,b\n1\n"}`, `error: read csv: record on line 2: wrong number of fields`},
	{"csv_to_json", `{"csv":""}`, `error: read csv: no first line with the names of columns`},
	{"json_to_csv", `{"rows":[{"b":"x,y","a":1.5},{"a":null,"c":[1]}]}`, `{"csv":"a,b,c\n1.5,\"x,y\",\n,,[1]\n"}`},
	{"query_table", `{"rows":` + rows + `,"where":[{"column":"n","op":">","value":3}],"order_by":[{"column":"n","descending":true}],"columns":["n"]}`, `{"rows":[{"n":5},{"n":4}]}`},
	{"query_table", `{"rows":` + rows + `,"where":[{"column":"city","op":"contains","value":"OS"}],"limit":1}`, `{"rows":[{"city":"Oslo","n":3}]}`},
	{"query_table", `{"rows":` + rows + `,"where":[{"column":"n","op":"=","value":null}]}`, `{"rows":[{"city":"Bern"}]}`},
	{"aggregate_table", `{"rows":` + rows + `,"group_by":["city"],"measures":[{"function":"sum","column":"n"},{"function":"count","as":"rows"}]}`, `{"rows":[{"city":"Oslo","rows":2,"sum_n":7},{"city":"Rome","rows":1,"sum_n":5},{"city":"Bern","rows":1,"sum_n":null}]}`},
	{"aggregate_table", `{"rows":` + rows + `,"measures":[{"function":"avg","column":"n"},{"function":"min","column":"n"},{"function":"max","column":"n"},{"function":"count","column":"n"}]}`, `{"rows":[{"avg_n":4,"min_n":3,"max_n":5,"count_n":3}]}`},
	{"aggregate_table", `{"rows":[{}],"measures":[{"function":"sum"}]}`, `error: measure sum: needs a column`},
	{"join_tables", `{"left":[{"k":"a","v":1},{"k":"b"}],"right":[{"id":"a","v":2}],"on":{"left":"k","right":"id"},"kind":"left"}`, `{"rows":[{"k":"a","v":1,"right_v":2},{"k":"b"}]}`},
	{"join_tables", `{"left":[{"k":"a"},{"k":"b"}],"right":[{"k":"a"}],"on":{"left":"k","right":"k"}}`, `{"rows":[{"k":"a"}]}`},
	{"table_to_markdown", `{"rows":[{"a":"x|y","b":2}]}`, `{"markdown":"| a | b |\n| --- | --- |\n| x\\|y | 2 |\n"}`},
	{"get_json_value", `{"json":"{\"a/b\":[{\"c\":1}]}","pointer":"/a~1b/0/c"}`, `{"type":"number","value":1}`},
	{"get_json_value", `{"json":"[1]","pointer":"/01"}`, `error: pointer "/01": nothing at step 1 ("01")`},
	{"get_json_value", `{"json":"[1]","pointer":"a"}`, `error: pointer "a": must be empty or begin with /`},
	{"merge_json", `{"target":"{\"a\":1,\"b\":{\"c\":1,\"d\":2}}","patch":"{\"b\":{\"c\":null,\"e\":{\"f\":null}}}"}`, `{"json":"{\"a\":1,\"b\":{\"d\":2,\"e\":{}}}"}`},
	{"merge_json", `{"target":"{","patch":"{}"}`, `error: read target: unexpected end of JSON input`},
}

func TestEveryToolWorks(t *testing.T) {
	c := connect(t, start(t, Options{Root: seeded(t)}))
	untested := listed(t, c)
	if n := len(untested); n < 30 || n > 40 {
		t.Errorf("%d tools, want 30 to 40", n)
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
	for _, name := range []string{"list_directory", "find_files", "file_info"} { // see TestFolders
		delete(untested, name)
	}
	for name := range untested {
		t.Errorf("%s: no call in the table", name)
	}
}

func TestFolders(t *testing.T) {
	c := connect(t, start(t, Options{Groups: []string{"files"}, Root: seeded(t)}))
	names := func(tool, args string) string {
		var out entriesOut
		if err := json.Unmarshal([]byte(call(t, c, tool, args)), &out); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range out.Entries {
			names = append(names, e.Path+":"+e.Kind)
		}
		return strings.Join(names, " ")
	}
	for _, k := range []struct{ tool, args, want string }{
		{"list_directory", `{}`, "config:folder notes.txt:file reports:folder sales.csv:file"},
		{"list_directory", `{"path":"reports"}`, "reports/2025.md:file reports/2026-q1.md:file"},
		{"list_directory", `{"path":"config","recursive":true}`, "config/app.json:file"},
		{"find_files", `{"pattern":"*.md"}`, "reports/2025.md:file reports/2026-q1.md:file"},
		{"find_files", `{"pattern":"*.md","path":"config"}`, ""},
	} {
		if got := names(k.tool, k.args); got != k.want {
			t.Errorf("%s %s: got %q, want %q", k.tool, k.args, got, k.want)
		}
	}
	var info fileEntry
	if err := json.Unmarshal([]byte(call(t, c, "file_info", `{"path":"sales.csv"}`)), &info); err != nil || info.Bytes != int64(len(seeds["sales.csv"])) || info.Kind != "file" {
		t.Errorf("file_info: got %+v, %v", info, err)
	}
	if got := call(t, c, "find_files", `{"pattern":"["}`); got != `error: pattern "[": syntax error in pattern` {
		t.Errorf("find_files [: got %s", got)
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
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip("symbolic links cannot be made here:", err)
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
			"append_text":     `{"path":` + arg + `,"text":"x"}`,
			"move_file":       `{"from":"notes.txt","to":` + arg + `}`,
		} {
			if got := call(t, c, tool, args); !strings.HasPrefix(got, "error: ") {
				t.Errorf("%s %s: got %s", tool, p, got)
			}
		}
	}
	for _, tool := range []string{"list_directory", "search_in_files", "find_files"} {
		got := call(t, c, tool, `{"path":"link","pattern":"."}`)
		if tool == "list_directory" {
			got = call(t, c, tool, `{"path":"link"}`)
		}
		if !strings.HasPrefix(got, "error: ") {
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
		{o: Options{}, want: []string{"change_case", "calculate", "query_table", "current_time"}},
		{o: Options{Root: dir, Groups: []string{"files"}}, want: []string{"read_text_file"}},
		{o: Options{Groups: []string{"files"}}, err: `group "files": needs a folder`},
		{o: Options{Groups: []string{"food"}}, err: `group "food": unknown, want some of files, text, time, numbers, tables`},
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
		{"2*3^2", 18, ""}, {"2^3^2", 512, ""}, {"-2^2", -4, ""}, {"2^-1", .5, ""}, {"7 % 4", 3, ""}, {"1-2-3", -4, ""},
		{"max(1, 2, min(3, 4))", 3, ""}, {"1.5e2", 150, ""}, {"2e", 0, `unexpected "e"`}, {"2 e", 0, `unexpected "e"`},
		{"--3", 3, ""}, {"round(sqrt(2)*100)", 141, ""}, {"log(1000) + ln(e)", 4, ""}, {"x", 0, `"x" is no variable`},
		{"f(1)", 0, `"f" is no function`}, {"(1", 0, "missing )"}, {"max(1", 0, "missing ) after max"}, {"", 0, "ends too early"},
		{"1 +", 0, "ends too early"}, {"1.2.3", 0, `"1.2.3" is no number`}, {"5 % 0", 0, "division by zero"}, {"$", 0, `unexpected "$"`},
		{strings.Repeat("(", 1000), 0, "nested too deeply"}, {strings.Repeat("2^", 1000) + "2", 0, "nested too deeply"},
	} {
		got, err := evaluate(k.expression, nil)
		if k.err != "" {
			if err == nil || !strings.HasSuffix(err.Error(), ": "+k.err) {
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
	f.Add("2*(3+x)^2")
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
