package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type entry struct {
	Command string   `yaml:"command,omitempty" json:"command,omitempty"`
	Args    []string `yaml:"args,omitempty" json:"args,omitempty"`
}

const yamlText = `# mine
listen: 127.0.0.1:1   # here

mcpServers:
  # the first
  one:
    command: a   # aligned

  # the second
  two:
    command: b
    disabled: true

# about logs
log: {level: info}
`

func TestEdit(t *testing.T) {
	added := entry{Command: "x y", Args: []string{"-a"}}
	for name, k := range map[string]struct {
		format Format
		text   string
		value  any
		path   string
		want   string // "same but" is replaced: old → new pairs
	}{
		"yaml add":          {YAML, yamlText, added, "mcpServers.three", strings.Replace(yamlText, "disabled: true\n", "disabled: true\n  three:\n    command: x y\n    args:\n      - -a\n", 1)},
		"yaml remove first": {YAML, yamlText, nil, "mcpServers.one", strings.Replace(yamlText, "  # the first\n  one:\n    command: a   # aligned\n", "", 1)},
		"yaml remove last":  {YAML, yamlText, nil, "mcpServers.two", strings.Replace(yamlText, "  # the second\n  two:\n    command: b\n    disabled: true\n", "", 1)},
		"yaml disable":      {YAML, yamlText, true, "mcpServers.one.disabled", strings.Replace(yamlText, "# aligned\n", "# aligned\n    disabled: true\n", 1)},
		"yaml enable":       {YAML, yamlText, nil, "mcpServers.two.disabled", strings.Replace(yamlText, "    disabled: true\n", "", 1)},
		"yaml absent":       {YAML, yamlText, nil, "mcpServers.four", yamlText},
		"yaml empty":        {YAML, "", added, "mcpServers.a", "mcpServers:\n  a:\n    command: x y\n    args:\n      - -a\n"},
		"yaml comments":     {YAML, "# only this\n", entry{Command: "c"}, "mcpServers.a", "# only this\nmcpServers:\n  a:\n    command: c\n"},
		"yaml new section":  {YAML, "listen: x\n", entry{Command: "c"}, "mcpServers.a", "listen: x\nmcpServers:\n  a:\n    command: c\n"},
		"yaml null section": {YAML, "mcpServers:\nlisten: x\n", entry{Command: "c"}, "mcpServers.a", "mcpServers:\n  a:\n    command: c\nlisten: x\n"},
		"yaml flow":         {YAML, "mcpServers: {a: {command: b}}\n", true, "mcpServers.a.disabled", "mcpServers: {a: {command: b, disabled: true}}\n"},
		"yaml crlf":         {YAML, "a: 1\r\nmcpServers:\r\n  b:\r\n    command: c\r\n", true, "mcpServers.b.disabled", "a: 1\r\nmcpServers:\r\n  b:\r\n    command: c\r\n    disabled: true\r\n"},
		"yaml no end":       {YAML, "mcpServers:\n  b:\n    command: c", true, "mcpServers.b.disabled", "mcpServers:\n  b:\n    command: c\n    disabled: true\n"},
		"yaml last one":     {YAML, "mcpServers:\n  b:\n    command: c\n", nil, "mcpServers.b", "mcpServers: {}\n"},

		"json add":      {JSON, "{\n\t// c\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"}, // x\n\t},\n}\n", entry{Command: "c"}, "mcpServers.b", "{\n\t// c\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"},\n\t\t\"b\": {\n\t\t\t\"command\": \"c\"\n\t\t}, // x\n\t},\n}\n"},
		"json section":  {JSON, "\xef\xbb\xbf{\r\n    \"x\": [1, 2]\r\n}", entry{Command: "c"}, "mcpServers.b", "\xef\xbb\xbf{\r\n    \"x\": [1, 2],\r\n    \"mcpServers\": {\r\n        \"b\": {\r\n            \"command\": \"c\"\r\n        }\r\n    }\r\n}"},
		"json empty":    {JSON, "", entry{Command: "c"}, "s.b", "{\n  \"s\": {\n    \"b\": {\n      \"command\": \"c\"\n    }\n  }\n}\n"},
		"json replace":  {JSON, `{"big": 12345678901234567890, "s": {"a": 1}, "z": "<&>"}`, map[string]any{"b": 2}, "s", "{\"big\": 12345678901234567890, \"s\": {\n  \"b\": 2\n}, \"z\": \"<&>\"}"},
		"json remove":   {JSON, "{\n  // c\n  \"a\": 1,\n  \"b\": 2,\n}\n", nil, "b", "{\n  // c\n  \"a\": 1\n}\n"},
		"toml add":      {TOML, "model = \"x\" # m\n", map[string]any{"command": "c"}, "mcp_servers.tooldex", "model = \"x\" # m\n\n[mcp_servers.tooldex]\ncommand = 'c'\n"},
		"toml crlf":     {TOML, "a = 1\r\n[mcp_servers.x]\r\ncommand = \"c\"\r\n\r\n# p\r\n[p]\r\nb = 2\r\n", nil, "mcp_servers", "a = 1\r\n\r\n# p\r\n[p]\r\nb = 2\r\n"},
		"toml dotted":   {TOML, "mcp_servers.x.command = \"c\"\na = 1\n", nil, "mcp_servers", "a = 1\n"},
		"toml lines":    {TOML, "[a]\nb = 1\n[mcp_servers.x]\nargs = [\n  \"[y]\", # z\n]\ntext = \"\"\"\n[a.b]\n\"\"\"\n[mcp_servers.x.env]\nK = 'v'\n[c]\nd = 1\n", nil, "mcp_servers", "[a]\nb = 1\n[c]\nd = 1\n"},
		"toml inline":   {TOML, "mcp_servers = { x = { command = \"c\" } }\na = 1\n", nil, "mcp_servers", "a = 1\n"},
		"toml one of 2": {TOML, "[mcp_servers.x]\ncommand = \"c\"\n[mcp_servers.\"y z\"]\ncommand = \"d\"\n", nil, "mcp_servers.y z", "[mcp_servers.x]\ncommand = \"c\"\n"},
	} {
		got, err := edit(k.format, []byte(k.text), k.value, strings.Split(k.path, "."))
		if diff := cmp.Diff(k.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestEditRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "a": 2}`:                   `"a" is there twice`,
		`[1]`:                                "wrong",
		`{"s": 3}`:                           "s is no map of settings",
		"a: 1\n---\nb: 2\n":                  "more than one document",
		"x: &x {command: c}\ns:\n  b: *x\n":  "alias",
		"s: [1]\n":                           "s is no map of settings",
		"a: 1\na: 2\n":                       "already defined",
		"{\"s\": {\"b\": {}}, \"t\": oops}":  "invalid",
		"// c\n[1]":                          "no map of settings",
		"s: {b: {command: c}}\n  bad: [\n\t": "line",
	} {
		if out, err := Set(Guess([]byte(text)), []byte(text), true, "s", "b", "disabled"); err == nil || !strings.Contains(err.Error(), want) && want != "wrong" {
			t.Errorf("%q: %v, want %q; got\n%s", text, err, want, out)
		}
	}
}

// Of many copies the first and the newest stay, and what others have written.
func TestCopiesDoNotPileUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Ümläute und Blank.json")
	write(t, path, "0")
	write(t, path+".bak.2", "the user's own")
	write(t, path+".bak.old", "the user's own, too")
	for n := range 20 {
		f, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		copied, err := f.Keep()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(copied); err != nil || string(text) != fmt.Sprint(n) {
			t.Errorf("copy %d is %s with %q, %v", n, copied, text, err)
		}
		if n == 4 {
			write(t, copied, "edited since")
		}
		if n == 6 {
			write(t, path, "0") // as it was at first
			if again, err := Read(path); err != nil {
				t.Fatal(err)
			} else if copied, err := again.Keep(); err != nil || copied != path+".bak.3" {
				t.Errorf("the first text again is kept as %s, %v", copied, err)
			}
		}
		write(t, path, fmt.Sprint(n+1))
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, strings.TrimPrefix(e.Name(), filepath.Base(path)))
	}
	if want := []string{"", ".bak.18", ".bak.19", ".bak.2", ".bak.20", ".bak.21", ".bak.22", ".bak.3", ".bak.7", ".bak.old"}; !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with a blank", "und Ümläute 日本")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dir, "real.json")
	write(t, real, "{}")
	path := filepath.Join(dir, "link.json")
	if err := os.Symlink(real, path); err != nil && runtime.GOOS == "windows" {
		t.Skip(err) // it needs a privilege there
	} else if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Skip("no link was made:", info, err) // by wine
	}
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path+".bak", "another copy")
	for range 2 { // the second time there is one that holds the same
		if got, err := f.Keep(); err != nil || got != path+".bak.1" {
			t.Errorf("kept as %s, %v", got, err)
		}
	}
	if err := f.Replace([]byte("new")); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if text, err := os.ReadFile(real); err != nil || string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o644 && runtime.GOOS != "windows" {
		t.Errorf("mode %v, %v, want 0644", info.Mode(), err)
	}
	write(t, real, "somebody else's")
	if err := f.Replace([]byte("newer")); !errors.Is(err, ErrChanged) {
		t.Errorf("over another's text: %v", err)
	}
	gone, err := Read(filepath.Join(dir, "none.json"))
	if err != nil || gone.Exists() {
		t.Fatal(err)
	}
	write(t, gone.Path, "made meanwhile")
	if err := gone.Replace([]byte("x")); !errors.Is(err, ErrChanged) {
		t.Errorf("over a file that was made meanwhile: %v", err)
	}
	if err := os.Chmod(real, 0o444); err != nil {
		t.Fatal(err)
	}
	if f, err = Read(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace([]byte("x")); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only file: %v", err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("a folder was read")
	}
	os.Remove(real)
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a link to nothing: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever the text, what is not edited keeps its meaning, or nothing is changed.
func FuzzEdit(f *testing.F) {
	f.Add("yaml", yamlText)
	f.Add("json", "{\"a\": 1, // c\n \"s\": {\"x\": {}},}")
	f.Add("toml", "a = 1\n[s.x]\nb = \"\"\"\n[s.y]\"\"\"\n")
	f.Fuzz(func(t *testing.T, format, text string) {
		for _, value := range []any{true, nil} {
			out, err := edit(Format(format), []byte(text), value, []string{"s", "x"})
			if err == nil && len(out) == 0 && value != nil {
				t.Errorf("%q became nothing", text)
			}
		}
	})
}
