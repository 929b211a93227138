package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// TestStreamsThatBabble answers one method by a stream that never says
// anything of use.
func TestStreamsThatBabble(t *testing.T) {
	t.Parallel()
	chatter := strings.Repeat("chatter ", 1000)
	for name, event := range map[string]string{
		"comments":      ": " + chatter + "\n",
		"ids":           "id: " + chatter + "\n\n",
		"text":          "data: " + chatter + "\n\n",
		"notifications": `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + chatter + "\"}}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := make(chan struct{}, 8)
			babble := func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for req.Context().Err() == nil {
					if _, err := fmt.Fprint(w, event); err != nil {
						break
					}
				}
				left <- struct{}{}
			}
			s := start(t, Options{useless: small}, good(t), odd(t, &rawServer{Version: wire.Stateless}, "tools/call", babble))
			res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact"})
			wantError(t, err, "call raw/exact: connection lost: the server never stops writing")
			if !res.Sent {
				t.Error("the call is said not to have been sent")
			}
			next(t, left, "the end of the connection")
			mustCall(t, s, "good", "exact")
		})
	}
}

// TestBodiesThatStall stops in the middle of an answer.
func TestBodiesThatStall(t *testing.T) {
	t.Parallel()
	for kind, begin := range map[string]string{
		"application/json":  `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 2<<20),
		"text/event-stream": "event: message\ndata: {\"jsonrpc\":\"2.0\",",
	} {
		for _, method := range []string{"tools/call", "tools/list"} {
			t.Run(kind+" "+method, func(t *testing.T) {
				t.Parallel()
				left := make(chan struct{}, 8)
				body := stall(kind, begin)
				s := start(t, Options{ListTimeout: time.Second, room: wire.NewRoom(wire.RoomBytes)}, odd(t, &rawServer{Version: "2025-11-25"}, method, func(w http.ResponseWriter, req *http.Request) {
					body(w, req)
					left <- struct{}{}
				}))
				var err error
				if method == "tools/list" {
					_, err = s.Refresh(within(t, hangTime), "raw")
					wantError(t, err, "not complete within 1s")
				} else {
					mustList(t, s)
					_, err = s.Call(within(t, 500*time.Millisecond), upstream.Request{Server: "raw", Tool: "exact"})
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v, want the call's deadline", err)
					}
				}
				next(t, left, "the end of the connection")
			})
		}
	}
}

func mustList(t *testing.T, s *Set) {
	t.Helper()
	if _, err := s.Refresh(within(t, hangTime), "raw"); err != nil {
		t.Fatal(err)
	}
}
