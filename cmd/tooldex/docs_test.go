package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
)

var (
	fence   = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")
	inline  = regexp.MustCompile("`((?:[A-Z_]+=\\S+ )*(?:go run ./cmd/)?tooldex [^`\n]+)`")
	command = regexp.MustCompile(`(?m)^(?:[$] +)?((?:[A-Z_]+=\S+ )*(?:go run ./cmd/)?tooldex [^\n]*)$`)
	word    = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
)

// Every command that the documents and the help texts show is one of this
// binary: its name, its flags and, unless a placeholder stands for some, how
// many arguments it takes.
func TestDocumentedCommands(t *testing.T) {
	shown := 0
	check := func(place, line string) {
		args := documented(line)
		if args == nil {
			return
		}
		shown++
		root := newRoot(&cli.CLI{Terminal: &term.Terminal{}})
		root.InitDefaultHelpCmd()
		root.InitDefaultCompletionCmd()
		if err := understood(root, args); err != nil {
			t.Errorf("%s: %s\n%v", place, strings.TrimSpace(line), err)
		}
	}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules", "dist"}, d.Name()) {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".md" || d.Name() == "CHANGELOG.md" { // which tells of the past
			return nil
		}
		text, err := os.ReadFile(path)
		for _, block := range fence.FindAllSubmatch(text, -1) {
			for _, line := range command.FindAllSubmatch(block[1], -1) {
				check(path, string(line[1]))
			}
		}
		for _, code := range inline.FindAllSubmatch(fence.ReplaceAll(text, nil), -1) {
			check(path, string(code[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			check(c.CommandPath()+" --help", strings.TrimSpace(line))
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&cli.CLI{Terminal: &term.Terminal{}}))
	if shown < 100 {
		t.Errorf("only %d commands were found", shown)
	}
}

// documented are the arguments of tooldex in a line that may end in a comment
// or a description; nil when it is no command.
func documented(line string) []string {
	_, line, ok := strings.Cut(" "+line, "tooldex ")
	if !ok || strings.HasSuffix(line, ".") { // a sentence
		return nil
	}
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, "   ") // a column of its own
	for _, end := range []string{" | ", " > ", " && ", "; "} {
		line, _, _ = strings.Cut(line, end)
	}
	line = strings.TrimSuffix(strings.TrimSpace(line), " &") // in the background
	args := word.FindAllString(line, -1)
	if len(args) == 0 || !regexp.MustCompile(`^[a-z-]+$`).MatchString(args[0]) {
		return nil // "tooldex 0.1.0", "tooldex …"
	}
	return args
}

func understood(root *cobra.Command, args []string) error {
	open := false
	for i, a := range args {
		open = open || strings.ContainsAny(a, "[]…|<>") || strings.HasSuffix(a, "...")
		args[i] = strings.Trim(a, `[]…|"'`)
	}
	args = slices.DeleteFunc(args, func(a string) bool { return a == "" })
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("%q has no command %q", c.CommandPath(), rest[0])
	}
	if open { // a flag may stand without its value, and an argument for several
		for _, a := range rest {
			if name, isFlag := strings.CutPrefix(a, "--"); isFlag && name != "" && c.Flag(strings.Split(name, "=")[0]) == nil {
				return cli.WrongUsage(c, cli.NearestFlag(c, &unknownFlag{a}))
			}
		}
		return nil
	}
	if err := c.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if c.HasSubCommands() || c.Flags().NArg() == 0 { // named, rather than shown
		return nil
	}
	return c.ValidateArgs(c.Flags().Args())
}

type unknownFlag struct{ flag string }

func (e *unknownFlag) Error() string { return "unknown flag: " + e.flag }
