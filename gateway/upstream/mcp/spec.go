// Package mcp keeps connections to MCP servers: it starts, watches,
// lists, calls and restarts them, and hands on what they send byte for byte.
//
// A [Set] runs any number of servers at once, none of which can hold up
// another. Tool objects and results are taken from the bytes on the wire, as
// the SDK's typed values drop what they do not know. It speaks MCP from
// 2024-11-05 to 2026-07-28 over stdio and streamable HTTP, and up to
// 2025-11-25 over legacy HTTP+SSE.
//
// A message over 32 MiB is discarded and fails its call alone; a listing ends
// after 1,000 pages, 20,000 tools or 128 MiB. Requests that a server makes of
// its client (sampling, elicitation, roots) are refused, as one session
// serves all callers; a 2026-07-28 server's input requests come back as the
// result of the call. A server that wants a token gets it from the configured
// headers, or as package login has it.
package mcp

import (
	"time"

	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/stdio"
)

// A Spec says how to reach one server. Exactly one of Command and URL is set.
type Spec struct {
	Name         string            // matches [A-Za-z0-9._-]{1,64}
	Type         string            // "stdio", "http" (also "streamable-http", "streamableHttp"), "sse"; "" derives it
	Command      string            // program, looked up in PATH
	Args         []string          // its arguments
	Env          map[string]string // added to the environment
	InheritEnv   []string          // variables handed on beside the usual ones; the single word "all" hands on every one
	Cwd          string            // working folder; "" means this process's
	URL          string            // of an HTTP server
	Headers      map[string]string // sent with every HTTP request
	Auth         login.Config      // how tokens for an HTTP server are had
	StartTimeout time.Duration     // from start to handshake, downloads included; 0 means 60 s
	Timeout      time.Duration     // of one call; 0 means the gateway's default
	Refresh      time.Duration     // between two listings; 0 means 15 min, of a program that runs only when it is needed 24 h
	Concurrency  int               // calls under way at once; 0 means 16
	Queue        int               // calls that may wait for a place; 0 means 64
	Variables    map[string]string // that the configuration refers to; those named like secrets are masked
	Eager        bool              // started with the Set and kept running; else when it is needed
	Idle         time.Duration     // a program that was not called for this long is stopped unless it is Eager; 0 means 10 min

	// Disabled says why the server does not run; "" runs it. The rest of the
	// Spec is not looked at then.
	Disabled string
}

// ListedFor is how old a listing of the server may become.
func (sp Spec) ListedFor() time.Duration {
	if sp.stops() {
		return orDuration(sp.Refresh, stoppedRefresh)
	}
	return orDuration(sp.Refresh, defaultRefresh)
}

// stops reports a server that is stopped while nobody calls it: a connection
// over HTTP costs next to nothing.
func (sp Spec) stops() bool { return !sp.Eager && sp.Command != "" }

// command is what is started for the server.
func (sp Spec) command() stdio.Command {
	return stdio.Command{Program: sp.Command, Args: sp.Args, Env: sp.Env, Inherit: sp.InheritEnv, Dir: sp.Cwd}
}
