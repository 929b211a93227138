package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// A flat file is what opening a folder reads in one go, beside the store that
// it repeats: arrays of numbers end to end, which need no decoding.
//
//	magic [8] | version u32 | arrays | crc32c u32
//
// Everything is little-endian; the checksum is over all before it. How long
// the arrays are is said by numbers that come before them.

// flatPiece is how many bytes are read, checked and converted at a time, few
// enough to stay in the processor's cache meanwhile.
const flatPiece = 128 << 10

var (
	flatTable = crc32.MakeTable(crc32.Castagnoli)
	errFlat   = errors.New("not a sound file")
)

// A number is what arrays of a flat file are made of.
type number interface {
	byte | uint16 | uint32 | uint64 | float32
}

// A flatReader reads a flat file from front to back. After the first failure
// its arrays are nil and its numbers 0.
type flatReader struct {
	file *os.File
	left int64 // bytes before the checksum
	crc  uint32
	buf  []byte
	err  error
}

// openFlat opens a file with this magic. One of another version is
// errOutdated.
func openFlat(path, magic string, version uint32) (*flatReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &flatReader{file: f, buf: make([]byte, flatPiece)}
	info, err := f.Stat()
	if r.err = err; err == nil {
		r.left = info.Size() - crc32.Size
	}
	switch found := string(array[byte](r, int64(len(magic)))); {
	case r.err == nil && found != magic:
		r.err = errFlat
	case r.number() != version && r.err == nil:
		r.err = errOutdated
	}
	if r.err != nil {
		return nil, errors.Join(r.err, f.Close())
	}
	return r, nil
}

// array reads the n numbers that come next.
func array[T number](r *flatReader, n int64) []T {
	size := binary.Size(T(0))
	if r.err == nil && (n < 0 || n > r.left/int64(size)) {
		r.err = fmt.Errorf("%w: it is cut short", errFlat)
	}
	if r.err != nil {
		return nil
	}
	out := make([]T, n)
	for rest := out; len(rest) > 0; {
		k := min(len(rest), len(r.buf)/size)
		piece := r.buf[:k*size]
		if _, r.err = io.ReadFull(r.file, piece); r.err != nil {
			return nil
		}
		r.crc = crc32.Update(r.crc, flatTable, piece)
		r.left -= int64(len(piece))
		fromBytes(rest[:k], piece)
		rest = rest[k:]
	}
	return out
}

func (r *flatReader) number() uint32 {
	if n := array[uint32](r, 1); n != nil {
		return n[0]
	}
	return 0
}

// close says whether all was read and is sound.
func (r *flatReader) close() error {
	if r.err == nil && r.left != 0 {
		r.err = fmt.Errorf("%w: %d bytes too many", errFlat, r.left)
	}
	want := r.crc
	r.left += crc32.Size
	if got := r.number(); r.err == nil && got != want {
		r.err = fmt.Errorf("%w: its checksum differs", errFlat)
	}
	return errors.Join(r.err, r.file.Close())
}

func fromBytes[T number](dst []T, src []byte) {
	switch dst := any(dst).(type) {
	case []byte:
		copy(dst, src)
	case []uint16:
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint16(src[2*i:])
		}
	case []uint32:
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint32(src[4*i:])
		}
	case []uint64:
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
	case []float32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	}
}

// A flatWriter writes what a flatReader reads.
type flatWriter struct {
	to  io.Writer
	crc uint32
	buf []byte
}

// writeFlat writes a flat file whose arrays put gives.
func writeFlat(to io.Writer, magic string, version uint32, put func(*flatWriter) error) error {
	w := &flatWriter{to: to}
	return errors.Join(putArray(w, []byte(magic)), w.numbers(version), put(w), w.numbers(w.crc))
}

func (w *flatWriter) numbers(n ...uint32) error { return putArray(w, n) }

func putArray[T number](w *flatWriter, numbers []T) error {
	size := binary.Size(T(0))
	for len(numbers) > 0 {
		k := min(len(numbers), flatPiece/size)
		buf, err := binary.Append(w.buf[:0], binary.LittleEndian, numbers[:k])
		if err != nil {
			return err
		}
		w.buf = buf
		w.crc = crc32.Update(w.crc, flatTable, buf)
		if _, err := w.to.Write(buf); err != nil {
			return err
		}
		numbers = numbers[k:]
	}
	return nil
}
