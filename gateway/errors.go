package gateway

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// What an [Error] is about, where callers tell cases apart.
var (
	ErrUnknownTool   = errors.New("there is no such tool")
	ErrUnavailable   = errors.New("the tool's server is away, and the tool did not run")
	ErrNotRunnable   = errors.New("the caller sees the tool and may not run it")
	ErrOtherEffect   = errors.New("the tool has another effect than the caller says")
	ErrLimit         = errors.New("the caller asks for more than it may")
	ErrAmbiguousName = errors.New("the name of several tools")
)

// A Vocabulary is how whoever asks calls what there is to do and to give: a
// surface by its meta-tools and their arguments, a program by its commands and
// flags. Advice is put in these words.
type Vocabulary struct {
	Search, List, Describe, Categories, Similar string // operations

	Labels          string // what lists all servers, tags and categories
	Start           string // what starts the servers
	Status          string // what says how the servers are
	Hybrid, Keyword string // what has a search rank so
	MinScore        string // what cuts rows by score
	Timeout         string // what gives a call more time
}

// OnePlace is the vocabulary of who has one place for everything that is to be
// found, and is given no more time.
func OnePlace(place string) Vocabulary {
	return Vocabulary{
		Search: place, List: place, Describe: place, Categories: place, Similar: place, Labels: place, Hybrid: place, Keyword: place, MinScore: place,
		Start: `"tooldex serve"`, Status: `"tooldex status"`, Timeout: "the operator's execution.timeout_seconds",
	}
}

// Advice says what to do next; nil says nothing.
type Advice func(Vocabulary) string

// In is the advice in the words of v.
func (a Advice) In(v Vocabulary) string {
	if a == nil {
		return ""
	}
	return a(v)
}

// say is advice that needs no words.
func say(text string) Advice { return func(Vocabulary) string { return text } }

// An Error is a failure told to the caller: what is wrong with which thing,
// and what to do next.
type Error struct {
	Tool    string // the tool it is about, "" for none
	Problem string
	Next    Advice
	Name    string        // that no tool has, or several
	Effect  string        // that the tool has, of ErrOtherEffect
	Near    []index.Hit   // tools that a name may have meant, or the one it is about
	Err     error         // what it came of, may be nil
	Again   time.Duration // when it may be asked for again; 0 says nothing
}

func (e *Error) Error() string {
	if e.Tool == "" {
		return e.Problem
	}
	return e.Tool + ": " + e.Problem
}

func (e *Error) Unwrap() error { return e.Err }

// A Refusal is the JSON-RPC error with which a server answered a call.
type Refusal struct {
	Code    int64
	Message string
	Data    json.RawMessage // nil for none
}

// RefusalOf is the Refusal of which an error came, nil for none.
func RefusalOf(err error) *Refusal {
	var call *upstream.CallError
	if !errors.As(err, &call) || !call.Refused {
		return nil
	}
	return &Refusal{Code: call.Code, Message: call.Err.Error(), Data: call.Data}
}
