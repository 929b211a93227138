package serve

import (
	"net/http"
	"time"
)

const (
	// writeTimeout bounds the wait for a client to take each part of an answer.
	// The whole answer may take longer: a slow client gets all of it, and one
	// that has stopped reading does not keep its bytes in memory.
	writeTimeout = 30 * time.Second
	// writeChunk is such a part.
	writeChunk = 64 << 10
)

// A chunkWriter writes in chunks, each with a deadline of its own.
type chunkWriter struct {
	http.ResponseWriter
	conn    *http.ResponseController
	timeout time.Duration
}

func newChunkWriter(w http.ResponseWriter, timeout time.Duration) chunkWriter {
	return chunkWriter{w, http.NewResponseController(w), timeout}
}

func (w chunkWriter) Write(p []byte) (n int, err error) {
	for {
		_ = w.conn.SetWriteDeadline(time.Now().Add(w.timeout)) // which not every ResponseWriter has
		part := p[n:min(len(p), n+writeChunk)]
		done, err := w.ResponseWriter.Write(part)
		if n += done; err != nil {
			return n, err
		}
		if n == len(p) {
			_ = w.conn.SetWriteDeadline(time.Time{}) // a stream may be silent for long
			return n, nil
		}
	}
}

// Flush sends what is written.
func (w chunkWriter) Flush() {
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.timeout))
	_ = w.conn.Flush() // as http.Flusher has no error
	_ = w.conn.SetWriteDeadline(time.Time{})
}

// Unwrap is for http.ResponseController.
func (w chunkWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
