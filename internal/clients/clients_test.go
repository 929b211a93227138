package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/internal/settings"
)

func system(env map[string]string) System {
	return System{OS: "linux", Home: "/home/ann", Dir: "/work/shop", Getenv: func(n string) string { return env[n] }}
}

// files are one of every client, as its documentation has it, and broken ones.
var files = []struct {
	name, client, file, text string
	env                      map[string]string
	want                     []Server
	err                      string
}{
	{
		name: "claude desktop", client: "claude-desktop", file: "claude_desktop_config.json",
		text: `{"globalShortcut":"","mcpServers":{"filesystem":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/home/ann"]}}}`,
		want: []Server{{Name: "filesystem", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/home/ann"}}},
	},
	{
		name: "claude code", client: "claude-code", file: ".claude.json",
		text: `{"projects":{"/work/shop":{"mcpServers":{"local":{"type":"stdio","command":"srv","env":{"PORT":8080}}}},"/other":{"mcpServers":{"no":{"command":"x"}}}},
				"mcpServers":{"api":{"type":"http","url":"${API:-https://api.example.com}/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}}}`,
		env: map[string]string{"TOKEN": "t"},
		want: []Server{
			{Name: "api", Type: "http", URL: "${API:-https://api.example.com}/mcp", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}},
			{Name: "local", Command: "srv", Env: map[string]string{"PORT": "8080"}},
		},
	},
	{
		name: "cursor", client: "cursor", file: ".cursor/mcp.json",
		text: `{"mcpServers":{"gh":{"command":"${userHome}/bin/gh-mcp","args":["--root","${workspaceFolder}"],"env":{"TOKEN":"${env:GH}"}},"sse":{"url":"https://x.example/sse"}}}`,
		want: []Server{
			{Name: "gh", Command: "/home/ann/bin/gh-mcp", Args: []string{"--root", "DIR"}, Env: map[string]string{"TOKEN": "${env:GH}"}, Disabled: true, Notes: []string{"set GH, then remove disabled"}},
			{Name: "sse", URL: "https://x.example/sse"},
		},
	},
	{
		name: "vs code", client: "vscode", file: ".vscode/mcp.json",
		text: `{ // servers of this folder
				"inputs": [{"type":"promptString","id":"api-key","password":true}],
				"servers": {"perplexity": {"type":"stdio","command":"npx","args":["-y","server-perplexity"],"env":{"KEY":"${input:api-key}"},"envFile":".env"},
				"fetch": {"type":"http","url":"https://api.example.com/mcp"},}, }`,
		want: []Server{
			{Name: "fetch", Type: "http", URL: "https://api.example.com/mcp"},
			{Name: "perplexity", Command: "npx", Args: []string{"-y", "server-perplexity"}, Env: map[string]string{"KEY": "${API_KEY}"}, Disabled: true,
				Notes: []string{"its envFile .env is not read: put the variables into env", "asks for an input: set API_KEY, then remove disabled"}},
		},
	},
	{
		name: "vs code settings", client: "vscode", file: "settings.json",
		text: `{"editor.tabSize":4,"projects":[1],"servers":"x","mcp":{"servers":{"a":{"command":"b"}}}}`,
		want: []Server{{Name: "a", Command: "b"}},
	},
	{
		name: "windsurf", client: "windsurf", file: "mcp_config.json",
		text: `{"mcpServers":{"figma":{"serverUrl":"https://f.example/mcp","headers":{"API":"k"},"disabled":true,"disabledTools":["x"]}}}`,
		want: []Server{{Name: "figma", URL: "https://f.example/mcp", Headers: map[string]string{"API": "k"}, Disabled: true,
			Tools: map[string]Tool{"x": {Hidden: true}}, Notes: []string{"the client has switched off x: hidden"}}},
	},
	{
		name: "codex tools", client: "codex", file: "config.toml",
		text: "[mcp_servers.a]\ncommand = \"x\"\nenabled_tools = [\"r\", \"w\"]\ndisabled_tools = [\"w\"]\n",
		want: []Server{{Name: "a", Command: "x", Hidden: true, Tools: map[string]Tool{"r": {}, "w": {Hidden: true}},
			Notes: []string{"the client shows only r, w: the others stay hidden", "the client has switched off w: hidden"}}},
	},
	{
		name: "gemini variables and tools", client: "gemini", file: "settings.json",
		text: `{"mcpServers":{"a":{"command":"$BIN/x","env":{"K":"$KEY","L":"${KEY}-$5"},"includeTools":["read(path)"],"excludeTools":["nuke"]},"b":{"command":"y","args":["$UNSET"]}}}`,
		env:  map[string]string{"BIN": "/bin", "KEY": "k"},
		want: []Server{
			{Name: "a", Command: "${BIN}/x", Env: map[string]string{"K": "${KEY}", "L": "${KEY}-$5"}, Hidden: true, Tools: map[string]Tool{"read": {}, "nuke": {Hidden: true}},
				Notes: []string{"the client shows only read(path): the others stay hidden", "the client has switched off nuke: hidden"}},
			{Name: "b", Command: "y", Args: []string{"${UNSET}"}, Disabled: true, Notes: []string{"set UNSET, then remove disabled"}},
		},
	},
	{
		name: "codex", client: "codex", file: "config.toml",
		text: "model = \"x\"\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\", \"docs\"]\nenv = { \"A\" = \"b\" }\ntool_timeout_sec = 90\n" +
			"[mcp_servers.figma]\nurl = \"https://f.example/mcp\"\nbearer_token_env_var = \"FIGMA\"\nhttp_headers = { \"X-R\" = \"eu\" }\nenv_http_headers = { \"X-K\" = \"KEY\" }\nenabled = false\n",
		env: map[string]string{"FIGMA": "f", "KEY": "k"},
		want: []Server{
			{Name: "docs", Command: "npx", Args: []string{"-y", "docs"}, Env: map[string]string{"A": "b"}, Timeout: "1m30s"},
			{Name: "figma", Type: "http", URL: "https://f.example/mcp", Headers: map[string]string{"X-R": "eu", "X-K": "${KEY}", "Authorization": "Bearer ${FIGMA}"}, Disabled: true},
		},
	},
	{
		name: "gemini", client: "gemini", file: "settings.json",
		text: `{"theme":"x","mcp":{"allowed":["a"]},"mcpServers":{"py":{"command":"python","args":["-m","srv"],"cwd":"./x","timeout":15000,"trust":true},"h":{"httpUrl":"http://localhost:3000/mcp"},"s":{"url":"http://localhost:3000/sse"}}}`,
		want: []Server{
			{Name: "h", Type: "http", URL: "http://localhost:3000/mcp"},
			{Name: "py", Command: "python", Args: []string{"-m", "srv"}, Cwd: "./x", Timeout: "15s"},
			{Name: "s", Type: "sse", URL: "http://localhost:3000/sse"},
		},
	},
	{
		name: "zed", client: "zed", file: "settings.json",
		text: `// Zed settings
				{"context_servers":{"new":{"source":"custom","command":"srv","args":["a"],"env":{"K":"${v}"}},"old":{"command":{"path":"prog","args":["x"],"env":{"E":"1"}},"settings":{}},"ext":{"settings":{}},"web":{"url":"https://z.example/mcp"}}}`,
		want: []Server{
			{Name: "ext", Disabled: true, Notes: []string{"has neither command nor url (an extension of the client provides it)"}},
			{Name: "new", Command: "srv", Args: []string{"a"}, Env: map[string]string{"K": "${v}"}},
			{Name: "old", Command: "prog", Args: []string{"x"}, Env: map[string]string{"E": "1"}},
			{Name: "web", URL: "https://z.example/mcp"},
		},
	},
	{name: "empty", file: "mcp.json", text: "\n"},
	{name: "no servers", file: "mcp.json", text: `{"a":1}`},
	{name: "unknown placeholder", client: "vscode", file: "mcp.json", text: `{"servers":{"a":{"command":"x","args":["${command:pick}"]}}}`,
		want: []Server{{Name: "a", Command: "x", Args: []string{"{command:pick}"}, Disabled: true, Notes: []string{"${command:pick} means nothing outside the client: replace it, then remove disabled"}}}},
	{name: "broken json", file: "mcp.json", text: `{"mcpServers":`, err: "hujson: line 1, column 15: parsing value: unexpected EOF"},
	{name: "wrong type", file: "mcp.json", text: `{"mcpServers":[]}`, err: "mcpServers: a array is not what belongs there"},
	{name: "wrong entry", file: "mcp.json", text: `{"mcpServers":{"a":{"command":"x","args":"y"}}}`, err: `server "a": args: a string is not what belongs there`},
	{name: "broken toml", file: "c.toml", text: "a = 1\nb =\n", err: "line 2: toml: unexpected character U+000A at start of value"},
}

func TestReadEveryClient(t *testing.T) {
	for _, k := range files {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.FromSlash(k.file))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(k.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := system(k.env).Read(Location{k.client, path})
			if k.err != "" {
				if want := "read " + path + ": " + k.err; err == nil || err.Error() != want {
					t.Fatalf("got %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				for j := range got[i].Args {
					got[i].Args[j] = strings.ReplaceAll(got[i].Args[j], dir, "DIR")
				}
			}
			if d := cmp.Diff(k.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	if _, err := system(nil).Read(Location{"cursor", "/none/at/all.json"}); !os.IsNotExist(err) {
		t.Errorf("missing file: got %v", err)
	}
}

func TestFilesOfEverySystem(t *testing.T) {
	for _, k := range []struct {
		os   string
		env  map[string]string
		want []string
	}{
		{"linux", nil, []string{"/h/.config/Claude/claude_desktop_config.json", "/h/.config/Code/User/mcp.json", "/h/.config/zed/settings.json", "/h/.codex/config.toml"}},
		{"linux", map[string]string{"XDG_CONFIG_HOME": "/x", "CODEX_HOME": "/c"}, []string{"/x/zed/settings.json", "/c/config.toml"}},
		{"darwin", nil, []string{"/h/Library/Application Support/Claude/claude_desktop_config.json", "/h/Library/Application Support/Code/User/mcp.json", "/h/.config/zed/settings.json"}},
		{"windows", map[string]string{"APPDATA": "/a"}, []string{"/a/Claude/claude_desktop_config.json", "/a/Code/User/mcp.json", "/a/Zed/settings.json", "/h/.codeium/windsurf/mcp_config.json"}},
	} {
		s := System{OS: k.os, Home: "/h", Dir: "/p", Getenv: func(n string) string { return k.env[n] }}
		have := map[string]bool{}
		clients := map[string]bool{}
		for _, l := range s.Files() {
			have[filepath.ToSlash(l.Path)] = true
			clients[l.Client] = true
		}
		for _, l := range s.ProjectFiles() {
			if own := filepath.ToSlash(l.Path); have[own] || !strings.HasPrefix(own, "/p/") || Names[l.Client] == "" {
				t.Errorf("%s: %+v is no file of the project alone", k.os, l)
			}
		}
		for _, w := range k.want {
			if !have[w] {
				t.Errorf("%s: %s is not among %v", k.os, w, have)
			}
		}
		if len(clients) != len(Names) {
			t.Errorf("%s: %d clients, want %d", k.os, len(clients), len(Names))
		}
	}
}

// No secret of any usual shape appears in a summary.
func TestSummaryHidesSecrets(t *testing.T) {
	for _, k := range []struct {
		server Server
		want   string
	}{
		{Server{Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/home/ann"}}, "npx -y @modelcontextprotocol/server-filesystem@2025.8.21 /home/ann"},
		{Server{Command: "srv", Args: []string{"--api-key", "s3cret", "--port", "80"}}, "srv --api-key ••• --port 80"},
		{Server{Command: "srv", Args: []string{"--api-key=s3cret", "TOKEN=s3cret", "-e", "s3cret"}}, "srv --api-key=••• TOKEN=••• -e •••"},
		{Server{Command: "srv", Args: []string{"--header", "Authorization: Bearer s3cret"}}, "srv --header •••"},
		{Server{Command: "srv", Args: []string{"Authorization: s3cret"}}, "srv Authorization:•••"},
		{Server{Command: "pg", Args: []string{"postgresql://ann:s3cret@db.example:5432/shop?sslkey=s3cret"}}, "pg postgresql://•••@db.example:5432/shop?sslkey=•••"},
		{Server{Command: "srv", Args: []string{"ghp_s3cretABCDEF", "sk-s3cret99"}}, "srv ••• •••"},
		{Server{URL: "https://mcp.example.com/s/Zm9vYmFyczNjcmV0YmF6cXV4/mcp?key=s3cret#s3cret"}, "https://mcp.example.com/s/•••/mcp?key=•••#•••"},
		{Server{URL: "https://mcp.example.com/mcp?s3cret"}, "https://mcp.example.com/mcp?•••"},
		{Server{URL: "${API_URL}"}, "${API_URL}"},
		{Server{Command: "srv", Env: map[string]string{"KEY": "s3cret"}, Headers: map[string]string{"X": "s3cret"}}, "srv"},
	} {
		if got := k.server.Summary(); got != k.want {
			t.Errorf("got %s, want %s", got, k.want)
		}
	}
	for _, line := range []string{
		"PASSWORD=s3cret srv", "export PASSWORD='s3cret x'; srv", `DB_PASSWORD="s3cret x" srv`, "srv --password s3cret", "srv --db-password 's3cret'",
		"srv --password=s3cret", "psql postgres://ann:s3cret@db/shop", "curl -u ann:s3cret https://a.example", "scp ann:s3cret@host:x .",
		"curl -H 'Authorization: Bearer s3cret' x", "srv bearer s3cret", "curl https://s3cret@a.example/x?k=s3cret&l=s3cret",
		"mysql -uroot -ps3cret shop", "srv --header 'X-Key: s3cret'", "srv '{\"token\": \"s3cret\"}'", "srv --url=https://ann:s3cret@a.example/?k=s3cret",
		"PASSWORD=s3cret curl http://a.example", "srv -p s3cret",
	} {
		forms := []Server{{Command: "sh", Args: []string{"-c", line}}, {Command: line}}
		if !strings.ContainsAny(line, `'"`) {
			forms = append(forms, Server{Command: "env", Args: strings.Fields(line)})
		}
		for _, s := range forms {
			if got := s.Summary(); strings.Contains(got, "s3cret") {
				t.Errorf("%s: got %s", line, got)
			}
		}
	}
	if got := (Server{Command: "sh", Args: []string{"-c", "PASSWORD=s3cret curl http://a.example"}}).Summary(); got != "sh -c PASSWORD=••• curl http://a.example" {
		t.Errorf("what runs must be seen: got %s", got)
	}
	for _, line := range []string{"cd /srv && npm run start -- --port 80", "docker run -i --rm mcp/fetch", "git@github.com clone"} {
		if got := (Server{Command: "sh", Args: []string{"-c", line}}).Summary(); got != "sh -c "+line {
			t.Errorf("hidden without need: got %s, want %s", got, line)
		}
	}
	s := Server{Env: map[string]string{"B": "1", "A": "2"}, Headers: map[string]string{"H": "3"}}
	if got := strings.Join(s.Secrets(), " "); got != "A B H" {
		t.Errorf("secrets: got %s", got)
	}
}

func TestPlan(t *testing.T) {
	have := []Server{{Name: "git", Command: "git-mcp"}, {Name: "off", Command: "x", Disabled: true}}
	found := []Found{
		{Location{"cursor", "c.json"}, []Server{
			{Name: "git", Command: "git-mcp", Env: map[string]string{}},
			{Name: "Git", Command: "other-git"},
			{Name: "my server!", URL: "https://a.example/mcp"},
			{Name: "me", Command: "/opt/tooldex", Args: []string{"serve", "--stdio"}},
			{Name: "me2", URL: "http://localhost:7420/mcp"},
			{Name: "me3", Command: "npx", Args: []string{"mcp-remote", "http://127.0.0.1:7420/mcp"}},
			{Name: "me4", Command: "go", Args: []string{"run", "./cmd/tooldex", "serve"}},
			{Name: "me5", Command: `C:\bin\Tooldex.exe`},
			{Name: "sample", Command: "tooldex", Args: []string{"sample-server"}},
			{Name: "empty"},
		}},
		{Location{"zed", "z.json"}, []Server{
			{Name: "same", URL: "https://a.example/mcp", Type: "http"},
			{Name: "git", Command: "third-git"},
			{Name: "GIT", Command: "fourth-git"},
			{Name: "web", URL: "http://localhost:7421/mcp"},
		}},
	}
	var got []string
	for _, r := range MakePlan(found, have, "127.0.0.1:7420").Rows {
		got = append(got, strings.Join([]string{r.From.Client, r.Was, r.Name, r.Action, r.Why}, "|"))
	}
	want := []string{
		"cursor||git|skip|already there",
		"cursor|Git|Git-cursor|add|another server has this name",
		"cursor|my server!|my-server|add|",
		"cursor||me|skip|is tooldex itself", "cursor||me2|skip|is tooldex itself", "cursor||me3|skip|is tooldex itself",
		"cursor||me4|skip|is tooldex itself", "cursor||me5|skip|is tooldex itself",
		"cursor||sample|add|",
		"cursor||empty|skip|has neither command nor url",
		"zed||same|skip|already there as my-server",
		"zed|git|git-zed|add|another server has this name",
		"zed|GIT|GIT-zed-2|add|another server has this name",
		"zed||web|add|",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := len(MakePlan(found, have, "").Added()); n < 5 {
		t.Errorf("%d added, want at least 5", n)
	}
	if got := cleanName("→"); got != "server" {
		t.Errorf("cleanName: got %q", got)
	}
}

// A server that is there with another key is an update, not another server.
func TestPlanUpdates(t *testing.T) {
	server := func(name, key string) Server {
		return Server{Name: name, Command: "x", Env: map[string]string{"KEY": key, "SAME": "s"}}
	}
	have := []Server{server("a", "old"), server("b", "${B_KEY}"), server("c", "c"), {Name: "d", Command: "x", Env: map[string]string{"SAME": "s", "KEY": "d", "MORE": "m"}}}
	other := server("c", "c")
	other.Args = []string{"other"}
	found := []Found{
		{Location{"cursor", "/c"}, []Server{server("a", "new"), server("b", "literal"), other, server("d", "d")}},
		{Location{"zed", "/z"}, []Server{server("a", "new"), server("A", "third")}},
	}
	var got []string
	for _, r := range MakePlan(found, have, "").Rows {
		got = append(got, strings.Join([]string{r.Name, r.Action, strings.Join(r.Differ, ","), r.Why}, "|"))
	}
	want := []string{
		"a|update|KEY|has another KEY", "b|skip|KEY|has another KEY, which the configuration takes from a variable",
		"c-cursor|add||another server has this name", "d|skip||already there, with more variables",
		"a|skip||already there", "a|skip|KEY|another client has yet another KEY",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAppend(t *testing.T) {
	add := []Server{
		{Name: "git", Command: "npx", Args: []string{"-y", "git"}, Env: map[string]string{"T": "${T}"}, Disabled: true},
		{Name: "web.1", URL: "https://a.example/mcp", Type: "http"},
	}
	const yamlAdded = "  git:\n    command: npx\n    args:\n      - -y\n      - git\n    env:\n      T: ${T}\n    disabled: true\n  web.1:\n    type: http\n    url: https://a.example/mcp\n"
	for _, k := range []struct{ name, config, want string }{
		{"nothing", "", "mcpServers:\n" + yamlAdded},
		{"comments only", "# mine\n", "# mine\nmcpServers:\n" + yamlAdded},
		{"no servers", "# mine\nlisten: 127.0.0.1:1 # port\n", "# mine\nlisten: 127.0.0.1:1 # port\nmcpServers:\n" + yamlAdded},
		{"null", "mcpServers:\n", "mcpServers:\n" + yamlAdded},
		{"flow", "mcpServers: {}\n", "mcpServers:\n" + yamlAdded},
		{"some", "mcpServers:\n  # first\n  a:\n    command: b # why\nlisten: x\n", "mcpServers:\n  # first\n  a:\n    command: b # why\n" + yamlAdded + "listen: x\n"},
		{"json", "{\n\t// mine\n\t\"mcpServers\": {\"a\": {\"command\": \"b\"}}\n}\n", "{\n\t// mine\n\t\"mcpServers\": {\"a\": {\"command\": \"b\"},\n\t\t\"git\": {\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": [\n\t\t\t\t\"-y\",\n\t\t\t\t\"git\"\n\t\t\t],\n\t\t\t\"env\": {\n\t\t\t\t\"T\": \"${T}\"\n\t\t\t},\n\t\t\t\"disabled\": true\n\t\t},\n\t\t\"web.1\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"https://a.example/mcp\"\n\t\t}\n\t}\n}\n"},
	} {
		t.Run(k.name, func(t *testing.T) {
			got, err := Append(settings.Guess([]byte(k.config)), []byte(k.config), add)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(k.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			have, err := Have(got)
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, s := range have {
				names[s.Name] = true
			}
			if !names["git"] || !names["web.1"] {
				t.Errorf("have %v after the change", names)
			}
		})
	}
	for _, bad := range []string{"- a\n", "{\"mcpServers\": [", "a: [\n"} {
		if out, err := Append(settings.Guess([]byte(bad)), []byte(bad), add); err == nil {
			t.Errorf("%q: got %s", bad, out)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":{"path":"x"},"env":{"A":1}}}}`), "a.json")
	f.Add([]byte("[mcp_servers.a]\nurl='x'"), "a.toml")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		servers, err := system(nil).parse(Location{"", name}, data) // must not panic
		if err == nil {
			MakePlan([]Found{{Servers: servers}}, nil, "127.0.0.1:7420")
		}
	})
}
