package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// maxReading bounds the request bodies that are being read.
	maxReading = 256
	// maxBodyBytes bounds the bytes of all bodies in memory, whether they are
	// being read or their requests are under way.
	maxBodyBytes = 64 << 20
	// freeBody is not counted: one part of a body, which most never exceed.
	freeBody = 64 << 10
	// bodyTimeout bounds the wait for each part of a body, so that a slow
	// client has 10 s for every 64 KB.
	bodyTimeout = 10 * time.Second
)

var (
	errBodyTooLarge = fmt.Errorf("request body exceeds %d bytes", maxBody)
	errBodySlow     = fmt.Errorf("request body came too slowly: less than %d bytes in %v", freeBody, bodyTimeout)
	errBodiesFull   = errors.New("too many request bodies at once; try again")
)

// bodies are the request bodies in memory. When there are too many, or too
// large ones, those that have been coming in the longest are given up: one
// that is not slow on purpose takes milliseconds.
type bodies struct {
	most      int
	mostBytes int64
	timeout   time.Duration

	mu      sync.Mutex // guards the fields below
	reading []*body    // in the order in which they began
	bytes   int64
}

func newBodies() *bodies {
	return &bodies{most: maxReading, mostBytes: maxBodyBytes, timeout: bodyTimeout}
}

// A body is one request's body and its share of the bytes.
type body struct {
	data    []byte
	stop    func() // makes a read under way fail
	share   int64
	givenUp bool
}

// read reads the body of r. It is to be released when the request has ended.
func (all *bodies) read(w http.ResponseWriter, r *http.Request) (*body, error) {
	if r.ContentLength > maxBody {
		return nil, errBodyTooLarge
	}
	conn := http.NewResponseController(w)
	b := &body{stop: func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) }}
	all.begin(b)
	err := all.fill(b, r.Body, func() { _ = conn.SetReadDeadline(time.Now().Add(all.timeout)) })
	if !all.complete(b) {
		err = errBodiesFull
	}
	if err != nil {
		all.release(b)
		return nil, err
	}
	// The deadline would end the wait for the client to hang up, too.
	_ = conn.SetReadDeadline(time.Time{})
	return b, nil
}

// fill reads all of in; renew is called before each part.
func (all *bodies) fill(b *body, in io.Reader, renew func()) error {
	for {
		renew()
		part := len(b.data) + freeBody
		for len(b.data) < part {
			if len(b.data) == cap(b.data) && !all.grow(b) {
				return errBodiesFull
			}
			n, err := in.Read(b.data[len(b.data):min(cap(b.data), part)])
			b.data = b.data[:len(b.data)+n]
			switch {
			case len(b.data) > maxBody:
				return errBodyTooLarge
			case err == io.EOF:
				return nil
			case errors.Is(err, os.ErrDeadlineExceeded):
				return errBodySlow
			case err != nil:
				return fmt.Errorf("read request body: %w", err)
			}
		}
	}
}

func (all *bodies) begin(b *body) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.reading) >= all.most {
		all.giveUp(all.reading[0])
	}
	all.reading = append(all.reading, b)
}

// grow makes room in b.data, unless the bytes are not to be had.
func (all *bodies) grow(b *body) bool {
	size := max(2*cap(b.data), 4<<10)
	all.mu.Lock()
	defer all.mu.Unlock()
	more := int64(max(size-freeBody, 0)) - b.share
	for all.bytes+more > all.mostBytes {
		i := slices.IndexFunc(all.reading, func(o *body) bool { return o != b && o.share > 0 })
		if i < 0 {
			return false
		}
		all.giveUp(all.reading[i])
	}
	if b.givenUp {
		return false
	}
	b.share, all.bytes = b.share+more, all.bytes+more
	b.data = append(make([]byte, 0, size), b.data...)
	return true
}

// giveUp ends the reading of b. The caller holds the lock.
func (all *bodies) giveUp(b *body) {
	b.givenUp = true
	b.stop()
	all.bytes, b.share = all.bytes-b.share, 0
	all.remove(b)
}

func (all *bodies) remove(b *body) {
	if i := slices.Index(all.reading, b); i >= 0 {
		all.reading = slices.Delete(all.reading, i, i+1)
	}
}

// complete ends the reading, and says whether b was not given up before.
func (all *bodies) complete(b *body) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.remove(b)
	return !b.givenUp
}

// release gives the bytes of b back.
func (all *bodies) release(b *body) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.bytes, b.share = all.bytes-b.share, 0
	b.data = nil
}

// refuseBody answers a request whose body was not read.
func refuseBody(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errBodyTooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errBodySlow):
		status = http.StatusRequestTimeout
	case errors.Is(err, errBodiesFull):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	// What is left of the body is not read, so the connection cannot go on.
	w.Header().Set("Connection", "close")
	http.Error(w, err.Error(), status)
}
