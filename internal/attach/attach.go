// Package attach lets the processes of one user and one configuration share
// one running tooldex: whoever serves leaves a unix socket in the state folder,
// and others reach its servers through it.
//
// A [Place] is where the socket of one configuration is: its name holds a key
// of the program's version and all settings that matter, so that processes
// which differ never meet. A [Server] answers on it: sessions of MCP clients,
// calls of tools, its status. A [Client] asks, and a [Pipe] carries a client's
// session that outlives the process which served it.
//
// Only processes of the same user are answered, and only such are believed:
// the folder is closed to others, and on Linux and macOS both sides ask the
// system who the peer is. On Windows the folder's rights alone decide. On other
// systems nothing is shared. A peer that sends garbage, or nothing, or comes a
// thousand times, costs a bounded number of connections for a few seconds.
package attach

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

var (
	// ErrNobody reports a place where nobody serves.
	ErrNobody = errors.New("no tooldex serves there")
	// ErrTaken reports a place where another process serves.
	ErrTaken = errors.New("another tooldex serves there")
)

// A SilentError reports a place whose process does not answer: it is stopped, or
// it hangs.
type SilentError struct {
	PID    int    `json:"pid,omitempty"` // 0 where the system does not say
	Socket string `json:"socket"`
}

func (e *SilentError) Error() string {
	who := "a process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return who + " holds the socket " + e.Socket + " but does not answer"
}

// An EndpointError says why who serves does not serve an endpoint.
type EndpointError struct{ Problem string }

func (e *EndpointError) Error() string { return e.Problem }

const (
	// dialTimeout bounds the connection to a socket, which is local.
	dialTimeout = time.Second
	// greetTimeout bounds the wait for the greeting, which a process gives while
	// it is starting, too: one that takes longer is stopped.
	greetTimeout = time.Second
	// lockTimeout bounds the wait for others that look for a place.
	lockTimeout = 5 * time.Second
	// longestPath is what the address of a unix socket may have on every
	// system: 104 bytes on macOS, 108 on Linux, the end included.
	longestPath = 103
)

// A Place is where the tooldex of one configuration is to be found.
type Place struct {
	dir string // in the state folder; closed to other users
	key string
}

// At is the place in the state folder of those that agree in what: the
// program's version and the settings that matter. It may hold secrets.
func At(state string, what []byte) Place {
	sum := sha256.Sum256(what)
	return Place{dir: filepath.Join(state, "attach"), key: hex.EncodeToString(sum[:12])}
}

// All are the places in a state folder where somebody serves, or has.
func All(state string) []Place {
	dir := filepath.Join(state, "attach")
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil // nobody ever has
	}
	var out []Place
	for _, f := range files {
		key, ok := strings.CutSuffix(f.Name(), socketEnd)
		if !ok {
			key, ok = strings.CutSuffix(f.Name(), pathEnd)
		}
		if ok {
			out = append(out, Place{dir: dir, key: key})
		}
	}
	return out
}

const (
	socketEnd = ".sock"
	pathEnd   = ".path" // a file that says where the socket is
)

// Key names the place within its folder.
func (p Place) Key() string { return p.key }

// socket is the path of the socket: in the folder itself, or where the folder
// says when that path would be too long for a socket.
func (p Place) socket() string {
	if path := filepath.Join(p.dir, p.key+socketEnd); len(path) <= longestPath {
		return path
	}
	path, err := os.ReadFile(filepath.Join(p.dir, p.key+pathEnd))
	if err != nil {
		return ""
	}
	return string(path)
}

// chooseSocket is socket for who is to listen there.
func (p Place) chooseSocket() (string, error) {
	if path := filepath.Join(p.dir, p.key+socketEnd); len(path) <= longestPath {
		return path, nil
	}
	dir, err := shortDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(p.dir))
	path := filepath.Join(dir, hex.EncodeToString(sum[:6])+"-"+p.key+socketEnd)
	if len(path) > longestPath {
		return "", fmt.Errorf("%s is too long for the path of a socket", path)
	}
	if err := os.WriteFile(filepath.Join(p.dir, p.key+pathEnd), []byte(path), 0o600); err != nil {
		return "", err
	}
	return path, nil
}

// shortDir is a folder with a short path that is the user's alone.
func shortDir() (string, error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" || !filepath.IsAbs(dir) {
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, fmt.Sprintf("tooldex-%d", os.Getuid()))
	return dir, makeDir(dir)
}

// makeDir makes a folder that is closed to other users, or checks that it is.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return checkOwn(dir)
}

// Listen opens the socket of the place, unless somebody serves there: ErrTaken.
// Of two processes that look at the same moment one waits for the other.
func (p Place) Listen() (*Listener, error) {
	ln, err := p.listen()
	if err != nil {
		return nil, fmt.Errorf("listen for other processes in %s: %w", p.dir, err)
	}
	return newListener(ln, p), nil
}

func (p Place) listen() (*net.UnixListener, error) {
	if err := makeDir(p.dir); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(p.dir, "lock"))
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", p.dir, err)
	}
	defer lock.Unlock() // at the latest the end of the process does it
	p.sweep()
	path, err := p.chooseSocket()
	if err != nil {
		return nil, err
	}
	if alive(path) {
		return nil, ErrTaken
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	// The folder keeps others out already.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// sweep removes what processes that were killed have left. The caller holds
// the lock.
func (p Place) sweep() {
	for _, other := range All(filepath.Dir(p.dir)) {
		path := other.socket()
		if path == "" || alive(path) {
			continue
		}
		// What cannot be removed stays for the next one.
		_ = os.Remove(path)
		_ = os.Remove(filepath.Join(p.dir, other.key+pathEnd))
	}
}

// alive tells whether a process listens on the socket, one that is stopped
// included.
func alive(path string) bool {
	c, err := net.DialTimeout("unix", path, dialTimeout)
	if err != nil {
		return isTimeout(err)
	}
	_ = c.Close() // nothing was sent
	return true
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// dial connects to who serves at the place.
func (p Place) dial(ctx context.Context) (*net.UnixConn, error) {
	path := p.socket()
	if path == "" {
		return nil, ErrNobody
	}
	if err := checkOwn(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	d := net.Dialer{Timeout: dialTimeout}
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	conn := c.(*net.UnixConn)
	if err := errors.Join(checkPeer(conn), awaitGreeting(ctx, conn, path)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
