package native

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index/tool"
)

// vocabulary is how native tools call what there is to do.
var vocabulary = func() gateway.Vocabulary {
	v := gateway.OnePlace("the list of tools")
	v.Describe = "its input schema"
	return v
}()

// Answer runs the tool that c names, whose result is handed on untouched.
// Whatever goes wrong is an Answer with IsError.
func (t *Tools) Answer(ctx context.Context, c surface.Call) *surface.Answer {
	r, ok := t.list(c.View).find(c.Tool)
	if !ok {
		return surface.Failed(fmt.Sprintf("there is no tool %q any more; list the tools again", words.Excerpt(c.Tool)))
	}
	arguments := c.Arguments
	switch kind := rawjson.Kind(arguments); kind {
	case "", "null":
		arguments = json.RawMessage("{}")
	case "object":
	default:
		return surface.Failed(fmt.Sprintf("%s: arguments: expected an object, got %s", c.Tool, words.Article(kind)))
	}
	name := r.Tool.QualifiedName()
	if r.Tool.Server == "" { // which another name could contain
		name = r.ID
	}
	x, err := t.g.Execute(ctx, c.View, gateway.ExecuteRequest{Name: name, Arguments: arguments, Client: c.Client})
	if err != nil {
		a := surface.Failed(t.told(c, err))
		a.Refused = aboutClient(c, err)
		return a
	}
	a := surface.Untouched(x.Result, c.Protocol)
	a.Release = x.Release
	return a
}

const (
	codeInvalidParams     = -32602
	codeMissingCapability = -32021 // of a client, from 2026-07-28 on
)

// aboutClient is a server's JSON-RPC error that a client's program has to see:
// it lacks a capability, or the state that it handed back is refused. Nil for
// any other, which is told to the model.
func aboutClient(c surface.Call, err error) *gateway.Refusal {
	r := gateway.RefusalOf(err)
	if r == nil || c.Protocol < gateway.StatelessEra {
		return nil
	}
	if r.Code == codeMissingCapability || r.Code == codeInvalidParams && c.Client.RequestState != nil {
		return r
	}
	return nil
}

// told is err as callers are told it. Failures that are none of the caller's
// are logged too.
func (t *Tools) told(c surface.Call, err error) string {
	var failure *gateway.Error
	if !errors.As(err, &failure) {
		t.log.Error("tool failed", "tool", c.Tool, "error", err)
		return c.Tool + ": " + err.Error()
	}
	text := failure.Error()
	if next := failure.Next.In(vocabulary); next != "" {
		text += "; " + next
	}
	return text
}

// A HeaderMismatch is how the headers of a call differ from its arguments.
type HeaderMismatch string

func (m HeaderMismatch) Error() string { return "header mismatch: " + string(m) }

// CheckHeaders compares the arguments of a call with what its headers repeat
// of them, as the tool's schema asks; it is a HeaderMismatch where they
// differ. header gives the value of a header as it was sent, "" for none.
func (t *Tools) CheckHeaders(v view.View, name string, arguments json.RawMessage, header func(name string) string) error {
	r, ok := t.list(v).find(name)
	if !ok {
		return nil // which the call says
	}
	raw, _, err := t.entries.Object(r.Entry)
	headers, fault := tool.ParamHeaders(raw)
	if err != nil || fault != "" {
		return nil // the call says so, and clients send nothing of such a tool
	}
	for _, h := range headers {
		sent := header("Mcp-Param-" + h.Name)
		if text, ok := HeaderText(sent); ok {
			sent = text
		}
		if err := compare(h, sent, argument(arguments, h.Path)); err != nil {
			return err
		}
	}
	return nil
}

// HeaderText is the text of a header value in the form =?base64?…?=.
func HeaderText(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return "", false
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return "", false
	}
	text, err := base64.StdEncoding.DecodeString(inner)
	return string(text), err == nil
}

// argument is the argument at the path, nil for none and for null.
func argument(arguments json.RawMessage, path []string) json.RawMessage {
	for _, key := range path {
		var below json.RawMessage
		rawjson.Each(arguments, func(k string, value json.RawMessage) {
			if k == key {
				below = value
			}
		})
		arguments = below
	}
	if rawjson.Kind(arguments) == "null" {
		return nil
	}
	return arguments
}

func compare(h tool.ParamHeader, sent string, value json.RawMessage) error {
	path := words.Excerpt(strings.Join(h.Path, "."))
	switch {
	case value == nil && sent == "":
		return nil
	case value == nil:
		return HeaderMismatch(fmt.Sprintf("Mcp-Param-%s is given, and argument %q is not", h.Name, path))
	case sent == "" && string(value) != `""`:
		return HeaderMismatch(fmt.Sprintf("Mcp-Param-%s is missing, which repeats argument %q", h.Name, path))
	case !repeats(sent, value):
		return HeaderMismatch(fmt.Sprintf("Mcp-Param-%s is %q, which is not the value of argument %q", h.Name, words.Excerpt(sent), path))
	}
	return nil
}

// repeats says whether a header says the same as a value.
func repeats(sent string, value json.RawMessage) bool {
	switch rawjson.Kind(value) {
	case "string":
		return sent == rawjson.Text(value)
	case "boolean":
		return sent == string(value)
	case "number":
		const most = 1<<53 - 1 // that all clients keep exactly
		x, errX := strconv.ParseFloat(sent, 64)
		y, errY := strconv.ParseFloat(string(value), 64)
		return errX == nil && errY == nil && x == y && x == math.Trunc(x) && math.Abs(x) <= most
	}
	return false
}
