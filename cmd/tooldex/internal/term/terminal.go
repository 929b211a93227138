// Package term writes a command's result for a person or for a program: lines,
// tables that fit the line, bars, and JSON. What comes from servers is made
// harmless on the way: a terminal obeys control characters.
package term

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Terminal is the streams of one command line. The result goes to Out and
// nothing else does; notes, warnings and bars go to Err.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer // screens
	Raw      io.Writer // standard output as it is: protocols and files
	JSON     bool      // print results as JSON
}

// New is a terminal on the three streams of a process.
func New(in io.Reader, out, err io.Writer) *Terminal {
	return &Terminal{In: in, Raw: out, Out: NewScreen(out), Err: NewScreen(err)}
}

// Print writes v as indented JSON.
func (t *Terminal) Print(v any) error { return WriteJSON(t.Out, v) }

// WriteJSON writes v as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Result prints v as JSON when that is wanted, else shows it to a person.
func (t *Terminal) Result(v any, show func()) error {
	if t.JSON {
		return t.Print(v)
	}
	show()
	return nil
}

// SayRaw prints a JSON object as it is.
func (t *Terminal) SayRaw(raw json.RawMessage, err error) error {
	if err == nil {
		t.Say("%s", raw)
	}
	return err
}

// Say writes a line of the result.
func (t *Terminal) Say(format string, args ...any) {
	fmt.Fprintf(t.Out, format+"\n", args...)
}

// Note writes a line beside the result.
func (t *Terminal) Note(format string, args ...any) {
	fmt.Fprintf(t.Err, "tooldex: "+format+"\n", args...)
}

// Columns is the width of the result's terminal, 0 if it goes elsewhere.
func (t *Terminal) Columns() int { return Width(t.Out) }

// Flush writes what the screens still hold.
func (t *Terminal) Flush() error {
	var errs []error
	for _, w := range []io.Writer{t.Out, t.Err} {
		if s, ok := w.(*Screen); ok {
			errs = append(errs, s.flush())
		}
	}
	return errors.Join(errs...)
}
