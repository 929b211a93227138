// Package surface is what a surface and whoever serves it have in common.
//
// A surface is a constant set of meta-tools with their texts, and how each is
// answered: arguments become an operation of the gateway, its result JSON. It
// knows neither HTTP nor who calls, and sees the catalog through the view that
// each call brings. Each surface is a package below this one, and one line in
// the table of package serve.
package surface

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/view"
)

// A Surface answers the calls of its meta-tools. It is safe for concurrent
// use.
type Surface interface {
	// Tools are the meta-tools in the order in which they are listed. They
	// never change.
	Tools() []Tool
	// Instructions are what clients may add to their system prompt.
	Instructions() string
	// Answer answers one call. Whatever goes wrong is an Answer with IsError.
	Answer(ctx context.Context, c Call) *Answer
}

// A Tool is one meta-tool as clients see it.
type Tool struct {
	Name, Title, Description string
	Schema                   json.RawMessage // of its arguments
	// RunsTools says that it has the effects of the tool that it runs; others
	// only read the catalog.
	RunsTools bool
	// Effect is that of the tools that it runs, one of those of package
	// index/tool; "" is any.
	Effect string
}

// A Call is one call of a meta-tool.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	View      view.View // what the caller sees
	Protocol  string    // version that the caller speaks
	Client    gateway.Client
	Request   string // the call's JSON-RPC id, as JSON; "" where it is not known
	// Session is what the surface remembers of the caller's session; nil where
	// the protocol has no sessions.
	Session func() *Session
}

// A Toolbox is a set of tools that an operator named.
type Toolbox struct {
	Name, Description string
	Servers           []string  // whose tools it has; none means all
	View              view.View // that has to show its tools, too
}

// Options are what an operator says of a surface. The zero value works.
type Options struct {
	DefaultLimit int // tools of a search without a limit; 0 means 10
	MaxLimit     int // most tools of a search; 0 means 50
	// ValidateArguments has a surface check a tool's arguments whose contract
	// leaves that to the server.
	ValidateArguments bool
	// Toolboxes are the sets that surface toolbox has in place of each server
	// and tag, by now and in order of name; nil means none. A View stays the
	// same until what it shows may be other tools.
	Toolboxes func() []Toolbox
	Metrics   bool // show each tool's executions in searches
	// WordsOnly is why no search is by meaning; "" when it may be.
	WordsOnly string
	// NoSignatures leaves the tools' signatures out of searches.
	NoSignatures bool
	// SplitExecute has surface meta run tools by one meta-tool for each effect.
	SplitExecute bool
	// ReadOnly says that callers see tools without effects alone.
	ReadOnly bool

	// Off names meta-tools that answer only that they are turned off, with
	// the setting that says so. They stay listed, as a surface is constant.
	Off map[string]string

	// Diagnose and ShowWhole are what an operator may run, as texts name it: to
	// find the cause of a failure of the gateway, and to see all of the tool
	// whose name follows. "" names neither.
	Diagnose, ShowWhole string

	Logger *slog.Logger // nil discards
}

// Failure says of a failure that is the gateway's own what to do.
func (o Options) Failure() string {
	if o.Diagnose == "" {
		return "this is a failure of the gateway"
	}
	return "this is a failure of the gateway: " + o.Diagnose + " looks for its cause"
}

// Whole says where all of a tool is to be seen, after what says that it is not
// here.
func (o Options) Whole(name string) string {
	if o.ShowWhole == "" {
		return ""
	}
	return "; " + fmt.Sprintf(o.ShowWhole, name) + " prints it"
}

// WithDefaults is o with its zero values replaced by what they mean.
func (o Options) WithDefaults() Options {
	if o.MaxLimit <= 0 {
		o.MaxLimit = 50
	}
	if o.DefaultLimit <= 0 {
		o.DefaultLimit = min(gateway.DefaultLimit, o.MaxLimit)
	}
	if o.Toolboxes == nil {
		o.Toolboxes = func() []Toolbox { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
