package serve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A client that sends without end and reads nothing is read no further, and
// let go.
func TestStdioBoundsUnreadAnswers(t *testing.T) {
	for kind, line := range map[string]string{
		"requests":       `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{` + statelessMeta + `}}`,
		"large requests": `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search_tools","arguments":{"query":"` + strings.Repeat("x", 4<<20) + `"},` + statelessMeta + `}}`,
		"notifications":  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":-%d}}`,
	} {
		t.Run(kind, func(t *testing.T) {
			g := newGateway(t, nil, Options{})
			t.Parallel()
			g.unreadTimeout = 100 * time.Millisecond
			in, feed := io.Pipe()
			out, writing := newBlockedWriter()
			served := make(chan error, 1)
			go func() {
				served <- g.ServeStdio(context.Background(), in, out)
				in.Close()
			}()
			var sent atomic.Int64
			go func() {
				for i := range 100_000 {
					if i == 0 {
						io.WriteString(feed, `{"jsonrpc":"2.0","id":"first","method":"tools/list","params":{`+statelessMeta+"}}\n")
						<-writing // its answer is being written
					}
					if _, err := fmt.Fprintf(feed, line+"\n", i); err != nil {
						return
					}
					sent.Add(int64(len(line)))
				}
			}()
			if err := <-served; err != nil {
				t.Errorf("served: %v", err)
			}
			lines := sent.Load() / int64(len(line))
			if sent.Load() > 2*maxUnreadBytes || lines > 2*maxUnreadNotes || strings.HasPrefix(kind, "requests") && lines > 2*maxUnread {
				t.Errorf("%d lines, %d bytes were read with not one answer taken", lines, sent.Load())
			}
			close(out.release)
			feed.Close()
		})
	}
}
