package serve

import (
	"context"
	"errors"
	"time"
)

// Bounds of what is read from a client over stdio while an answer waits to be
// written to it. A client that reads its answers never meets them, and may
// have several times as many requests open.
const (
	maxUnread      = 64       // requests without an answer
	maxUnreadBytes = 32 << 20 // of their parameters
	maxUnreadNotes = 1024     // notifications since the last answer was written
	maxOpenFactor  = 8        // so many times the first two, whether it reads or not

	unreadTimeout = time.Minute // with not one answer taken, before the session ends
)

var errUnread = errors.New("the client sends requests and does not read the answers")

// A pile is what a client has sent that is still in memory.
type pile struct {
	writing   int // answers that are being written
	bytes     int // parameters of the open requests
	notes     int // notifications since the last answer was written
	noteBytes int
}

// told counts a notification of so many bytes.
func (p *pile) told(bytes int) {
	p.notes++
	p.noteBytes += bytes
}

// written counts the answer to o, nil for one that is not open.
func (p *pile) written(o *openRequest) {
	p.writing--
	p.notes, p.noteBytes = 0, 0
	if o != nil {
		p.bytes -= o.size
	}
}

// high reports that no more is to be read, with so many requests open.
func (p *pile) high(open int) bool {
	if p.writing > 0 && (open >= maxUnread || p.bytes+p.noteBytes >= maxUnreadBytes || p.notes >= maxUnreadNotes) {
		return true
	}
	return open >= maxOpenFactor*maxUnread || p.bytes >= maxOpenFactor*maxUnreadBytes
}

// awaitReader waits until there is room for another message. It ends the
// session of a client that takes no answer for a minute.
func (c *stdioConn) awaitReader(ctx context.Context) error {
	timeout := time.NewTimer(c.t.patience)
	defer timeout.Stop()
	for {
		c.mu.Lock()
		high, stuck := c.pile.high(len(c.open)), c.pile.writing > 0
		c.mu.Unlock()
		if !high {
			return nil
		}
		select {
		case <-c.changed:
			timeout.Reset(c.t.patience)
		case <-timeout.C:
			if stuck {
				return errUnread
			}
			timeout.Reset(c.t.patience)
		case <-c.closed:
			return nil // which Read says
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
