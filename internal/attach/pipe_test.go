package attach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A peerServer is the far end of a pipe's link: it answers what asks for an
// answer, except calls of "slow" and what mute names.
type peerServer struct {
	t    *testing.T
	conn net.Conn
	mute string
	seen chan string // lines
}

func newPeerServer(t *testing.T, mute string) (*peerServer, net.Conn) {
	near, far := net.Pipe()
	s := &peerServer{t: t, conn: far, mute: mute, seen: make(chan string, 100)}
	go s.run()
	t.Cleanup(func() { far.Close() })
	return s, near
}

func (s *peerServer) run() {
	defer close(s.seen)
	in := bufio.NewReader(s.conn)
	for {
		line, err := readLine(in)
		if err != nil {
			return
		}
		s.seen <- string(line)
		for _, m := range messagesOf(line) {
			if len(m.ID) == 0 || m.Method == s.mute || strings.Contains(string(line), `"slow"`) {
				continue
			}
			if _, err := fmt.Fprintf(s.conn, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"of\":%q}}\n", m.ID, m.Method); err != nil {
				return
			}
		}
	}
}

// A session is a client on a pipe.
type session struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
	links chan io.ReadWriteCloser
}

var errNoLink = errors.New("no link is left")

func newSession(t *testing.T, first io.ReadWriteCloser) *session {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &session{t: t, in: inW, out: bufio.NewReader(outR), ended: make(chan error, 1), links: make(chan io.ReadWriteCloser, 10)}
	p := &Pipe{In: inR, Out: outW, Logger: slog.New(slog.DiscardHandler), Connect: func(context.Context) (io.ReadWriteCloser, error) {
		select {
		case l := <-s.links:
			return l, nil
		default:
			return nil, errNoLink
		}
	}}
	go func() { s.ended <- p.Run(context.Background(), first) }()
	t.Cleanup(sync.OnceFunc(func() {
		inW.Close()
		go io.Copy(io.Discard, outR)
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
		outW.Close()
	}))
	return s
}

func (s *session) send(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) want(parts ...string) {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	for _, part := range parts {
		if !strings.Contains(line, part) {
			s.t.Errorf("got %swant %q in it", line, part)
		}
	}
}

// wantInAnyOrder reads as many lines as there are lists, each of which one of
// them has to match.
func (s *session) wantInAnyOrder(lists ...[]string) {
	s.t.Helper()
	for range len(lists) {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		before := len(lists)
		lists = slices.DeleteFunc(lists, func(parts []string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
		})
		if len(lists) != before-1 {
			s.t.Errorf("got %swant one of %q", line, lists)
		}
	}
}

func call(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool)
}

func wantSeen(t *testing.T, s *peerServer, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if line := <-s.seen; !strings.Contains(line, part) {
			t.Errorf("the server got %q, want %q in it", line, part)
		}
	}
}

func open(t *testing.T, s *session, first *peerServer) {
	t.Helper()
	s.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","x":[1, 2]}}`)
	s.want(`"id":0`, "initialize")
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	wantSeen(t, first, "initialize", "notifications/initialized")
}

// A session that has been opened goes on when the one who served it ends: the
// handshake is repeated unseen, a call that was under way is answered, and
// what can be asked again is.
func TestPipeGoesOn(t *testing.T) {
	first, link := newPeerServer(t, "tools/list")
	s := newSession(t, link)
	open(t, s, first)
	s.send(call(1, "quick"))
	s.want(`"id":1`, "tools/call")
	s.send(call(2, "slow"))
	s.send(`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`)
	wantSeen(t, first, `"quick"`, `"slow"`, "tools/list")

	second, next := newPeerServer(t, "")
	s.links <- next
	first.conn.Close()
	s.wantInAnyOrder([]string{`"id":2`, `"isError":true`, "may have run"}, []string{"tools/list_changed"}, []string{`"id":"a"`, "tools/list"})
	wantSeen(t, second, `"x":[1,2]`, "notifications/initialized", `"id":"a"`)
	s.send(call(3, "quick"))
	s.want(`"id":3`)
	wantSeen(t, second, `"id":3`)

	// Without anything under way the next is looked for when it is needed.
	second.conn.Close()
	third, last := newPeerServer(t, "")
	s.links <- last
	s.send(call(4, "quick"))
	s.want("tools/list_changed")
	s.want(`"id":4`, "tools/call")
	wantSeen(t, third, "initialize", "notifications/initialized", `"id":4`)
}

// Without anybody left to serve every request is answered with that, and a
// later one finds who serves then.
func TestPipeWithoutLink(t *testing.T) {
	first, link := newPeerServer(t, "tools/list")
	s := newSession(t, link)
	open(t, s, first)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	wantSeen(t, first, "tools/list")
	first.conn.Close()
	s.want(`"id":1`, `"error"`, errNoLink.Error())
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	s.want(`"id":2`, `"resultType":"complete"`, `"isError":true`, errNoLink.Error())
	second, next := newPeerServer(t, "")
	s.links <- next
	s.send(call(3, "quick"))
	s.want("tools/list_changed")
	s.want(`"id":3`)
	wantSeen(t, second, "initialize", "notifications/initialized", `"id":3`)
}

// A handshake that was under way is asked again as it was.
func TestPipeBeforeHandshake(t *testing.T) {
	first, link := newPeerServer(t, "initialize")
	s := newSession(t, link)
	s.send(`{"jsonrpc":"2.0","id":"i","method":"initialize"}`)
	wantSeen(t, first, "initialize")
	second, next := newPeerServer(t, "")
	s.links <- next
	first.conn.Close()
	s.want(`"id":"i"`, `"of":"initialize"`)
	wantSeen(t, second, `"id":"i"`)
}

// The last answers are awaited after the client has said all.
func TestPipeAwaitsAnswers(t *testing.T) {
	server, link := newPeerServer(t, "tools/list")
	s := newSession(t, link)
	s.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	wantSeen(t, server, "tools/list")
	s.in.Close()
	go fmt.Fprintln(server.conn, `{"id":1,"result":{"late":true},"jsonrpc":"2.0"}`)
	s.want(`"late":true`)
}

func TestResponseIDs(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                      "1",
		`{"jsonrpc":"2.0","id":"a\"b","error":{}}`:                                  `"a\"b"`,
		`{"result":{"id":5},"id":2,"jsonrpc":"2.0"}`:                                "2",
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`:                                  "",
		`{"jsonrpc":"2.0","method":"x","params":{"id":1}}`:                          "",
		`[{"jsonrpc":"2.0","id":1,"result":{}},{"id":2,"error":{}},{"method":"x"}]`: "1 2",
		`garbage`: "",
		``:        "",
	} {
		if got := strings.Join(responseIDs([]byte(line)), " "); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
