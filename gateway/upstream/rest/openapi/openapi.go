// Package openapi reads descriptions of REST APIs and makes tools of their
// operations: OpenAPI 3.0 and 3.1, and Swagger 2.0, as JSON or YAML.
//
// [Read] gives each operation a name, a tool object as an MCP server would
// list it, and what a call needs: where each argument goes. A document is
// read as a tree and not into a model of the standard, so that a mistake costs
// the operation that it is in, or a part of a schema, and never the document:
// what is left out is in Skipped, what is made up for is in Warnings.
package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxBytes bounds one document, MaxYAML one that is YAML, which takes ten
// times as long to read.
const (
	MaxBytes = 64 << 20
	MaxYAML  = 16 << 20
)

// MaxOperations bounds the tools of one document.
const MaxOperations = 10000

// Options say what of a document is wanted. The zero value takes everything
// that stands in the one document.
type Options struct {
	Location string    // path or address of the document; references are relative to it
	Include  Selection // only these operations; the zero value means all
	Exclude  Selection // without these
	BaseURL  string    // where calls go, in place of the document's servers
	Hosts    []string  // other hosts to which operations with a server of their own may go

	// Given is a parameter that is sent with every call, as "query:api_key":
	// it is no argument. "" is none.
	Given string
	// Load reads another document that this one refers to, by its path or
	// address; nil refuses all.
	Load func(ctx context.Context, location string) ([]byte, error)
}

// A Document is what was made of a description.
type Document struct {
	Version    string // as the document gives it, such as 3.0.3
	Title      string
	About      string // its own description
	Base       string // where calls go: absolute, or relative to where the document is from; "" if it does not say
	Operations []Operation
	Skipped    []Skipped // operations that make no tool, and why
	Excluded   int       // operations that Include or Exclude leave out
	Renamed    []string  // operations that would have had the same name, with the one they got
	Warnings   []string  // what is wrong with the document, and was made up for

	// Credentials are the ways to prove who calls that the document knows, such
	// as "token (http bearer)".
	Credentials []string
}

// Skipped is an operation that makes no tool.
type Skipped struct {
	Operation string `json:"operation"` // method and path
	Why       string `json:"why"`
}

// An Operation is one operation of an API.
type Operation struct {
	Name       string // of the tool
	ID         string // operationId, "" for none
	Method     string // in capitals
	Path       string // with {name} for parameters
	Server     string // its own base, "" for that of the document
	Tags       []string
	Deprecated bool
	Params     []Param
	Body       *Body  // nil for none
	Accept     string // value of the header
	Tool       json.RawMessage
}

// A Param is a parameter of a request.
type Param struct {
	Argument string // what callers call it
	Name     string // what the API calls it
	In       string // path, query, header or cookie
	Style    string // of RFC 6570, as OpenAPI names them, and tabDelimited of Swagger
	Explode  bool
	Reserved bool // characters of addresses are sent as they are
	JSON     bool // sent as JSON
	Required bool
}

// A Kind is how a body is written.
type Kind string

// The kinds of bodies.
const (
	JSON      Kind = "json"
	Form      Kind = "form"
	Multipart Kind = "multipart"
	Text      Kind = "text"
	Binary    Kind = "binary"
)

// A Body is the body of a request.
type Body struct {
	Kind     Kind
	Type     string // media type
	Required bool
	Argument string          // that holds all of it; "" where its fields are arguments
	Fields   map[string]bool // arguments that are fields of it
	Open     bool            // arguments that are nothing else are fields, too
	Parts    map[string]Part // how fields of a form are written, where that is said
	Binary   map[string]bool // fields of a form that are files
}

// A Part says how one field of a form is written.
type Part struct {
	Type    string // media type, "" for the usual one
	Style   string
	Explode bool
}

// Read makes tools of a document. Its error says why nothing could be made of
// it at all.
func Read(ctx context.Context, data []byte, o Options) (*Document, error) {
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, o: o, main: &file{location: o.Location, root: root}, files: map[string]*file{}}
	r.files[o.Location] = r.main
	d := &Document{}
	if d.Version, r.swagger, err = version(root); err != nil {
		return nil, err
	}
	info := object(root["info"])
	d.Title, d.About = text(info["title"]), text(info["description"])
	r.doc = d
	d.Base = r.base()
	d.Credentials = r.credentials()
	paths, ok := root["paths"].(map[string]any)
	if !ok {
		return nil, errors.New("it has no paths, so no operations")
	}
	if err := r.operations(paths); err != nil {
		return nil, err
	}
	if len(d.Operations)+len(d.Skipped)+d.Excluded == 0 {
		d.Warnings = append(d.Warnings, "it has no operations")
	}
	return d, nil
}

// version tells which standard the document follows.
func version(root map[string]any) (version string, swagger bool, err error) {
	version = text(root["openapi"])
	if v := text(root["swagger"]); version == "" && v != "" {
		version, swagger = v, true
	}
	switch {
	case version == "":
		return "", false, errors.New(`it is no OpenAPI document: it has neither "openapi" nor "swagger" at the top`)
	case swagger && version != "2.0" && version != "2":
		return "", false, fmt.Errorf("it is Swagger %s; 2.0 can be read, and OpenAPI 3.0 and 3.1", version)
	case !swagger && !strings.HasPrefix(version, "3.0") && !strings.HasPrefix(version, "3.1"):
		return "", false, fmt.Errorf("it is OpenAPI %s; 3.0 and 3.1 can be read, and Swagger 2.0", version)
	}
	return version, swagger, nil
}

// A reader reads one document.
type reader struct {
	ctx     context.Context
	o       Options
	swagger bool
	main    *file
	files   map[string]*file // by location, those that could be read
	failed  map[string]error // the others
	doc     *Document
	warned  map[string]bool
}

// warn notes something once.
func (r *reader) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if r.warned == nil {
		r.warned = map[string]bool{}
	}
	if !r.warned[w] {
		r.warned[w] = true
		r.doc.Warnings = append(r.doc.Warnings, w)
	}
}
