package mcp

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// TestHeadersThatNoLongerMatch has a server ask for an argument in a header
// that its last listing did not speak of.
func TestHeadersThatNoLongerMatch(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string"%s}}}}`
	for _, c := range []struct {
		name   string
		lists  string // what the tool's second listing adds to its schema
		want   string // the error of the call, "" for none
		listed int32  // in the end, by all calls
	}{
		{"a header that is new", `,"x-mcp-header":"Region"`, "", 2},
		{"a header that is never listed", ``, "call raw/echo: Mcp-Param-Region is missing", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var listed atomic.Int32
			sp, plain := serveHTTP(t, &rawServer{Version: wire.Stateless})
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				m, again := peek(req)
				switch {
				case m.Method == "tools/list":
					added := c.lists
					if listed.Add(1) == 1 {
						added = ""
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[`+tool+`]}}`, m.ID, added)
				case m.Method == "tools/call" && req.Header.Get("Mcp-Param-Region") != "eu":
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32020,"message":"Mcp-Param-Region is missing"}}`)
				default:
					plain.Config.Handler.ServeHTTP(w, again)
				}
			}))
			t.Cleanup(front.Close)
			sp.URL = front.URL
			s := start(t, Options{}, sp)
			if _, err := s.Refresh(within(t, hangTime), "raw"); err != nil {
				t.Fatal(err)
			}
			for n := range int32(3) {
				_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "echo", Arguments: []byte(`{"region":"eu"}`)})
				if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
					t.Errorf("call %d: got %v, want %q", n+1, err, c.want)
				}
			}
			if n := listed.Load(); n != c.listed {
				t.Errorf("the tools were listed %d times, want %d", n, c.listed)
			}
		})
	}
}
