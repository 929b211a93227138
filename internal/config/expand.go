package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/gateway/upstream/secret"
)

// reference matches ${VAR}, ${env:VAR}, ${VAR:-default}, and anything else in
// ${}, which is then refused or the reference to a secret.
var reference = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?\}|\$\{[^}]*\}`)

// An expander replaces references to variables. Those to secrets stay as they
// are, where they may stand: they are read when they are needed.
type expander struct {
	env      func(string) (string, bool)
	folder   string // of the configuration, which paths of secrets start from
	commands bool   // ${cmd:…} is allowed
	secrets  bool   // references to secrets may stand here

	used map[string]string // variables with their values
}

func (f *file) expander() *expander {
	return &expander{env: os.LookupEnv, folder: filepath.Dir(f.path), commands: f.AllowCommands}
}

// expandFile expands references in the sections that reach other programs; a
// tool's description may speak of ${X} and mean it. Servers are expanded one by
// one, by expandEntry.
func expandFile(root *yaml.Node) error {
	x := &expander{env: os.LookupEnv}
	var errs []error
	for _, section := range []string{"embedding", "listen", "state", "index"} {
		errs = append(errs, x.expand(child(root, section), section))
	}
	return errors.Join(errs...)
}

// expandEntry expands references in what a server is reached by.
func (x *expander) expandEntry(n *yaml.Node) error {
	return errors.Join(x.keys(n, true, "args", "env", "url", "headers", "auth"), x.keys(n, false, "command", "cwd"))
}

// expandREST expands references in what an API is reached by.
func (x *expander) expandREST(n *yaml.Node) error {
	errs := []error{x.keys(n, true, "headers", "auth"), x.keys(n, false, "openapi", "base_url")}
	tools := child(n, "tools")
	for i := 0; i+1 < len(tools.Content); i += 2 {
		at := "tools." + tools.Content[i].Value + ".url"
		errs = append(errs, x.expand(child(tools.Content[i+1], "url"), at))
	}
	return errors.Join(errs...)
}

// keys expands the values of keys.
func (x *expander) keys(n *yaml.Node, secrets bool, keys ...string) error {
	x.secrets = secrets
	defer func() { x.secrets = false }()
	var errs []error
	for _, key := range keys {
		errs = append(errs, x.expand(child(n, key), key))
	}
	return errors.Join(errs...)
}

// child is the value of key in a mapping, or an empty node.
func child(n *yaml.Node, key string) *yaml.Node {
	n = resolve(n)
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == key {
			return resolve(n.Content[i+1])
		}
	}
	return &yaml.Node{}
}

func (x *expander) expand(n *yaml.Node, path string) error {
	n = resolve(n)
	var errs []error
	switch n.Kind {
	case yaml.ScalarNode:
		value, err := x.text(n.Value)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", n.Line, path, err)
		}
		n.Value = value
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			errs = append(errs, x.expand(n.Content[i+1], path+"."+n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			errs = append(errs, x.expand(c, fmt.Sprintf("%s[%d]", path, i)))
		}
	}
	return errors.Join(errs...)
}

func (x *expander) text(s string) (string, error) {
	var errs []error
	out := reference.ReplaceAllStringFunc(s, func(ref string) string {
		value, err := x.value(ref)
		errs = append(errs, err)
		return value
	})
	return out, errors.Join(errs...)
}

// value is what stands for one reference.
func (x *expander) value(ref string) (string, error) {
	if secret.In(ref) {
		return x.secret(ref)
	}
	m := reference.FindStringSubmatch(ref)
	name, hasDefault, value := m[1], m[2] != "", m[3]
	if name == "" {
		return ref, fmt.Errorf("%s is no reference that tooldex knows; write ${VAR}, ${env:VAR} or ${VAR:-default}, or of a secret ${file:/path}, ${keyring:service/user} or ${cmd:program}", ref)
	}
	if v, ok := x.env(name); ok {
		value = v
	} else if !hasDefault {
		return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	if x.secrets && secret.In(value) { // or whoever sets a variable could have a command run
		return "", fmt.Errorf("the environment variable %s refers to a secret itself, which is not followed; write that reference here", name)
	}
	if x.used == nil {
		x.used = map[string]string{}
	}
	x.used[name] = value
	return value, nil
}

// secret checks a reference that stays, with the path of its file made whole.
func (x *expander) secret(ref string) (string, error) {
	switch {
	case !x.secrets:
		return ref, fmt.Errorf("%s stands for a secret, which only args, env, url, headers and auth may have; use ${VAR} here", ref)
	case secret.Commands(ref) && !x.commands:
		return ref, fmt.Errorf("%s runs a command, which is off; write allow_commands: true at the top of the configuration if you trust all of it", ref)
	}
	if err := secret.Check(ref); err != nil {
		return ref, err
	}
	path, ok := strings.CutPrefix(ref, "${file:")
	if !ok {
		return ref, nil
	}
	path = strings.TrimSuffix(path, "}")
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return ref, fmt.Errorf("%s: %w", ref, err)
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(x.folder, path)
	}
	return "${file:" + path + "}", nil
}
