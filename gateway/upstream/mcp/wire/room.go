package wire

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
	// RoomBytes bounds the bytes of all larger messages in memory. Until it is
	// handed on, a result takes six times its bytes: as read, decoded, made
	// part of an answer, and encoded. Two of the largest have to fit, so that
	// one server alone cannot keep another out.
	RoomBytes = 2 * MaxMessage
	// arrivalTime bounds the wait for the next byte of a message that has room,
	// and where nothing is known of who waits for the message, that for room
	// and for its end.
	arrivalTime = time.Minute
)

// ErrStalled reports a message that does not go on.
var ErrStalled = fmt.Errorf("the server has stopped in the middle of a message: nothing came for %v", arrivalTime)

// errUnwanted reports a message that is not worth its room.
var errUnwanted = errors.New("nobody waits for it any more")

// A Room bounds the bytes of large messages in memory.
type Room struct{ *semaphore.Weighted }

// NewRoom returns a room of so many bytes.
func NewRoom(bytes int64) *Room { return &Room{semaphore.NewWeighted(bytes)} }

// processRoom is shared by all servers of the process.
var processRoom = NewRoom(RoomBytes)

// take waits for room for the largest message: taking more as the message
// arrives would let two messages wait for each other.
func (r *Room) take(ctx context.Context) (*Share, error) {
	if !r.TryAcquire(MaxMessage) { // Acquire fails where ctx has ended, room or not
		if err := r.Acquire(ctx, MaxMessage); err != nil {
			return nil, err
		}
	}
	s := &Share{room: r}
	s.bytes.Store(MaxMessage)
	return s, nil
}

// A Share is the part of a room that one message takes; nil takes none.
type Share struct {
	room  *Room
	bytes atomic.Int64
}

// keep gives back all but n bytes.
func (s *Share) keep(n int) {
	had := s.bytes.Load()
	if left := min(int64(n), had); s.bytes.CompareAndSwap(had, left) {
		s.room.Release(had - left)
	}
}

// Release gives back all that is left.
func (s *Share) Release() {
	if s != nil {
		s.room.Release(s.bytes.Swap(0))
	}
}

// An Intake takes room for the large messages of one stream, one at a time.
type Intake struct {
	tap   *Tap
	ctx   context.Context // of the stream
	drop  func()          // ends a stream that has stopped inside a message
	share *Share
	sink  *Sink // of the request that the message answers; nil if it is not known
	since time.Time
	late  *time.Timer
}

// NewIntake returns the intake of a stream that ends with ctx. drop ends one
// that has stopped inside a message.
func NewIntake(t *Tap, ctx context.Context, drop func()) *Intake {
	return &Intake{tap: t, ctx: ctx, drop: drop}
}

// admit waits until there is room for the message that begins with head, for
// as long as somebody waits for it.
func (in *Intake) admit(head []byte) error {
	if in.share != nil {
		return nil
	}
	var id idScanner
	id.scan(head)
	ctx, cancel := context.WithTimeout(in.ctx, arrivalTime)
	defer cancel()
	s := in.tap.SinkOf(id.id())
	if s != nil {
		s.Held.Store(true)
		defer context.AfterFunc(s.ctx, cancel)()
	}
	share, err := in.tap.room.take(ctx)
	if err != nil {
		return upstream.ErrNoRoom
	}
	if s != nil {
		s.Held.Store(false)
	}
	in.share, in.sink, in.since = share, s, time.Now()
	in.late = time.AfterFunc(arrivalTime, in.drop)
	return nil
}

// wanted gives back the room of a message for which nobody waits any more.
func (in *Intake) wanted() error {
	switch {
	case in.share == nil:
		return nil
	case in.sink != nil && in.sink.ctx.Err() == nil:
		return nil
	case in.sink == nil && time.Since(in.since) < arrivalTime:
		return nil
	}
	in.End()
	return errUnwanted
}

// An arriving reader has the message wait on while bytes come.
type arriving struct {
	io.Reader
	in *Intake
}

// Read implements io.Reader.
func (a arriving) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 && a.in.share != nil {
		a.in.late.Reset(arrivalTime)
	}
	return n, err
}

// Pass hands the room of a message of size bytes on to the request that the
// message answers, if it still waits.
func (in *Intake) Pass(s *Sink, size int) {
	if in.share == nil || s == nil {
		return
	}
	in.share.keep(size)
	if in.tap.hold(s, in.share) {
		in.late.Stop()
		in.share = nil
	}
}

// End gives back room that no request has taken.
func (in *Intake) End() {
	if in.share != nil {
		in.late.Stop()
		in.share.Release()
		in.share = nil
	}
}

// IsRefused reports an error of a line that was discarded to its end.
func IsRefused(err error) bool {
	return errors.Is(err, upstream.ErrTooLarge) || errors.Is(err, upstream.ErrNoRoom) || errors.Is(err, errUnwanted)
}

// ReadAll reads a body that is one message.
func (in *Intake) ReadAll(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, smallMessage+1))
	if err != nil || len(data) <= smallMessage {
		return data, err
	}
	if err := in.admit(data); err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(io.LimitReader(arriving{body, in}, MaxMessage-smallMessage))
	if err == nil && len(data)+len(rest) > MaxMessage {
		return nil, upstream.ErrTooLarge
	}
	return append(data, rest...), err
}
