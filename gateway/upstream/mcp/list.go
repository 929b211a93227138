package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// Bounds of one listing; beyond them it is cut, with a warning.
const (
	maxPages     = 1000
	maxTools     = 20000
	maxListBytes = 128 << 20

	longestInstructions = 64 << 10
)

// list asks for all pages of tools/list. The second result is how long the
// server promises the list to stay as it is, 0 if it does not say.
func (c *conn) list(ctx context.Context) (upstream.Listing, time.Duration, error) {
	l := upstream.Listing{ParamHeaders: c.transport == "http" && c.version() >= wire.Stateless}
	if r := c.session.InitializeResult(); r != nil {
		l.Instructions = mask.Cut(r.Instructions, longestInstructions)
		if r.Capabilities == nil || r.Capabilities.Tools == nil {
			l.Warnings = append(l.Warnings, "the server says that it offers no tools")
			return l, 0, nil
		}
	}
	var fresh time.Duration
	var first json.RawMessage
	var cursor *string
	seen, size := map[string]bool{}, 0
	for n := 1; ; n++ {
		raw, err := c.page(ctx, n, cursor)
		if err != nil {
			return upstream.Listing{}, 0, fmt.Errorf("tools/list, page %d: %w", n, err)
		}
		p, err := decodePage(raw)
		if err != nil {
			return upstream.Listing{}, 0, fmt.Errorf("tools/list, page %d: %w", n, err)
		}
		if n == 1 {
			first, fresh = raw, p.fresh
		} else if n == 2 && *cursor == "" && bytes.Equal(raw, first) {
			return l, fresh, nil // to this server an empty cursor is none
		}
		p.addTo(&l, n)
		size += len(raw)
		switch {
		case p.next == nil, *p.next == "" && c.version() < wire.Stateless:
			return l, fresh, nil
		case seen[*p.next]:
			l.Warnings = append(l.Warnings, fmt.Sprintf("tools/list repeats its cursor %q: stopped after page %d", wire.Clip([]byte(*p.next), 40), n))
			return l, fresh, nil
		case n == maxPages || len(l.Tools) >= maxTools || size >= maxListBytes:
			l.Warnings = append(l.Warnings, fmt.Sprintf("tools/list is too long: stopped after page %d with %d tools", n, len(l.Tools)))
			return l, fresh, nil
		}
		cursor = p.next
		seen[*cursor] = true
	}
}

// page asks for page n, which a nil cursor is the first of, and returns its
// result byte for byte. The SDK is given the number for a cursor: it leaves
// empty ones out, and keeps the headers of each cursor's tools for ever.
func (c *conn) page(ctx context.Context, n int, cursor *string) (json.RawMessage, error) {
	ctx, cancel := c.bind(ctx)
	defer cancel(nil)
	s := &wire.Sink{List: true}
	params := &mcp.ListToolsParams{}
	if cursor != nil {
		params.Cursor = strconv.Itoa(n)
		s.Params = []rawjson.Member{{Key: "cursor", Value: rawjson.Quote(*cursor)}}
	}
	defer c.tap.Forget(s)
	_, err := c.session.ListTools(wire.WithSink(ctx, s), params)
	raw, fault := s.Outcome()
	switch {
	case fault != nil:
		return nil, fault
	case err != nil && context.Cause(ctx) != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case raw == nil:
		return nil, errors.New("the answer was not seen")
	}
	return raw, nil
}

// bind returns a context that ends with ctx and with the connection.
func (c *conn) bind(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })
	return ctx, func(err error) { unhook(); cancel(err) }
}

type page struct {
	tools []json.RawMessage
	next  *string // the cursor of the page after it, nil for none
	fresh time.Duration
}

func decodePage(raw json.RawMessage) (page, error) {
	var p page
	fields, err := wire.Members(raw)
	if err != nil {
		return p, fmt.Errorf("the result does not decode: %w", err)
	}
	list := fields["tools"]
	if len(list) > 0 && list[0] == '[' {
		err = wire.Split(list, func(part []byte, depth int) bool {
			if depth > wire.MaxDepth {
				part = nil
			}
			p.tools = append(p.tools, part)
			return len(p.tools) <= maxTools
		})
	}
	if err != nil || len(list) == 0 || list[0] != '[' {
		return p, errors.New("the result has no array named tools")
	}
	if next := fields["nextCursor"]; len(next) > 0 { // null leaves nil
		if err := json.Unmarshal(next, &p.next); err != nil {
			return p, fmt.Errorf("nextCursor %s is not a string", wire.Clip(next, 40))
		}
	}
	var ms float64
	if json.Unmarshal(fields["ttlMs"], &ms) == nil && ms > 0 {
		p.fresh = time.Duration(min(ms, 1e12)) * time.Millisecond
	}
	return p, nil
}

// addTo gives l the tools of page n; what has no name is no tool.
func (p page) addTo(l *upstream.Listing, n int) {
	for i, raw := range p.tools {
		switch {
		case raw == nil:
			l.Warnings = append(l.Warnings, fmt.Sprintf("entry %d on page %d of tools/list is %v", i+1, n, wire.ErrDeep))
			continue
		case len(l.Tools) == maxTools:
			l.Warnings = append(l.Warnings, fmt.Sprintf("tools/list is too long: stopped within page %d with %d tools", n, maxTools))
			return
		}
		var fields map[string]json.RawMessage
		var name string
		if json.Unmarshal(raw, &fields) != nil || json.Unmarshal(fields["name"], &name) != nil || name == "" {
			l.Warnings = append(l.Warnings, fmt.Sprintf("entry %d on page %d of tools/list is not a tool: %s", i+1, n, wire.Clip(bytes.TrimSpace(raw), 100)))
			continue
		}
		l.Tools = append(l.Tools, raw)
	}
}

// noTools reports whether the server has no such method, which old servers
// without tools answer to tools/list.
func noTools(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) && e.Code == jsonrpc.CodeMethodNotFound
}
