package callers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/attach"
)

// A line is a client of stdio.
type line struct {
	*testing.T
	w  io.Writer
	in *bufio.Reader
	n  int
}

// ask is the answer to one request.
func (l *line) ask(method, params string) string {
	l.Helper()
	l.n++
	if _, err := fmt.Fprintf(l.w, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", l.n, method, params); err != nil {
		return err.Error()
	}
	for {
		text, err := l.in.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		var m struct{ ID int }
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			l.Fatalf("%v: %s", err, text)
		}
		if m.ID == l.n {
			return text
		}
	}
}

func (l *line) initialize() *line {
	l.Helper()
	l.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if _, err := fmt.Fprintln(l.w, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		l.Fatal(err)
	}
	return l
}

func (l *line) run(tool string) string {
	l.Helper()
	return l.ask("tools/call", fmt.Sprintf(`{"name":"execute_tool","arguments":{"tool_name":%q,"arguments":{}}}`, tool))
}

// Who comes over stdio, or from another process through the socket, is the user
// of the process, who may do what grants give and is kept in the audit; what is
// taken away ends the session.
func TestLocalUsers(t *testing.T) {
	books, mail := owning(t, named("ledger")), owning(t, named("inbox"))
	me := auth.Local().Name
	lines := func(grants string) string {
		return fmt.Sprintf(`
mcpServers:
  books: {url: %q, start: eager}
  mail: {url: %q, start: eager}
audit: {enabled: true}
auth:
  grants:
    - {principals: ["local:somebody-else"], endpoints: ["*"], role: use}
%s`, books.url, mail.url, grants)
	}
	given := fmt.Sprintf(`    - {principals: [%q], endpoints: [default], scope: {include_servers: [books]}, role: use}`, me)
	w := begin(t, lines(given))
	w.listed(2)
	check := func(how string, l *line) {
		t.Helper()
		if got := l.ask("tools/call", `{"name":"list_tools","arguments":{}}`); !strings.Contains(got, "books/ledger") || strings.Contains(got, "inbox") {
			t.Errorf("%s shows %s", how, got)
		}
		if got := l.run("books/ledger"); !strings.Contains(got, "ran ledger") {
			t.Errorf("%s runs what it may: %s", how, got)
		}
		if got := l.run("mail/inbox"); strings.Contains(got, "ran inbox") {
			t.Errorf("%s runs what it may not: %s", how, got)
		}
	}
	near, far := net.Pipe() // stdio of this process, as a client has it
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	pipe := attach.Pipe{In: far, Out: far, Logger: w.quiet(), Connect: func(ctx context.Context) (io.ReadWriteCloser, error) {
		return app.Attached(ctx, w.Config, "v1", "default")
	}}
	direct, err := app.Attached(t.Context(), w.Config, "v1", "default")
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	link, err := pipe.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() { served <- pipe.Run(ctx, link) }()
	socket := (&line{T: t, w: direct, in: bufio.NewReader(direct)}).initialize()
	client := (&line{T: t, w: near, in: bufio.NewReader(near)}).initialize()
	check("the socket", socket)
	check("stdio", client)
	w.until("the audit names the user", func() bool {
		kept := map[string]int{}
		for r, err := range audit.Records(t.Context(), app.AuditFolder(w.Config), audit.Filter{Principals: []string{me}}, false) {
			if err != nil {
				t.Fatal(err)
			}
			if kept[r.Kind]++; r.Request == "" {
				t.Errorf("an event without its request: %+v", r)
			}
		}
		return kept[audit.Execute] == 2
	})

	w.write(lines(""))
	if _, err := socket.in.ReadString('\n'); err != io.EOF {
		t.Errorf("the session of who has lost everything goes on: %v", err)
	}
	// The client's process opens another, in which nothing is left to see.
	if got := client.ask("tools/call", `{"name":"list_tools","arguments":{}}`); strings.Contains(got, "ledger") || !strings.Contains(got, `"id":`) {
		t.Errorf("a client that has lost everything is shown %s", got)
	}
	if got := client.run("books/ledger"); strings.Contains(got, "ran ledger") {
		t.Errorf("it runs %s", got)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
