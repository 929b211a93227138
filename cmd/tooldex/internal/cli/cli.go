// Package cli is what the commands share: the streams and the flags of one
// command line, the engine that a configuration asks for, errors with a hint,
// and what shells complete.
package cli

import "github.com/tooldex/tooldex/cmd/tooldex/internal/term"

// CLI is one command line.
type CLI struct {
	*term.Terminal
	Signals *Interrupts
	Version string // of this program
	Verbose bool   // say which configuration is used, log what happens
}
