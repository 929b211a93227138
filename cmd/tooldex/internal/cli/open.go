package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
)

// LoadConfig reads the configuration that cmd's flags name. An optional one
// need not exist.
func (c *CLI) LoadConfig(cmd *cobra.Command, optional bool) (*config.Config, error) {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(config.Options{Path: path, Flags: cmd.Flags(), Surfaces: serve.Surfaces(), Optional: optional})
	switch {
	case errors.Is(err, config.ErrNone):
		if here := config.Unused(""); len(here) > 0 {
			return nil, Hint(err, "%s", UnusedHint(here[0]))
		}
		return nil, Hint(err, "make one from the clients you have with \"tooldex import --write\", or with \"tooldex add\"; \"tooldex demo\" needs none")
	case err != nil:
		return nil, Hint(err, "mend the file, then see \"tooldex doctor\"")
	}
	if c.Verbose {
		c.sayConfig(cfg, path)
	}
	return cfg, nil
}

// ReadConfig reads the configuration that cmd's flags name, another time.
func (c *CLI) ReadConfig(cmd *cobra.Command) (*config.Config, error) {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	return config.Load(config.Options{Path: path, Flags: cmd.Flags(), Surfaces: serve.Surfaces()})
}

// sayConfig tells which configuration is used and who chose it.
func (c *CLI) sayConfig(cfg *config.Config, flag string) {
	switch {
	case cfg.Path == "":
		_, err := config.Find("")
		c.Note("configuration: %v; the defaults are used", err)
	case flag != "":
		c.Note("configuration: %s, named by --config", cfg.Path)
	case os.Getenv("TOOLDEX_CONFIG") != "":
		c.Note("configuration: %s, named by $TOOLDEX_CONFIG", cfg.Path)
	default:
		c.Note("configuration: %s, the user's own", cfg.Path)
	}
	for _, path := range config.Unused(cfg.Path) {
		c.Note("configuration: %s", UnusedHint(path))
	}
}

// UnusedHint says how a file of the working folder is used.
func UnusedHint(path string) string {
	return fmt.Sprintf("%s is not used: a file of the working folder is taken only when it is named, with \"--config %s\"", path, path)
}

// Stored opens the catalog of the state folder, and no server. A configuration
// need not exist.
func (c *CLI) Stored(cmd *cobra.Command) (*app.Engine, error) {
	cfg, err := c.LoadConfig(cmd, true)
	if err != nil {
		return nil, err
	}
	return c.Open(cmd, cfg, app.Options{}, false)
}

// Offline runs f over the catalog of the state folder, which must hold tools.
func (c *CLI) Offline(cmd *cobra.Command, f func(ctx context.Context, e *app.Engine) error) error {
	e, err := c.Stored(cmd)
	if err != nil {
		return err
	}
	defer e.Close() // nothing was written
	if err := e.NeedTools(); err != nil {
		return Advised(err, e.Config)
	}
	return f(cmd.Context(), e)
}

// Open opens an engine that logs to stderr. The result of a command that
// reports tells of the servers' failures: they are not noted as well.
func (c *CLI) Open(cmd *cobra.Command, cfg *config.Config, o app.Options, reports bool) (*app.Engine, error) {
	o.Version, o.Logger = c.Version, c.Logger(cmd, cfg, o.Serving, reports)
	e, err := app.Open(cfg, o)
	if err != nil {
		return nil, Advised(err, cfg)
	}
	if o.Serving {
		return e, nil // it has logged what is noted here
	}
	if p := e.Index.Status().Problem; p != "" {
		c.Note("warning: state folder %s: %s", cfg.State, p)
	}
	if broken := cfg.Broken(); len(broken) > 0 && !reports {
		c.Note("warning: a mistake in their entries disables %s; see \"tooldex status\"", strings.Join(broken, ", "))
	}
	return e, nil
}

// Advised adds to an engine's error what to do about it.
func Advised(err error, cfg *config.Config) error {
	switch {
	case errors.Is(err, app.ErrEmbedding):
		return Hint(err, "mend the embedding section of %s, or see \"tooldex doctor\"", cmp.Or(cfg.Path, "the configuration"))
	case errors.Is(err, app.ErrParams):
		return Hint(err, "write the file with \"tooldex eval tune\", or remove the setting")
	case errors.Is(err, app.ErrState):
		return Hint(err, "choose another folder with --state, or see \"tooldex doctor\"")
	case errors.Is(err, app.ErrNoTools):
		if off := AllOff(cfg); off != nil {
			return off
		}
		return Hint(err, "list the tools of your servers with \"tooldex reindex\", or see \"tooldex demo\"")
	case errors.Is(err, app.ErrUnreadable):
		return Hint(err, "see \"tooldex doctor\"")
	}
	return err
}

// AllOff is the error of a configuration whose servers are all disabled by
// their entries, nil for any other.
func AllOff(cfg *config.Config) error {
	off := cfg.Off()
	switch {
	case len(cfg.Servers) > 0 || len(cfg.Broken()) > 0 || len(off) == 0:
		return nil
	case len(off) == 1:
		return Hint(fmt.Errorf("server %s is disabled, and there is no other", off[0]), "use it again with \"tooldex enable %s\"", off[0])
	}
	return Hint(fmt.Errorf("servers %s are disabled, and there is no other", strings.Join(off, ", ")), "use one again with \"tooldex enable %s\"", off[0])
}

// Logger writes to stderr. Commands that end soon log warnings only, and those
// that report on the servers errors only, unless --log.level asks for more.
func (c *CLI) Logger(cmd *cobra.Command, cfg *config.Config, serving, reports bool) *slog.Logger {
	level := slog.LevelWarn
	if reports {
		level = slog.LevelError
	}
	if c.Verbose {
		level = slog.LevelInfo
	}
	f := cmd.Flags().Lookup("log.level")
	if serving || f != nil && f.Changed || os.Getenv("TOOLDEX_LOG_LEVEL") != "" {
		if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
			level = slog.LevelInfo // the configuration has been checked
		}
	}
	h := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(c.Err, h))
	}
	return slog.New(slog.NewTextHandler(c.Err, h))
}
