package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tooldex/tooldex/gateway/upstream"
)

const (
	// smallMessage is not counted: most never exceed it.
	smallMessage = 1 << 20
	// roomBytes bounds the bytes of all larger messages in memory. Until it is
	// handed on, a result takes six times its bytes: as read, decoded, made
	// part of an answer, and encoded. Two of the largest have to fit, so that
	// one server alone cannot keep another out.
	roomBytes = 2 * maxMessage
	// arrivalTime bounds the wait for the end of a message that has room, and
	// that for room where nothing is known of who waits for the message.
	arrivalTime = time.Minute
)

var errStalled = fmt.Errorf("the server has stopped in the middle of a message: no end within %v", arrivalTime)

// A room bounds the bytes of large messages in memory.
type room struct{ bytes *semaphore.Weighted }

func newRoom(bytes int64) *room { return &room{semaphore.NewWeighted(bytes)} }

// processRoom is shared by all servers of the process.
var processRoom = newRoom(roomBytes)

// take waits for room for the largest message: taking more as the message
// arrives would let two messages wait for each other.
func (r *room) take(ctx context.Context) (*share, error) {
	if !r.bytes.TryAcquire(maxMessage) { // Acquire fails where ctx has ended, room or not
		if err := r.bytes.Acquire(ctx, maxMessage); err != nil {
			return nil, err
		}
	}
	s := &share{room: r}
	s.bytes.Store(maxMessage)
	return s, nil
}

// A share is the part of a room that one message takes; nil takes none.
type share struct {
	room  *room
	bytes atomic.Int64
}

// keep gives back all but n bytes.
func (s *share) keep(n int) {
	had := s.bytes.Load()
	if left := min(int64(n), had); s.bytes.CompareAndSwap(had, left) {
		s.room.bytes.Release(had - left)
	}
}

// release gives back all that is left.
func (s *share) release() {
	if s != nil {
		s.room.bytes.Release(s.bytes.Swap(0))
	}
}

// An intake takes room for the large messages of one stream, one at a time.
type intake struct {
	tap   *tap
	ctx   context.Context // of the stream
	drop  func()          // ends a stream that has stopped inside a message
	share *share
	late  *time.Timer
}

// admit waits until there is room for the message that begins with head, for
// as long as somebody waits for it.
func (in *intake) admit(head []byte) error {
	if in.share != nil {
		return nil
	}
	var id idScanner
	id.scan(head)
	ctx, cancel := context.WithTimeout(in.ctx, arrivalTime)
	defer cancel()
	s := in.tap.sinkOf(id.id())
	if s != nil {
		s.held.Store(true)
		defer context.AfterFunc(s.ctx, cancel)()
	}
	share, err := in.tap.room.take(ctx)
	if err != nil {
		return upstream.ErrNoRoom
	}
	if s != nil {
		s.held.Store(false)
	}
	in.share, in.late = share, time.AfterFunc(arrivalTime, in.drop)
	return nil
}

// pass hands the room of a message of size bytes on to the request that the
// message answers, if it still waits.
func (in *intake) pass(s *sink, size int) {
	if in.share == nil || s == nil {
		return
	}
	in.share.keep(size)
	if in.tap.hold(s, in.share) {
		in.late.Stop()
		in.share = nil
	}
}

// end gives back room that no request has taken.
func (in *intake) end() {
	if in.share != nil {
		in.late.Stop()
		in.share.release()
		in.share = nil
	}
}

// isRefused reports an error of a line that was discarded to its end.
func isRefused(err error) bool {
	return errors.Is(err, upstream.ErrTooLarge) || errors.Is(err, upstream.ErrNoRoom)
}

// readAll reads a body that is one message.
func (in *intake) readAll(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, smallMessage+1))
	if err != nil || len(data) <= smallMessage {
		return data, err
	}
	if err := in.admit(data); err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(io.LimitReader(body, maxMessage-smallMessage))
	if err == nil && len(data)+len(rest) > maxMessage {
		return nil, upstream.ErrTooLarge
	}
	return append(data, rest...), err
}
