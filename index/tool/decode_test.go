package tool

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	raw := json.RawMessage(`{
		"name": "read_file", "description": "Read a file",
		"annotations": {"title": "Read File", "readOnlyHint": true},
		"inputSchema": {"type": "object", "examples": [{"path": "/a"}],
			"properties": {"path": {"type": "string", "examples": ["/tmp/x", 9007199254740993]}}},
		"_meta": {"com.example/tags": ["fs", "FS", "", 7], "category": " Files ",
			"examples": [{"description": "reads", "arguments": {"path": "/b"}}, "no object"],
			"_fastmcp": {"tags": ["io"]}},
		"unknown": 1}`)
	got, err := Decode("files", raw)
	if err != nil {
		t.Fatal(err)
	}
	want := Tool{
		Server: "files", Name: "read_file", Raw: raw,
		Title: "Read File", Description: "Read a file",
		Tags: []string{"fs", "io"}, Category: "Files",
		Examples: []Example{
			{Arguments: json.RawMessage(`{"path": "/a"}`)},
			{Description: "a value of path", Arguments: json.RawMessage(`{"path":"/tmp/x"}`)},
			{Description: "a value of path", Arguments: json.RawMessage(`{"path":9007199254740993}`)},
			{Description: "reads", Arguments: json.RawMessage(`{"path": "/b"}`)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:            `decode tool of server "s": not a JSON object: []`,
		`{"name": "a"`:  `decode tool of server "s": not a JSON object: {"name": "a"`,
		`null`:          `decode tool of server "s": not a JSON object: null`,
		`{}`:            `decode tool of server "s": no name: {}`,
		`{"name": ""}`:  `decode tool of server "s": no name: {"name": ""}`,
		`{"name": {} }`: `decode tool of server "s": no name: {"name": {} }`,
	} {
		if _, err := Decode("s", json.RawMessage(raw)); err == nil || err.Error() != want {
			t.Errorf("%s: got error %v, want %s", raw, err, want)
		}
	}
}

// nested is an object schema with n levels of arrays in it.
func nested(n int) string {
	return `{"type": "object", "x": ` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
}

func TestInputSchema(t *testing.T) {
	for _, c := range []struct {
		name, schema     string // "" leaves the member out
		json             string // "" means as sent
		warning, useless string // substrings
	}{
		{name: "usual", schema: `{"type": "object", "properties": {}}`},
		{name: "missing", json: `{"type":"object"}`, warning: "has no inputSchema"},
		{name: "null", schema: `null`, json: `{"type":"object"}`, warning: "is null instead of an object"},
		{name: "true", schema: `true`, json: `{"type":"object"}`, warning: "is true instead of an object"},
		{name: "string", schema: `"object"`, json: `{"type":"object"}`, warning: `is "object" instead of an object`},
		{name: "empty", schema: `{}`, json: `{"type":"object"}`, warning: `has no "type"`},
		{name: "no type", schema: `{"properties": {"a": true}}`, json: `{"type":"object","properties":{"a": true}}`, warning: `has no "type"`},
		{name: "nullable", schema: `{"type": ["object", "null"], "required": []}`, json: `{"type":"object","required":[]}`, warning: `has "type": ["object", "null"]`},
		{name: "recursive", schema: `{"type": "object", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}`},
		{name: "own id", schema: `{"type": "object", "$id": "https://a.example/s", "properties": {"a": {"$ref": "https://a.example/s#/properties/a"}}}`},
		{name: "remote", schema: `{"type": "object", "properties": {"a": {"$ref": "https://a.example/s.json"}}}`, useless: "refers to another document (https://a.example/s.json)"},
		{name: "remote in a list", schema: `{"type": "object", "anyOf": [{"$ref": "other.json#/x"}]}`, useless: "other.json"},
		{name: "escaped remote", schema: `{"type": "object", "anyOf": [{"$re\u0066": "other.json"}]}`, useless: "other.json"},
		{name: "a parameter called $ref", schema: `{"type": "object", "properties": {"$ref": {"type": "string"}}}`},
		{name: "data that looks remote", schema: `{"type": "object", "default": {"$ref": "x.json"}}`},
		{name: "depth at the limit", schema: nested(MaxSchemaDepth)},
		{name: "too deep", schema: nested(MaxSchemaDepth + 1), json: `{"type":"object"}`, useless: "nested 65 deep, the limit is 64"},
		{name: "1 MB", schema: `{"type": "object", "description": "` + strings.Repeat("x", 1<<20) + `"}`, json: `{"type":"object"}`, useless: "bytes, the limit is 524288"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := `{"name": "a", "inputSchema": ` + c.schema + `}`
			if c.schema == "" {
				raw = `{"name": "a"}`
			}
			s := InputSchema(json.RawMessage(raw))
			if c.json == "" {
				c.json = c.schema
			}
			if string(s.JSON) != c.json {
				t.Errorf("got schema %s, want %s", brief(s.JSON), brief([]byte(c.json)))
			}
			if got := strings.Join(s.Warnings, "\n"); (got == "") != (c.warning == "") || !strings.Contains(got, c.warning) {
				t.Errorf("got warning %q, want %q", got, c.warning)
			}
			if got := s.Unusable; (got == "") != (c.useless == "") || !strings.Contains(got, c.useless) {
				t.Errorf("got unusable %q, want %q", got, c.useless)
			}
			tool, err := Decode("s", json.RawMessage(raw))
			if err != nil || tool.Inexecutable != s.Unusable {
				t.Errorf("decoded tool: inexecutable %q, error %v", tool.Inexecutable, err)
			}
		})
	}
}

func TestDecodeOddities(t *testing.T) {
	for raw, want := range map[string]string{
		`{"name": "a", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}`: "it runs only as a task, which this gateway does not support",
		`{"name": "a", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}`: "",
	} {
		tool, err := Decode("s", json.RawMessage(raw))
		if err != nil || tool.Inexecutable != want || len(tool.Warnings) > 0 {
			t.Errorf("%s: got %q, warnings %v, error %v", raw, tool.Inexecutable, tool.Warnings, err)
		}
	}
	long := strings.Repeat("n", 1000)
	tool, err := Decode("s", json.RawMessage(`{"name": "`+long+`", "title": 7, "description": ["x"], "inputSchema": {"type": "object"}}`))
	if err != nil || tool.Name != long {
		t.Fatal(err)
	}
	want := []string{
		"its name has 1000 characters, clients may refuse more than 128",
		`its description is ["x"] instead of a string`,
		"its title is 7 instead of a string",
	}
	if diff := cmp.Diff(want, tool.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestParameters(t *testing.T) {
	raw := json.RawMessage(`{"inputSchema": {"properties": {
		"zeta": {"description": "last letter", "enum": ["b", 1, true]},
		"alpha": {"type": "array", "description": "first", "items": {"properties": {"in\"ner": {"description": "caf\u00e9"}}}},
		"any": true,
		"one": {"properties": {"two": {"properties": {"three": {"properties": {"four": {"properties": {"five": {}}}}}}}}}
	}}}`)
	got := ParametersOf(raw)
	if diff := cmp.Diff([]string{"zeta", "alpha", `in"ner`, "any", "one", "two", "three", "four"}, got.Names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"last letter", "b 1 true", "first", "café"}, got.Texts); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"a","inputSchema":{"type":"object","properties":{"p":{"enum":[1,"x"],"items":{}}},"examples":[{}]},"_meta":{"tags":["x"]}}`))
	f.Add([]byte(`{"name":"\ud800","_meta":{"a/tags":[[]]},"inputSchema":{"$ref":"#"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tool, err := Decode("s", data)
		if err != nil {
			return
		}
		if s := InputSchema(data); !json.Valid(s.JSON) {
			t.Errorf("the schema made of %q is no JSON: %q", data, s.JSON)
		}
		for _, e := range tool.Examples {
			if !json.Valid(e.Arguments) {
				t.Errorf("example %q is no JSON", e.Arguments)
			}
		}
		ParametersOf(data)
	})
}

// Walking JSON without a decoder must see what a decoder sees.
func FuzzEachMember(f *testing.F) {
	f.Add([]byte(`{"a" : {"b":[1,"}"]} , "c\n":null,"d":-1e5,"":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			eachMember(data, func(string, json.RawMessage) bool { return true }) // must not panic
			return
		}
		got := map[string]json.RawMessage{}
		eachMember(data, func(k string, v json.RawMessage) bool {
			got[k] = v
			return true
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", data, diff)
		}
	})
}

// TestRealCatalog decodes tools of real servers where a copy of their lists is
// at hand: TOOLDEX_TEST_CATALOG names a folder of tools/list results.
func TestRealCatalog(t *testing.T) {
	dir := os.Getenv("TOOLDEX_TEST_CATALOG")
	if dir == "" {
		t.Skip("TOOLDEX_TEST_CATALOG is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no lists in %s: %v", dir, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		eachElement(member(data, "tools"), func(raw json.RawMessage) bool {
			tool, err := Decode("s", raw)
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			if tool.Inexecutable != "" || len(tool.Warnings) > 0 {
				t.Logf("%s: %s: %s %v", filepath.Base(file), tool.Name, tool.Inexecutable, tool.Warnings)
			}
			return true
		})
	}
}
