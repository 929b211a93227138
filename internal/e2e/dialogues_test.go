package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// blocks are what stands between fences in the part of a document after a
// heading.
func blocks(t *testing.T, document, heading string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", document))
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no heading %s", document, heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	for _, m := range regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$").FindAllStringSubmatch(part, -1) {
		out = append(out, m[1])
	}
	return out
}

// elapsed is what differs from run to run.
var elapsed = regexp.MustCompile(`"execution_time_ms":\d+`)

// same says whether an answer is the one that a document shows, in which …
// stands for what is left out.
func same(got, shown string) bool {
	got, shown = elapsed.ReplaceAllString(got, ""), elapsed.ReplaceAllString(shown, "")
	var a, b any
	if json.Unmarshal([]byte(got), &a) == nil && json.Unmarshal([]byte(shown), &b) == nil && !strings.Contains(shown, "{…}") {
		return reflect.DeepEqual(a, b)
	}
	return regexp.MustCompile(`^(?s)` + strings.ReplaceAll(regexp.QuoteMeta(shown), "…", ".*") + `$`).MatchString(got)
}

// The dialogues of docs/surfaces.md run as they stand there, over the sample
// servers of the demo.
func TestSurfaceDialogues(t *testing.T) {
	sample := func(group, description string) object {
		return object{"command": tooldex(t), "args": []string{"sample-server", "--group", group}, "description": description, "start": "eager"}
	}
	s := configureWith(t, object{
		"numbers": sample("numbers", "Sums and distances"), "text": sample("text", "Texts counted and sorted"), "time": sample("time", "Dates and time zones"),
	}, object{"toolboxes": object{"travel": object{
		"description": "distances and times", "servers": []string{"numbers", "time"}, "scope": object{"exclude_name_patterns": []string{"^calc", "^convert_units", "^summ"}},
	}}})
	if out, err := exec.Command(tooldex(t), "reindex", "--config", s.config).CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	for _, surface := range []string{"meta", "discover", "toolbox", "direct"} {
		t.Run(surface, func(t *testing.T) {
			cmd := exec.Command(tooldex(t), "serve", "--stdio", "--config", s.config, "--surface", surface)
			session := connect(t, &mcp.CommandTransport{Command: cmd}, "2025-06-18")
			asked := 0
			for _, block := range blocks(t, "surfaces.md", surface) {
				var call string
				for line := range strings.Lines(block) {
					line = strings.TrimSuffix(line, "\n")
					shown, answer := strings.CutPrefix(line, "→ ")
					if !answer {
						call = line
						continue
					}
					if got := answered(t, session, call); !same(got, shown) {
						t.Errorf("%s\n  answers %s\nand not  %s", call, got, shown)
					}
					asked++
				}
			}
			if asked == 0 {
				t.Error("the document shows no dialogue")
			}
		})
	}
}

// answered is the answer to a call as documents write it: the name of a
// meta-tool and its arguments, or tools/call and its parameters.
func answered(t *testing.T, s *mcp.ClientSession, call string) string {
	t.Helper()
	name, text, _ := strings.Cut(call, " ")
	p := &mcp.CallToolParams{Name: name}
	whole := name == "tools/call"
	var err error
	if whole {
		err = json.Unmarshal([]byte(text), p)
	} else {
		err = json.Unmarshal([]byte(text), &p.Arguments)
	}
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	res, err := s.CallTool(t.Context(), p)
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	if first, ok := res.Content[0].(*mcp.TextContent); ok && !whole {
		return first.Text
	}
	out, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The commands of docs/virtual-servers.md, those of curl among them, print what
// stands there, through a tooldex that serves.
func TestAPIDialogues(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if _, noCurl := exec.LookPath("curl"); err != nil || noCurl != nil || runtime.GOOS == "windows" {
		t.Skip("the document's commands are for a shell with curl")
	}
	ran := 0
	for _, block := range blocks(t, "virtual-servers.md", "Made while tooldex runs") {
		if !strings.HasPrefix(block, "$ ") {
			continue
		}
		d := newDialogue(t, shell)
		for i, step := range strings.Split("\n"+block, "\n$ ") {
			if i > 0 {
				d.step(step)
				ran++
			}
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands were run", ran)
	}
}

// A dialogue is a user at a shell, whose variables stay.
type dialogue struct {
	*testing.T
	shell, home string
	lines       []string // that set variables
	instead     []string // of what the document has, what there is here
}

func newDialogue(t *testing.T, shell string) *dialogue {
	t.Helper()
	home, err := os.MkdirTemp("", "docs") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	addr := freeAddress(t)
	d := &dialogue{T: t, shell: shell, home: home, instead: []string{"127.0.0.1:7420", addr}}
	config := filepath.Join(home, ".config", "tooldex", "tooldex.yaml")
	text := fmt.Sprintf(`listen: %q
mcpServers:
  text: {command: %q, args: [sample-server, --group, text], tags: [production, writing], start: eager}
  numbers: {command: %[2]q, args: [sample-server, --group, numbers], tags: [production], start: eager, tools: {distance_between_points: {tags: [deprecated]}}}
meta_server: {scope_templates: {production: {include_tags: [production, stable], exclude_tags: [experimental, deprecated]}}}
`, addr, tooldex(t))
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.run("tooldex reindex")
	start(t, d.env(), tooldex(t), "serve")
	waitHTTP(t, "http://"+addr+"/readyz", is200)
	return d
}

func (d *dialogue) env() []string {
	return []string{"HOME=" + d.home, "PATH=" + filepath.Dir(tooldex(d.T)) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "TOOLDEX_CONFIG=", "TOOLDEX_STATE=", "COLUMNS=400"}
}

func (d *dialogue) run(command string) string {
	d.Helper()
	cmd := exec.Command(d.shell, "-c", strings.Join(append(d.lines, command), "\n"))
	cmd.Env = append(os.Environ(), d.env()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.Fatalf("%s: %s %v", command, out, err)
	}
	return string(out)
}

var etag = regexp.MustCompile(`(?i)etag: "([0-9a-f]+)"`)

// step runs the first line of a step, whose other lines have to be printed in
// this order, maybe with others between.
func (d *dialogue) step(step string) {
	d.Helper()
	command, shown, _ := strings.Cut(step, "\n")
	here := strings.NewReplacer(d.instead...)
	command = here.Replace(command)
	if shown == "" { // it sets a variable
		d.lines = append(d.lines, command)
		return
	}
	got := d.run(command)
	if a, b := etag.FindStringSubmatch(shown), etag.FindStringSubmatch(got); a != nil && b != nil {
		d.instead = append(d.instead, a[1], b[1])
		here = strings.NewReplacer(d.instead...)
	}
	left := strings.Split(got, "\n")
	for line := range strings.Lines(here.Replace(shown)) {
		want := strings.Join(strings.Fields(line), " ")
		for len(left) > 0 && !same(strings.Join(strings.Fields(left[0]), " "), want) {
			left = left[1:]
		}
		if len(left) == 0 {
			d.Errorf("%s\nprints %s\nand not %s", command, got, want)
			return
		}
		left = left[1:]
	}
}
