package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a service whose sessions answer each line with it.
func echo() Service {
	return Service{
		Session: func(endpoint string) (Session, error) {
			if endpoint != "echo" {
				return nil, fmt.Errorf("%q is not served", endpoint)
			}
			return func(ctx context.Context, conn io.ReadWriteCloser) error {
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				_, err := io.Copy(conn, conn)
				return err
			}, nil
		},
		About:  func() About { return About{PID: 7, Version: "v"} },
		Status: func() any { return map[string]int{"servers": 3} },
		Call:   func(_ context.Context, r json.RawMessage) any { return r },
		Logger: slog.New(slog.DiscardHandler),
	}
}

// served runs a server of s at p until the test ends.
func served(t *testing.T, p Place, s Service) *Server {
	t.Helper()
	ln, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	v := NewServer(s)
	v.Use(ln)
	t.Cleanup(v.Close)
	return v
}

// place is a place in a folder whose path is short on every system.
func place(t *testing.T, what string) Place {
	t.Helper()
	dir, err := os.MkdirTemp("", "att")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return At(dir, []byte(what))
}

func wantEcho(t *testing.T, p Place) {
	t.Helper()
	s, err := p.Session(t.Context(), "echo")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := io.WriteString(s, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(s).ReadString('\n'); line != "hello\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestPlace(t *testing.T) {
	p := place(t, "a")
	if _, err := p.Session(t.Context(), "echo"); !errors.Is(err, ErrNobody) {
		t.Errorf("nobody serves: %v", err)
	}
	v := served(t, p, echo())
	wantEcho(t, p)
	var refused *EndpointError
	if _, err := p.Session(t.Context(), "a b&c"); !errors.As(err, &refused) || refused.Problem != `"a b&c" is not served` {
		t.Errorf("an endpoint that is not there: %v", err)
	}
	if _, err := p.Listen(); !errors.Is(err, ErrTaken) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := At(filepath.Dir(p.dir), []byte("b")).Session(t.Context(), "echo"); !errors.Is(err, ErrNobody) {
		t.Errorf("another configuration: %v", err)
	}
	var st struct{ Servers int }
	if err := p.Status(t.Context(), &st); err != nil || st.Servers != 3 {
		t.Errorf("status: %+v, %v", st, err)
	}
	if a, err := p.About(t.Context()); err != nil || a.PID != 7 {
		t.Errorf("about: %+v, %v", a, err)
	}
	var called struct{ Tool string }
	if err := p.Call(t.Context(), map[string]string{"Tool": "x"}, &called); err != nil || called.Tool != "x" {
		t.Errorf("call: %+v, %v", called, err)
	}
	if err := p.Yield(t.Context()); err == nil {
		t.Error("it yields")
	}
	if all := All(filepath.Dir(p.dir)); len(all) != 1 || all[0] != p {
		t.Errorf("all: %v", all)
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{p.dir: 0o700, p.socket(): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
	// Settings that change move the place; sessions go on.
	open, err := p.Session(t.Context(), "echo")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	next := At(filepath.Dir(p.dir), []byte("next"))
	ln, err := next.Listen()
	if err != nil {
		t.Fatal(err)
	}
	v.Use(ln)
	wantEcho(t, next)
	if _, err := p.Session(t.Context(), "echo"); !errors.Is(err, ErrNobody) {
		t.Errorf("the place that was left: %v", err)
	}
	if _, err := io.WriteString(open, "x\n"); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(open).ReadString('\n'); line != "x\n" {
		t.Errorf("an open session got %q, %v", line, err)
	}
}

func TestYield(t *testing.T) {
	p := place(t, "a")
	s := echo()
	yielded := make(chan struct{})
	s.Yield = func() { close(yielded) }
	served(t, p, s)
	if err := p.Yield(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-yielded
	served(t, p, echo())
	wantEcho(t, p)
}

// The socket of a process that was killed is nobody's.
func TestStaleSocket(t *testing.T) {
	p := place(t, "a")
	other := At(filepath.Dir(p.dir), []byte("other"))
	for _, dead := range []Place{p, other} {
		ln, err := dead.Listen()
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		ln.Close()
	}
	if _, err := p.Session(t.Context(), "echo"); !errors.Is(err, ErrNobody) {
		t.Errorf("got %v", err)
	}
	served(t, p, echo())
	wantEcho(t, p)
	if _, err := os.Lstat(other.socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what another left: %v", err)
	}
	if err := os.WriteFile(other.socket(), []byte("no socket"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Session(t.Context(), "echo"); !errors.Is(err, ErrNobody) {
		t.Errorf("a file: %v", err)
	}
	served(t, other, echo())
	wantEcho(t, other)
}

// A state folder whose path no socket can have names another one.
func TestLongPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders of users are short there")
	}
	short, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	t.Setenv("XDG_RUNTIME_DIR", short)
	p := At(filepath.Join(t.TempDir(), strings.Repeat("long", 50)), nil)
	served(t, p, echo())
	t.Setenv("XDG_RUNTIME_DIR", "") // of another process
	wantEcho(t, p)
	if path := p.socket(); !strings.HasPrefix(path, short) || len(path) > longestPath {
		t.Errorf("the socket is at %s", path)
	}
	if all := All(filepath.Dir(p.dir)); len(all) != 1 || all[0] != p {
		t.Errorf("all: %v", all)
	}
}

// A folder that others may enter, or that others have made, is not used.
func TestOpenFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders have no such mode there")
	}
	p := place(t, "a")
	served(t, p, echo())
	if err := os.Chmod(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Session(t.Context(), "echo"); !errors.Is(err, ErrNobody) || !strings.Contains(err.Error(), "open to other users") {
		t.Errorf("attached: %v", err)
	}
	if _, err := At(filepath.Dir(p.dir), []byte("b")).Listen(); err == nil || !strings.Contains(err.Error(), "open to other users") {
		t.Errorf("listened: %v", err)
	}
	if err := os.Chmod(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	wantEcho(t, p)
}

func dialed(t *testing.T, p Place) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", p.socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// closed waits until the other end has closed c.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); isTimeout(err) {
		t.Error("the connection stays open")
	}
}

// Peers that say nothing, nonsense or the wrong key cost nothing and nobody.
func TestHostilePeers(t *testing.T) {
	p := place(t, "a")
	served(t, p, echo())
	silent := dialed(t, p)
	for _, text := range []string{
		"\x00\xff garbage\r\n\r\n", "{}\n", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"POST /session HTTP/1.1\r\nHost: x\r\nUpgrade: tooldex-session\r\nConnection: close\r\n\r\n",
		fmt.Sprintf("POST /session HTTP/1.1\r\nHost: x\r\n%s: %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", keyHeader, p.key),
		"GET /about HTTP/1.1\r\n" + strings.Repeat("A: "+strings.Repeat("x", 1000)+"\r\n", 100) + "\r\n",
	} {
		c := dialed(t, p)
		if _, err := io.WriteString(c, text); err != nil && !strings.Contains(err.Error(), "pipe") {
			t.Error(err)
		}
		closed(t, c)
		wantEcho(t, p)
	}
	wrong := p
	wrong.key = strings.Repeat("0", 24)
	link := filepath.Join(p.dir, wrong.key+socketEnd)
	if err := os.Symlink(p.socket(), link); err == nil {
		if _, err := wrong.Session(t.Context(), "echo"); err == nil || !strings.Contains(err.Error(), "differ") {
			t.Errorf("the wrong key: %v", err)
		}
	}
	closed(t, silent)
}

func TestManyPeers(t *testing.T) {
	p := place(t, "a")
	served(t, p, echo())
	var many []net.Conn
	for range 4 * maxConns {
		c, err := net.Dial("unix", p.socket())
		if err != nil {
			break // the system's own bound
		}
		many = append(many, c)
	}
	closed(t, many[len(many)-1]) // one too many
	for _, c := range many {
		c.Close()
	}
	for { // they are counted off as they are seen to have closed
		if s, err := p.Session(t.Context(), "echo"); err == nil {
			s.Close()
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("nobody is answered any more")
		}
	}
	wantEcho(t, p)
}

// A process that holds the socket and does nothing is named, and that it does
// not answer.
func TestStoppedServer(t *testing.T) {
	p := place(t, "a")
	if err := makeDir(p.dir); err != nil {
		t.Fatal(err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	want := SilentError{Socket: p.socket()}
	if runtime.GOOS != "windows" {
		want.PID = os.Getpid()
	}
	var silent *SilentError
	if _, err := p.Session(t.Context(), "echo"); !errors.As(err, &silent) || *silent != want {
		t.Errorf("a session: %v", err)
	}
	if _, err := p.About(t.Context()); !errors.As(err, &silent) || *silent != want {
		t.Errorf("about: %v", err)
	}
	if _, err := p.Listen(); !errors.Is(err, ErrTaken) {
		t.Errorf("its place: %v", err)
	}
}

// A process that is starting is waited for.
func TestStartingServer(t *testing.T) {
	p := place(t, "a")
	ln, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.dial(t.Context()) // greeted, with nobody who serves
	if err != nil {
		t.Fatal(err)
	}
	v := NewServer(echo())
	defer v.Close()
	v.Use(ln)
	s, err := p.hello(conn, "echo")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
}

// One that ends while it is starting leaves nobody waiting.
func TestEndedWhileStarting(t *testing.T) {
	p := place(t, "a")
	ln, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	closed(t, conn)
}
