package clients

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reference is a placeholder of any client.
var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// bareReference is how Gemini CLI may write one.
var bareReference = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)

// expands tells which clients replace placeholders at all; in the files of
// the others ${X} is text, which tooldex has no way to write.
var expands = map[string]bool{"claude-code": true, "cursor": true, "vscode": true, "windsurf": true, "gemini": true, "codex": true, "": true}

// variable is a reference to the environment that a tooldex configuration
// understands as it stands.
var variable = regexp.MustCompile(`^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-.*)?$`)

// A resolver rewrites the placeholders of one server.
type resolver struct {
	sys     System
	folder  string   // of the project
	bare    bool     // $VAR is a reference, too
	notes   []string // each once
	missing bool     // a variable has no value: the server cannot start
}

// resolve replaces what only the client knows (its folders, its prompts for
// input) and notes which variables must be set.
func (s System) resolve(l Location, server Server) Server {
	if !expands[l.Client] {
		return server
	}
	folder := s.Dir
	if base := filepath.Base(filepath.Dir(l.Path)); base == ".vscode" || base == ".cursor" {
		folder = filepath.Dir(filepath.Dir(l.Path))
	}
	r := &resolver{sys: s, folder: folder, bare: l.Client == "gemini"}
	server.Command, server.Cwd, server.URL = r.text(server.Command), r.text(server.Cwd), r.text(server.URL)
	for i := range server.Args {
		server.Args[i] = r.text(server.Args[i])
	}
	for _, m := range []map[string]string{server.Env, server.Headers} {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			m[key] = r.text(m[key])
		}
	}
	server.Notes = append(server.Notes, r.notes...)
	server.Disabled = server.Disabled || r.missing
	return server
}

func (r *resolver) text(s string) string {
	if r.bare {
		s = bareReference.ReplaceAllString(s, "${$1}")
	}
	return reference.ReplaceAllStringFunc(s, func(ref string) string { return r.one(ref, ref[2:len(ref)-1]) })
}

// one replaces a placeholder with the given inside.
func (r *resolver) one(ref, inside string) string {
	switch inside {
	case "userHome", "userhome":
		return r.sys.Home
	case "workspaceFolder", "workspaceRoot":
		return r.folder
	case "workspaceFolderBasename":
		return filepath.Base(r.folder)
	case "/", "pathSeparator":
		if r.sys.OS == "windows" {
			return `\`
		}
		return "/"
	}
	if id, ok := strings.CutPrefix(inside, "input:"); ok {
		name := variableName(id)
		if r.sys.Getenv(name) == "" {
			r.need("asks for an input: set %s, then remove disabled", name)
		}
		return "${" + name + "}"
	}
	m := variable.FindStringSubmatch(inside)
	if m == nil {
		r.need("%s means nothing outside the client: replace it, then remove disabled", ref)
		return strings.ReplaceAll(ref, "$", "")
	}
	if m[2] == "" && r.sys.Getenv(m[1]) == "" {
		r.need("set %s, then remove disabled", m[1])
	}
	return ref
}

func (r *resolver) need(format string, args ...any) {
	r.missing = true
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.notes, note) {
		r.notes = append(r.notes, note)
	}
}

// variableName makes the name of an environment variable.
func variableName(id string) string {
	name := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, strings.ToUpper(id))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "INPUT_" + name
	}
	return name
}
