package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

// version is set by the linker for a released binary.
var version = ""

// buildVersion is the released version, else the module's version, else the commit.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "dev-" + s.Value[:12]
		}
	}
	return "dev"
}

// versionLine is what "tooldex version" and --version print.
func versionLine() string {
	return fmt.Sprintf("tooldex %s %s %s/%s", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func versionCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  tooldex version\n  tooldex version --json",
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": buildVersion(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
			return c.Result(v, func() { c.Say("%s", versionLine()) })
		},
	}
}
