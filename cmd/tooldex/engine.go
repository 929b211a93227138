package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/config"
)

// An engine is what commands work with: the configuration, the catalog of the
// state folder, the gateway over it, and, unless it is offline, the servers.
type engine struct {
	cfg     *config.Config
	log     *slog.Logger
	emb     index.Embedder // nil: words only
	ix      *index.Index
	set     *upstream.Set // nil when offline
	gw      *gateway.Gateway
	closers []io.Closer

	closing   context.Context // done when close is called
	stop      context.CancelFunc
	relisting sync.WaitGroup // what close waits for
}

// relistTimeout bounds a listing that nobody waits for.
const relistTimeout = 2 * time.Minute

// engineOptions say what of an engine a command needs.
type engineOptions struct {
	online   bool     // with the servers; they start with engine.run
	serving  bool     // for long: logs at the configured level
	optional bool     // a configuration need not exist
	reports  bool     // its result tells of the servers' failures: they are not logged as well
	servers  []string // only these servers; nil means all
	// listed is called after each listing of a server has been stored.
	listed func(server string, d index.Diff, err error)
}

// openEngine opens what o asks for. Close it.
func (a *app) openEngine(cmd *cobra.Command, o engineOptions) (*engine, error) {
	cfg, err := a.loadConfig(cmd, o.optional)
	if err != nil {
		return nil, err
	}
	return a.engineFor(cmd, cfg, o)
}

// loadConfig reads the configuration that cmd's flags name.
func (a *app) loadConfig(cmd *cobra.Command, optional bool) (*config.Config, error) {
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
func (a *app) sayConfig(cfg *config.Config, flag string) {
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

func (a *app) engineFor(cmd *cobra.Command, cfg *config.Config, o engineOptions) (*engine, error) {
	e := &engine{cfg: cfg, log: a.logger(cmd, cfg, o)}
	e.closing, e.stop = context.WithCancel(context.Background())
	if err := e.open(o); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if p := e.ix.Status().Problem; p != "" && !o.serving { // the index logs it for a server
		a.note("warning: state folder %s: %s", cfg.State, p)
	}
	if broken := brokenNames(cfg); len(broken) > 0 && !o.serving && !o.reports {
		a.note("warning: a mistake in their entries disables %s; see \"tooldex status\"", strings.Join(broken, ", "))
	}
	if o.serving {
		for _, name := range brokenNames(cfg) {
			e.log.Warn("server disabled", "server", name, "reason", cfg.DisabledReason(name))
		}
		if len(cfg.Unbuilt) > 0 {
			e.log.Warn("these settings do nothing yet", "settings", strings.Join(cfg.Unbuilt, " "), "file", cfg.Path)
		}
		if len(cfg.Foreign) > 0 {
			e.log.Info("settings of other clients mean nothing here", "settings", strings.Join(cfg.Foreign, " "), "file", cfg.Path)
		}
	}
	return e, nil
}

func (e *engine) open(o engineOptions) error {
	fallback, err := e.openEmbedders()
	if err != nil {
		return err
	}
	params, err := readParams(e.cfg.Index.Params)
	if err != nil {
		return hint(fmt.Errorf("index.params: %w", err), "write the file with \"tooldex eval tune\", or remove the setting")
	}
	var calls gateway.Caller
	if o.online {
		if e.set, err = e.newSet(o); err != nil {
			return err
		}
		calls = e.set
	}
	log, relist := e.log, e.relist
	if !o.serving {
		log, relist = nil, nil // what concerns a short command is in the index's Status
	}
	e.ix, err = index.Open(e.cfg.State, index.Options{
		Embedder: e.emb, Fallback: fallback, Sources: sources(e.cfg), Params: params,
		HNSWThreshold: hnswThreshold(e.cfg.Index.HNSWThreshold), Offline: !o.online, Relist: relist, Logger: log,
	})
	if err != nil {
		return hint(fmt.Errorf("open state folder %s: %w", e.cfg.State, err), "choose another folder with --state, or see \"tooldex doctor\"")
	}
	e.gw = gateway.New(e.ix, calls, e.gatewayOptions())
	return nil
}

// relist has a server list its tools again, in the background.
func (e *engine) relist(server string) {
	e.relisting.Go(func() {
		ctx, cancel := context.WithTimeout(e.closing, relistTimeout)
		defer cancel()
		if _, err := e.set.Refresh(ctx, server); err != nil && e.closing.Err() == nil {
			e.log.Warn("a server whose tools are lost could not be listed", "server", server, "error", err)
		}
	})
}

// openEmbedders sets e.emb and returns the embedder that stands in for it.
func (e *engine) openEmbedders() (fallback index.Embedder, err error) {
	c := e.cfg.Embedding
	if !e.cfg.Meta.EnableSemanticSearch {
		c = config.Embedding{Provider: embed.None}
	}
	emb, err := embed.New(embedConfig(c))
	if err != nil {
		return nil, hint(fmt.Errorf("embedding: %w", err), "mend the embedding section of %s, or see \"tooldex doctor\"", orDefault(e.cfg.Path, "the configuration"))
	}
	if emb == nil {
		return nil, nil
	}
	e.emb = emb
	if closer, ok := emb.(io.Closer); ok {
		e.closers = append(e.closers, closer)
	}
	if c.Provider == embed.Builtin {
		return nil, nil
	}
	return embed.New(embed.Config{})
}

func embedConfig(c config.Embedding) embed.Config {
	return embed.Config{
		Provider: c.Provider, Model: c.Model, URL: c.URL, Key: c.Key, KeyEnv: c.KeyEnv, KeyFile: c.KeyFile,
		Dimensions: c.Dimensions, QueryPrefix: c.QueryPrefix, DocumentPrefix: c.DocumentPrefix,
		KeepAlive: c.KeepAlive, APIVersion: c.APIVersion, Headers: c.Headers,
		Timeout: time.Duration(c.Timeout), Parallel: c.Parallel, BatchBytes: c.BatchBytes,
	}
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// sources identifies the connection of each configured server; nil without a
// configuration, which shows whatever the folder holds.
func sources(cfg *config.Config) map[string]string {
	if cfg.Path == "" {
		return nil
	}
	out := map[string]string{}
	for _, s := range cfg.Servers {
		out[s.Spec.Name] = s.Spec.Source()
	}
	return out
}

// hnswThreshold translates the configuration's number (0 always, negative the
// default) to the index's (negative always, 0 the default).
func hnswThreshold(configured int) int {
	switch {
	case configured < 0:
		return 0
	case configured == 0:
		return -1
	}
	return configured
}

func (e *engine) newSet(o engineOptions) (*upstream.Set, error) {
	var specs []upstream.Spec
	for _, s := range e.cfg.Servers {
		specs = append(specs, s.Spec)
	}
	for _, d := range e.cfg.Disabled {
		if d.Reason != "" {
			specs = append(specs, upstream.Spec{Name: d.Name, Disabled: d.Reason})
		}
	}
	if o.servers != nil {
		specs = slices.DeleteFunc(specs, func(sp upstream.Spec) bool { return !slices.Contains(o.servers, sp.Name) })
	}
	var memory upstream.Memory // none for a catalog in memory, which has no folder
	if e.cfg.State != "" {
		memory = &eraFile{path: filepath.Join(e.cfg.State, "eras.json"), log: e.log}
	}
	return upstream.NewSet(specs, upstream.Options{
		Logger: e.log, DefaultTimeout: e.cfg.Execution.Timeout, Memory: memory,
		OnList: func(ctx context.Context, server string, l upstream.Listing) {
			diff, err := e.gw.Sync(ctx, server, l)
			if err != nil {
				e.log.Error("catalog not updated", "server", server, "error", err)
			}
			if o.listed != nil {
				o.listed(server, diff, err)
			}
		},
	})
}

func (e *engine) gatewayOptions() gateway.Options {
	x := e.cfg.Execution
	o := gateway.Options{
		Version:      buildVersion(),
		DefaultLimit: e.cfg.Meta.DefaultSearchLimit, MaxLimit: e.cfg.Meta.MaxSearchLimit,
		MetricsInSearch: e.cfg.Meta.IncludeMetricsInSearch,
		Timeout:         x.Timeout, MaxTimeout: x.MaxTimeout, Retries: x.RetryAttempts,
		SkipValidation: !x.ValidateArguments, LogCalls: x.LogAllExecutions, Off: turnedOff(e.cfg.Meta),
		Servers: map[string]gateway.Server{}, Logger: e.log,
	}
	if e.set != nil {
		o.Status = e.set.Status
	}
	for _, s := range e.cfg.Servers {
		o.Servers[s.Spec.Name] = operatorWords(s)
	}
	for _, d := range e.cfg.Disabled {
		o.Servers[d.Name] = gateway.Server{Disabled: d.Reason}
	}
	return o
}

// turnedOff names the meta-tools that the operator does not want, with the
// setting that says so.
func turnedOff(m config.Meta) map[string]string {
	off := map[string]string{}
	if !m.EnableCategories {
		off["get_tool_categories"] = "meta_config.enable_categories"
	}
	if !m.EnableSimilarTools {
		off["get_similar_tools"] = "meta_config.enable_similar_tools"
	}
	return off
}

// operatorWords is what the configuration says of a server and its tools.
func operatorWords(s config.Server) gateway.Server {
	out := gateway.Server{
		Description: s.Description, Tags: s.Tags, Category: s.Category, Visibility: s.Visibility, Teams: s.Teams,
		Phrases: s.Phrases, Hidden: s.Hidden, Trusted: s.Trusted, Timeout: s.Spec.Timeout,
		Tools: map[string]gateway.Override{},
	}
	for name, t := range s.Tools {
		o := gateway.Override{Description: t.Description, Tags: t.Tags, Category: t.Category, Phrases: t.Phrases, Hidden: t.Hidden}
		for _, x := range t.Examples {
			args, err := json.Marshal(x.Arguments)
			if err != nil || x.Arguments == nil {
				args = json.RawMessage("{}") // YAML maps with text keys always encode
			}
			o.Examples = append(o.Examples, index.Example{Description: x.Description, Arguments: args})
		}
		out.Tools[name] = o
	}
	return out
}

// running runs the servers while f does. It returns when all have stopped.
func (e *engine) running(ctx context.Context, f func(context.Context) error) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- e.set.Run(serving) }()
	err := f(ctx)
	stop()
	return errors.Join(err, <-done)
}

// close writes what is pending and ends all background work.
func (e *engine) close() error {
	var errs []error
	if e.stop != nil {
		e.stop()
	}
	if e.ix != nil {
		errs = append(errs, e.ix.Close())
	}
	e.relisting.Wait()
	for _, c := range e.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// logger writes to stderr. Commands that end soon log warnings only, and those
// that report on the servers errors only, unless --log.level asks for more.
func (a *app) logger(cmd *cobra.Command, cfg *config.Config, o engineOptions) *slog.Logger {
	level := slog.LevelWarn
	if o.reports {
		level = slog.LevelError
	}
	if a.verbose {
		level = slog.LevelInfo
	}
	f := cmd.Flags().Lookup("log.level")
	if o.serving || f != nil && f.Changed || os.Getenv("TOOLDEX_LOG_LEVEL") != "" {
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

// enabledNames are the servers that run.
func enabledNames(cfg *config.Config) []string {
	var names []string
	for _, s := range cfg.Servers {
		names = append(names, s.Spec.Name)
	}
	return names
}

// brokenNames are the servers that a mistake in their entry disables.
func brokenNames(cfg *config.Config) []string {
	var names []string
	for _, d := range cfg.Disabled {
		if d.Reason != "" {
			names = append(names, d.Name)
		}
	}
	return names
}
