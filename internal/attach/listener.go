package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	// greeting is what each peer is told first, whatever it wants.
	greeting = "tooldex\n"
	// acceptAgain is the wait after a failure to accept: there may be too many
	// open files.
	acceptAgain = 100 * time.Millisecond
)

// A Listener is a socket at a place. Peers are greeted at once, so that a process
// that is starting is known from one that is stopped; they wait until a Server
// uses the Listener.
type Listener struct {
	*net.UnixListener
	Place   Place
	greeted chan *net.UnixConn // closed after the socket
}

func newListener(ln *net.UnixListener, p Place) *Listener {
	l := &Listener{ln, p, make(chan *net.UnixConn, maxConns)}
	go l.greet()
	return l
}

// AcceptUnix is the next peer that was greeted.
func (l *Listener) AcceptUnix() (*net.UnixConn, error) {
	conn, ok := <-l.greeted
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// greet accepts and greets peers until the socket is closed. It closes those
// for whom there is no room, and in the end those whom nobody took.
func (l *Listener) greet() {
	defer func() {
		close(l.greeted)
		for conn := range l.greeted {
			_ = conn.Close() // nothing was asked
		}
	}()
	for {
		conn, err := l.UnixListener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptAgain)
			continue
		}
		if _, err := io.WriteString(conn, greeting); err != nil {
			_ = conn.Close() // it has gone
			continue
		}
		select {
		case l.greeted <- conn:
		default:
			_ = conn.Close() // too many wait
		}
	}
}

// awaitGreeting reads the greeting of who listens on the socket; a SilentError
// when there is none.
func awaitGreeting(ctx context.Context, conn *net.UnixConn, socket string) error {
	end := time.Now().Add(greetTimeout)
	if until, ok := ctx.Deadline(); ok && until.Before(end) {
		end = until
	}
	if err := conn.SetReadDeadline(end); err != nil {
		return err
	}
	got := make([]byte, len(greeting))
	_, err := io.ReadFull(conn, got)
	switch {
	case isTimeout(err):
		return &SilentError{PID: peerPID(conn), Socket: socket}
	case err != nil:
		return fmt.Errorf("it closes the connection: %w", err)
	case string(got) != greeting:
		return errors.New("another program listens on " + socket)
	}
	return conn.SetReadDeadline(time.Time{})
}
