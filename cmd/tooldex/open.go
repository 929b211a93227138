package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
)

// loadConfig reads the configuration that cmd's flags name. An optional one
// need not exist.
func (a *cli) loadConfig(cmd *cobra.Command, optional bool) (*config.Config, error) {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(config.Options{Path: path, Flags: cmd.Flags(), Optional: optional})
	switch {
	case errors.Is(err, config.ErrNone):
		if here := config.Unused(""); len(here) > 0 {
			return nil, hint(err, "%s", unusedHint(here[0]))
		}
		return nil, hint(err, "make one from the clients you have with \"tooldex import --write\", or see \"tooldex demo\" without one")
	case err != nil:
		return nil, hint(err, "mend the file, then see \"tooldex doctor\"")
	}
	if a.verbose {
		a.sayConfig(cfg, path)
	}
	return cfg, nil
}

// sayConfig tells which configuration is used and who chose it.
func (a *cli) sayConfig(cfg *config.Config, flag string) {
	switch {
	case cfg.Path == "":
		_, err := config.Find("")
		a.note("configuration: %v; the defaults are used", err)
	case flag != "":
		a.note("configuration: %s, named by --config", cfg.Path)
	case os.Getenv("TOOLDEX_CONFIG") != "":
		a.note("configuration: %s, named by $TOOLDEX_CONFIG", cfg.Path)
	default:
		a.note("configuration: %s, the user's own", cfg.Path)
	}
	for _, path := range config.Unused(cfg.Path) {
		a.note("configuration: %s", unusedHint(path))
	}
}

// unusedHint says how a file of the working folder is used.
func unusedHint(path string) string {
	return fmt.Sprintf("%s is not used: a file of the working folder is taken only when it is named, with \"--config %s\"", path, path)
}

// stored opens the catalog of the state folder, and no server. A configuration
// need not exist.
func (a *cli) stored(cmd *cobra.Command) (*app.Engine, error) {
	cfg, err := a.loadConfig(cmd, true)
	if err != nil {
		return nil, err
	}
	return a.open(cmd, cfg, app.Options{}, false)
}

// offline runs f over the catalog of the state folder, which must hold tools.
func (a *cli) offline(cmd *cobra.Command, f func(ctx context.Context, e *app.Engine) error) error {
	e, err := a.stored(cmd)
	if err != nil {
		return err
	}
	defer e.Close() // nothing was written
	if err := e.NeedTools(); err != nil {
		return advised(err, e.Config)
	}
	return f(cmd.Context(), e)
}

// open opens an engine that logs to stderr. The result of a command that
// reports tells of the servers' failures: they are not noted as well.
func (a *cli) open(cmd *cobra.Command, cfg *config.Config, o app.Options, reports bool) (*app.Engine, error) {
	o.Version, o.Logger = buildVersion(), a.logger(cmd, cfg, o.Serving, reports)
	e, err := app.Open(cfg, o)
	if err != nil {
		return nil, advised(err, cfg)
	}
	if o.Serving {
		return e, nil // it has logged what is noted here
	}
	if p := e.Index.Status().Problem; p != "" {
		a.note("warning: state folder %s: %s", cfg.State, p)
	}
	if broken := cfg.Broken(); len(broken) > 0 && !reports {
		a.note("warning: a mistake in their entries disables %s; see \"tooldex status\"", strings.Join(broken, ", "))
	}
	return e, nil
}

// advised adds to an engine's error what to do about it.
func advised(err error, cfg *config.Config) error {
	switch {
	case errors.Is(err, app.ErrEmbedding):
		return hint(err, "mend the embedding section of %s, or see \"tooldex doctor\"", cmp.Or(cfg.Path, "the configuration"))
	case errors.Is(err, app.ErrParams):
		return hint(err, "write the file with \"tooldex eval tune\", or remove the setting")
	case errors.Is(err, app.ErrState):
		return hint(err, "choose another folder with --state, or see \"tooldex doctor\"")
	case errors.Is(err, app.ErrNoTools):
		return hint(err, "list the tools of your servers with \"tooldex reindex\", or see \"tooldex demo\"")
	case errors.Is(err, app.ErrUnreadable):
		return hint(err, "see \"tooldex doctor\"")
	}
	return err
}

// logger writes to stderr. Commands that end soon log warnings only, and those
// that report on the servers errors only, unless --log.level asks for more.
func (a *cli) logger(cmd *cobra.Command, cfg *config.Config, serving, reports bool) *slog.Logger {
	level := slog.LevelWarn
	if reports {
		level = slog.LevelError
	}
	if a.verbose {
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
		return slog.New(slog.NewJSONHandler(a.err, h))
	}
	return slog.New(slog.NewTextHandler(a.err, h))
}
