package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/native"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
)

// nativeTTL is how long, in milliseconds, clients may keep a list that may
// change.
const nativeTTL = `30000`

// An offer is what a server has to call: the meta-tools of its surface, and
// the tools themselves where they are shown.
type offer struct {
	names       map[string]bool   // of the meta-tools
	definitions []json.RawMessage // of the meta-tools, as they are listed
	view        atomic.Pointer[view.View]
	tools       *native.Tools
	shown       bool            // the tools are
	watcher     *native.Watcher // of their list; nil unless they are shown
	probes      *native.Probes
}

// has says whether there is a tool of that name to call, for who sees v.
func (o *offer) has(v view.View, name string) bool {
	return o.names[name] || o.shown && o.tools.Has(v, name)
}

func (o *offer) setView(v view.View) {
	o.view.Store(&v)
	if o.watcher != nil {
		o.watcher.Look()
	}
}

// end is called when no more calls are taken.
func (o *offer) end() {
	if o.watcher != nil {
		o.watcher.Stop()
	}
	o.probes.Flush()
}

// list answers with a page: the meta-tools and the first tools, or more tools.
func (o *offer) list(v view.View, r *mcp.ListToolsRequest) (mcp.Result, error) {
	cursor, protocol := "", r.ProtocolVersion()
	if r.Params != nil {
		cursor = r.Params.Cursor
	}
	objects, next, err := o.tools.Page(v, cursor, protocol)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "tools/list: " + err.Error()}
	}
	if cursor == "" {
		objects = append(o.definitions[:len(o.definitions):len(o.definitions)], objects...)
	}
	return &wireResult{encode: func(meta []rawjson.Member) (json.RawMessage, error) {
		var w rawjson.Writer
		if len(meta) > 0 {
			w.Add("_meta", rawjson.Object(meta))
		}
		if protocol >= gateway.StatelessEra {
			w.Add("resultType", json.RawMessage(`"complete"`))
			w.Add("ttlMs", json.RawMessage(nativeTTL))
			w.Add("cacheScope", json.RawMessage(`"private"`)) // as others may see other tools
		}
		w.AddArray("tools", objects)
		if next != "" {
			w.Add("nextCursor", rawjson.Quote(next))
		}
		return surface.ValidText(w.Bytes()), nil
	}}, nil
}

// wrongHeaders says how the headers of a call of a tool that is shown differ
// from its arguments; the SDK looks at those of its own tools.
func (o *offer) wrongHeaders(v view.View, h http.Header, m *message) *jsonrpc.Error {
	name := text(m.params, "name")
	if !o.shown || m.method != "tools/call" || o.names[name] {
		return nil
	}
	if err := o.tools.CheckHeaders(v, name, m.params["arguments"], h.Get); err != nil {
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: err.Error()}
	}
	return nil
}

// A HiddenAccess is a call of a tool by a name under which its caller is not
// shown it. The call was answered as that of an unknown tool.
type HiddenAccess struct {
	Time   time.Time
	Origin gateway.Origin
	Name   string   // as it was called
	Tools  []string // qualified names of the tools that it may have meant
}

// An Auditor keeps what an operator may ask for later. It is called off the
// path of requests, from one goroutine at a time.
type Auditor interface{ HiddenToolAccess(a HiddenAccess) }

// toLog is an Auditor that logs.
type toLog struct{ *Server }

func (l toLog) HiddenToolAccess(a HiddenAccess) {
	l.log.Warn("hidden_tool_access", "endpoint", a.Origin.Endpoint, "principal", a.Origin.Principal,
		"name", words.Excerpt(a.Name), "tools", words.Join(a.Tools))
}

// probesOf finds out which calls of unknown tools were of hidden ones.
func probesOf(s *Server) *native.Probes {
	auditor := s.opts.Auditor
	if auditor == nil {
		auditor = toLog{s}
	}
	return native.NewProbes(s.offer.tools, s.offer.shown, func(p native.Probe) {
		auditor.HiddenToolAccess(HiddenAccess{p.Time, p.Origin, p.Name, p.Tools})
	}, func(n int) {
		s.log.Warn("calls of unknown tools came too fast to tell which were of hidden ones", "endpoint", s.opts.Endpoint, "calls", n)
	})
}

// receiving is the receiving middleware of a server: it answers for what the
// SDK does not know.
func receiving(s *Server) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		results := rawResults(next)
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			if x := req.GetExtra(); x != nil {
				ctx = s.arrived(callerOf(ctx, x), x.Header)
			}
			v := viewOf(ctx, s)
			if r, ok := req.(*mcp.CallToolRequest); s.opts.Tracer != nil && (!ok || !s.offer.has(v, r.Params.Name)) { // call traces the others
				var ended func(error)
				ctx, ended = s.tracedBySDK(ctx, method, req)
				defer func() { ended(err) }()
			}
			switch r := req.(type) {
			case *mcp.ListToolsRequest:
				if s.offer.shown {
					return s.offer.list(v, r)
				}
			case *mcp.CallToolRequest:
				if s.offer.names[r.Params.Name] {
					return results(ctx, method, req)
				}
				c := s.callOf(ctx, r)
				if s.offer.has(v, c.Tool) {
					answer := s.call(ctx, c)
					defer answer.Done()
					if refused := refusalOf(answer); refused != nil {
						return nil, refused
					}
					return answerResult(answer, c.Protocol), nil
				}
				s.offer.probes.Note(native.Probe{Time: time.Now(), Name: c.Tool, View: v, Origin: origin(ctx, s, c)})
			case *mcp.SubscriptionsListenRequest:
				ctx, ended := s.subscriptions.last(ctx)
				defer ended()
				return next(ctx, method, req)
			}
			return next(ctx, method, req)
		}
	}
}
