package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/pflag"
)

// ErrNone reports that there is no configuration file in any of the places
// where Load looks.
var ErrNone = errors.New("no configuration file")

// names are what a configuration file is called, in any of its folders.
var names = []string{"tooldex.yaml", "tooldex.yml", "tooldex.json"}

// UserFile is where a person's own configuration lives.
func UserFile() string { return filepath.Join(xdg.ConfigHome, "tooldex", names[0]) }

// StateDir is where the catalog lives unless the configuration says otherwise.
func StateDir() string { return filepath.Join(xdg.StateHome, "tooldex") }

// Find returns the configuration file's path: the one given, $TOOLDEX_CONFIG,
// or the user's. The working folder is never searched, as a repository that
// somebody cloned must not choose what runs. Two candidates in the user's
// folder are an error, as either might be the one that was meant.
func Find(path string) (string, error) {
	if path == "" {
		path = os.Getenv("TOOLDEX_CONFIG")
	}
	if path != "" {
		return path, checkFile(path)
	}
	dir := filepath.Dir(UserFile())
	found, err := findIn(dir)
	if found != "" || err != nil {
		return found, err
	}
	return "", fmt.Errorf("%w: looked for %s in %s", ErrNone, strings.Join(names, ", "), dir)
}

// stateLine finds the state folder in a file that need not be one.
var stateLine = regexp.MustCompile(`(?m)^[ \t{]*"?state"?[ \t]*:[ \t]*["']?([^"'\n#,}]+)`)

// StateOf is where the catalog of the file at path most likely is, though the
// file cannot be read as a configuration.
func StateOf(path string, flags *pflag.FlagSet) string {
	if f := flags.Lookup("state"); f != nil && f.Changed {
		return f.Value.String()
	}
	if dir := os.Getenv("TOOLDEX_STATE"); dir != "" {
		return dir
	}
	data, err := os.ReadFile(path)
	if m := stateLine.FindSubmatch(data); err == nil && m != nil {
		if dir, err := (&expander{env: os.LookupEnv}).text(strings.TrimSpace(string(m[1]))); err == nil {
			return dir
		}
	}
	return StateDir()
}

// Target returns the path of the file to write: the one that Find finds, or the
// user's own where there is none yet. One that is given need not exist.
func Target(path string) (string, error) {
	if path == "" {
		path = os.Getenv("TOOLDEX_CONFIG")
	}
	if path != "" {
		return path, nil
	}
	path, err := Find("")
	if errors.Is(err, ErrNone) {
		return UserFile(), nil
	}
	return path, err
}

// Unused are the files of the working folder that are named like a
// configuration and are not the one at path.
func Unused(path string) []string {
	used, _ := os.Stat(path) // nil where there is none, which is no other file
	var out []string
	for _, n := range names {
		if info, err := os.Stat(n); err == nil && !info.IsDir() && !os.SameFile(used, info) {
			out = append(out, "."+string(filepath.Separator)+n)
		}
	}
	return out
}

func findIn(dir string) (string, error) {
	var found []string
	for _, n := range names {
		p := filepath.Join(dir, n)
		if _, err := os.Stat(p); err == nil {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], checkFile(found[0])
	}
	return "", fmt.Errorf("two configurations: %s; remove one of them, or choose one with --config", strings.Join(found, " and "))
}

func checkFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", path, cause(err))
	}
	if info.IsDir() {
		return fmt.Errorf("configuration %s: it is a folder; name the file in it, such as %s", path, filepath.Join(path, names[0]))
	}
	return nil
}

// cause is a file error without the operation and path that the message
// already names.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
