package app

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/config"
)

// Place is where processes of this version and configuration meet; ok is false
// for those that share nothing: without a state folder or a configuration.
func Place(cfg *config.Config, version string) (p attach.Place, ok bool) {
	if cfg.State == "" || cfg.Path == "" {
		return attach.Place{}, false
	}
	what, err := json.Marshal(agreementOf(cfg, version))
	if err != nil {
		return attach.Place{}, false // an example of a tool that JSON does not know
	}
	return attach.At(cfg.State, what), true
}

// An agreement is what processes have in common that share their servers:
// whatever changes an answer. Where one listens and what it logs does not, and
// PATH, the locale and proxies do not either: programs that a desktop starts
// and those of a terminal never agree in them.
type agreement struct {
	Version string
	Config  config.Config
	Broken  []config.Disabled
	Key     string   // that Embedding.KeyEnv names
	Environ []string // what servers inherit beside the usual variables
	Folder  string   // in which servers run, where that matters
}

func agreementOf(cfg *config.Config, version string) agreement {
	c := *cfg // whole, so that no new setting is forgotten
	c.Path, c.Listen, c.State, c.Log, c.Disabled, c.Foreign = "", "", "", config.Log{}, nil, nil
	a := agreement{Version: version + " " + program(version), Config: c, Environ: []string{"HOME=" + os.Getenv("HOME")}}
	for _, d := range cfg.Disabled {
		if d.Reason != "" {
			a.Broken = append(a.Broken, d)
		}
	}
	if cfg.Embedding.KeyEnv != "" {
		a.Key = os.Getenv(cfg.Embedding.KeyEnv)
	}
	for _, s := range cfg.Servers {
		for _, name := range s.Spec.InheritEnv {
			a.Environ = append(a.Environ, inherited(name)...)
		}
		if relative(s) && a.Folder == "" {
			a.Folder, _ = os.Getwd() // without one its servers do not start
		}
	}
	slices.Sort(a.Environ)
	a.Environ = slices.Compact(a.Environ)
	return a
}

// program identifies a binary that was not released: two builds of one commit
// may differ.
func program(version string) string {
	if !strings.HasPrefix(version, "dev") && !strings.Contains(version, "+dirty") {
		return ""
	}
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(self)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// inherited are the variables that inherit_env names. Those that tell
// terminals and their windows apart are not among "all".
func inherited(name string) []string {
	if name != "all" {
		return []string{name + "=" + os.Getenv(name)}
	}
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		key, _, _ := strings.Cut(v, "=")
		return slices.Contains(fleeting, key)
	})
}

var fleeting = []string{
	"_", "PWD", "OLDPWD", "SHLVL", "TERM", "COLORTERM", "COLUMNS", "LINES", "TERM_PROGRAM", "TERM_PROGRAM_VERSION",
	"TERM_SESSION_ID", "WINDOWID", "TMUX", "TMUX_PANE", "STY", "SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT", "XDG_SESSION_ID",
	"INVOCATION_ID", "JOURNAL_STREAM",
}

// relative says that a server is started by a path that depends on the folder
// in which this process runs.
func relative(s config.Server) bool {
	if s.Spec.Command == "" || s.Spec.Cwd != "" {
		return false
	}
	return slices.ContainsFunc(append([]string{s.Spec.Command}, s.Spec.Args...), func(arg string) bool {
		if runtime.GOOS == "windows" {
			arg = strings.ReplaceAll(arg, `\`, "/")
		}
		return arg == "." || arg == ".." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../")
	})
}
