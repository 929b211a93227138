package restcmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

// CheckUsable reads a document of which tools are to be called: one that gives
// none, or does not say where calls go, is an error.
func CheckUsable(ctx context.Context, o rest.Origin) (Checked, error) {
	d, err := Check(ctx, o)
	switch {
	case err != nil:
	case len(d.Operations) == 0:
		err = cli.Hint(errors.New("document "+o.Document+": it gives no tool"), "see \"tooldex rest check %s\"", o.Document)
	case d.Base == "":
		err = cli.Hint(errors.New("document "+o.Document+": it does not say where calls go"), "give the address of the API as --base-url")
	}
	return d, err
}

// Entry is what a configuration at that path says of an API. A document in the
// configuration's folder or below is named relative to it.
func Entry(o rest.Origin, config string) map[string]any {
	e := map[string]any{"openapi": located(o.Document, config)}
	if o.BaseURL != "" {
		e["base_url"] = o.BaseURL
	}
	if len(o.Hosts) > 0 {
		e["hosts"] = o.Hosts
	}
	if o.RemoteRefs {
		e["allow_remote_refs"] = true
	}
	if s := selection(o.Include); len(s) > 0 {
		e["include"] = s
	}
	return e
}

func located(document, config string) string {
	if strings.Contains(document, "://") {
		return document
	}
	path, err := filepath.Abs(document)
	if err != nil {
		return document
	}
	if folder, err := filepath.Abs(filepath.Dir(config)); err == nil {
		if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
			return "./" + filepath.ToSlash(rel)
		}
	}
	return path
}

func selection(s openapi.Selection) map[string]any {
	out := map[string]any{}
	for key, values := range map[string][]string{"tags": s.Tags, "paths": s.Paths, "methods": s.Methods, "operations": s.Operations} {
		if len(values) > 0 {
			out[key] = values
		}
	}
	return out
}
