package config

import (
	"errors"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// reference matches ${VAR}, ${env:VAR}, ${VAR:-default}, and anything else in
// ${}, which is then refused.
var reference = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?\}|\$\{[^}]*\}`)

// A lookup finds an environment variable.
type lookup func(string) (string, bool)

// expandFile expands references in the sections that reach other programs; a
// tool's description may speak of ${X} and mean it. Servers are expanded one by
// one, by expandEntry.
func expandFile(root *yaml.Node, env lookup) error {
	var errs []error
	for _, section := range []string{"embedding", "listen", "state", "index"} {
		errs = append(errs, expand(child(root, section), section, env))
	}
	return errors.Join(errs...)
}

// expandEntry expands references in what a server is reached by.
func expandEntry(n *yaml.Node, env lookup) error {
	var errs []error
	for _, key := range []string{"command", "args", "env", "cwd", "url", "headers"} {
		errs = append(errs, expand(child(n, key), key, env))
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

func expand(n *yaml.Node, path string, env lookup) error {
	n = resolve(n)
	var errs []error
	switch n.Kind {
	case yaml.ScalarNode:
		value, err := expandString(n.Value, env)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", n.Line, path, err)
		}
		n.Value = value
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			errs = append(errs, expand(n.Content[i+1], path+"."+n.Content[i].Value, env))
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			errs = append(errs, expand(c, fmt.Sprintf("%s[%d]", path, i), env))
		}
	}
	return errors.Join(errs...)
}

func expandString(s string, env lookup) (string, error) {
	var errs []error
	out := reference.ReplaceAllStringFunc(s, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		name, hasDefault, value := m[1], m[2] != "", m[3]
		if name == "" {
			errs = append(errs, fmt.Errorf("%s is no reference that tooldex knows; write ${VAR}, ${env:VAR} or ${VAR:-default}", ref))
			return ref
		}
		if v, ok := env(name); ok {
			return v
		}
		if !hasDefault {
			errs = append(errs, fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name))
		}
		return value
	})
	return out, errors.Join(errs...)
}
