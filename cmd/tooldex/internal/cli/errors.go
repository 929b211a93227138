package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// ErrReported ends a command whose result says already what is wrong.
var ErrReported = errors.New("reported")

// UsageError is a command line that cannot be understood.
type UsageError struct {
	error
	Command string // path below the root, "" for the root itself
}

func (e UsageError) Unwrap() error { return e.error }

// WrongUsage makes a UsageError of what is wrong with cmd.
func WrongUsage(cmd *cobra.Command, err error) error { return UsageError{err, Path(cmd)} }

// Usagef makes a UsageError of cmd.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return WrongUsage(cmd, fmt.Errorf(format, args...))
}

// Path is the command's name without the program's.
func Path(cmd *cobra.Command) string {
	_, rest, _ := strings.Cut(cmd.CommandPath(), " ")
	return rest
}

// Hinted is an error with a hint that names a command to run.
type Hinted struct {
	error
	Advice string
}

func (e Hinted) Unwrap() error { return e.error }

// Hint adds a hint to err; nil stays nil.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return Hinted{err, fmt.Sprintf(format, args...)}
}
