// Package rest makes tools of REST APIs and calls them: the operations of an
// OpenAPI document, and single requests from the configuration.
//
// [Read] makes the tools of one API, and a [Set] keeps and calls those of any
// number. Below are openapi, which reads documents; call, which writes requests
// and reads replies; and web, the HTTP clients, which reach only what they may.
//
// A reply over 32 MiB is discarded and fails its call. Pages of lists are left
// to callers.
package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
	"github.com/tooldex/tooldex/gateway/upstream/rest/web"
)

// An Origin says where the description of an API is, and what of it is wanted.
type Origin struct {
	Document     string            // path or address of an OpenAPI document; "" without one
	BaseURL      string            // where calls go, in place of the document's server
	Include      openapi.Selection // only these operations
	Exclude      openapi.Selection // without these
	Hosts        []string          // other hosts that operations may name as their server
	Given        string            // parameter that is no argument, as openapi.Options has it
	RemoteRefs   bool              // references to other addresses are followed
	AllowPrivate bool              // addresses that are not public may be reached
}

// fetchTimeout bounds reading a document with all that it refers to.
const fetchTimeout = 2 * time.Minute

// Read reads the document and makes tools of its operations.
func Read(ctx context.Context, o Origin) (*openapi.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	data, err := fetch(ctx, o.Document, o.AllowPrivate)
	var d *openapi.Document
	if err == nil {
		d, err = openapi.Read(ctx, data, openapi.Options{
			Location: o.Document, Include: o.Include, Exclude: o.Exclude, BaseURL: o.BaseURL, Hosts: o.Hosts, Given: o.Given, Load: o.load,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", shown(o.Document), err)
	}
	if o.BaseURL != "" {
		d.Base = o.BaseURL
	}
	d.Base, err = resolved(o.Document, d.Base)
	if err != nil {
		d.Warnings = append(d.Warnings, err.Error())
	}
	for i := range d.Operations {
		if own := &d.Operations[i].Server; *own != "" {
			*own, _ = resolved(o.Document, *own) // "" goes to the document's
		}
	}
	return d, nil
}

// shown is a location without what may be secret of it.
func shown(location string) string {
	if u, err := url.Parse(location); err == nil && u.Host != "" {
		if u.RawQuery != "" {
			u.RawQuery = "…"
		}
		return u.Redacted()
	}
	return location
}

// isAddress tells an address from a path.
func isAddress(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

// fetch reads what the operator named.
func fetch(ctx context.Context, location string, private bool) ([]byte, error) {
	if isAddress(location) {
		u, err := url.Parse(location)
		return web.Fetch(ctx, location, openapi.MaxBytes, private || err == nil && web.NamesPrivate(u.Hostname()))
	}
	f, err := os.Open(location)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	return readAll(f)
}

func withoutPath(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func readAll(f io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, openapi.MaxBytes+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if len(data) > openapi.MaxBytes {
		return nil, fmt.Errorf("it is larger than %d MiB", openapi.MaxBytes>>20)
	}
	return data, nil
}

// load reads what a document refers to: files in its folder and below, and
// addresses where that is allowed.
func (o Origin) load(ctx context.Context, location string) ([]byte, error) {
	switch {
	case isAddress(location) && o.RemoteRefs:
		return web.Fetch(ctx, location, openapi.MaxBytes, o.AllowPrivate)
	case isAddress(location) || strings.Contains(location, "://"):
		return nil, errors.New("it leads to another address: set allow_remote_refs: true to have that read")
	case isAddress(o.Document):
		return nil, errors.New("a document from an address refers to no file")
	}
	root, err := os.OpenRoot(filepath.Dir(o.Document))
	if err != nil {
		return nil, withoutPath(err)
	}
	defer root.Close()
	name, err := filepath.Rel(filepath.Dir(o.Document), location)
	if err != nil || !filepath.IsLocal(name) {
		return nil, errors.New("it leads out of the document's folder")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	return readAll(f)
}

// resolved is where calls go, an address without a slash at its end; an error
// says that it is not known.
func resolved(document, base string) (string, error) {
	if isAddress(document) {
		from, err := url.Parse(document)
		to, other := url.Parse(cmp.Or(base, "/"))
		if err = errors.Join(err, other); err != nil {
			return "", fmt.Errorf("server %s of the document is no address: set base_url", base)
		}
		base = from.ResolveReference(to).String()
	}
	u, err := url.Parse(base)
	switch {
	case base == "":
		return "", errors.New("the document names no server: set base_url")
	case err == nil && u.Host == "":
		return "", fmt.Errorf("the document's server %s is relative, and the document is a file: set base_url", base)
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("server %s of the document is no http or https address: set base_url", base)
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimRight(u.String(), "/"), nil
}
