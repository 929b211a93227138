// Package flat writes and reads files that are read whole: arrays of numbers
// and lists of texts, one after the other, which need next to no decoding.
//
// A file is
//
//	magic [8] | version u32 | arrays | crc32c u32
//
// and an array is its length, u32, and its numbers; a list of texts is the
// array of where each ends, and an array of all their bytes. Everything is
// little-endian; the checksum is over all before it. Readers and writers keep
// their first error: look at it once, in the end.
package flat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// The reasons why a file is of no use.
var (
	// ErrVersion reports a file of another version.
	ErrVersion = errors.New("made by another version")
	// ErrDamaged reports a file that is not what a Writer left.
	ErrDamaged = errors.New("not a sound file")
)

// piece is how many bytes are read, checked and converted at a time, few
// enough to stay in the processor's cache meanwhile.
const piece = 128 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Number is what arrays are made of.
type Number interface {
	byte | int8 | uint16 | uint32 | uint64 | float32
}

// A Reader reads a file from front to back. After the first failure its
// arrays are nil.
type Reader struct {
	from  io.Reader
	close func() error
	left  int64 // bytes before the checksum
	crc   uint32
	buf   []byte
	err   error
}

// Open opens the file path, which must have this magic of eight bytes and
// this version. Close it.
func Open(path, magic string, version uint32) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r, err := NewReader(f, info.Size(), magic, version)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.close = f.Close
	return r, nil
}

// NewReader reads a file of this size out of from.
func NewReader(from io.Reader, size int64, magic string, version uint32) (*Reader, error) {
	r := &Reader{from: from, close: func() error { return nil }, left: size - crc32.Size, buf: make([]byte, piece)}
	found := make([]byte, len(magic))
	read(r, found)
	number := make([]uint32, 1)
	read(r, number)
	switch {
	case r.err == nil && string(found) != magic:
		r.err = fmt.Errorf("%w: its magic is another", ErrDamaged)
	case r.err == nil && number[0] != version:
		r.err = ErrVersion
	}
	return r, r.err
}

// Get reads the next array.
func Get[T Number](r *Reader) []T {
	n := make([]uint32, 1)
	read(r, n)
	if size := int64(binary.Size(T(0))); r.err == nil && int64(n[0]) > r.left/size {
		r.err = fmt.Errorf("%w: it is cut short", ErrDamaged)
	}
	if r.err != nil {
		return nil
	}
	out := make([]T, n[0])
	read(r, out)
	if r.err != nil {
		return nil
	}
	return out
}

// Texts reads the next list of texts, which share their memory.
func (r *Reader) Texts() []string {
	ends, bytes := Get[uint32](r), Get[byte](r)
	if r.err != nil {
		return nil
	}
	all, start := string(bytes), uint32(0)
	out := make([]string, len(ends))
	for i, end := range ends {
		if end < start || int64(end) > int64(len(all)) {
			r.err = fmt.Errorf("%w: its texts", ErrDamaged)
			return nil
		}
		out[i], start = all[start:end], end
	}
	if int64(start) != int64(len(all)) {
		r.err = fmt.Errorf("%w: its texts", ErrDamaged)
	}
	return out
}

// Close returns the first error, and whether all was read and is sound.
func (r *Reader) Close() error {
	if r.err == nil && r.left != 0 {
		r.err = fmt.Errorf("%w: %d bytes too many", ErrDamaged, r.left)
	}
	want, got := r.crc, make([]uint32, 1)
	r.left += crc32.Size
	read(r, got)
	if r.err == nil && got[0] != want {
		r.err = fmt.Errorf("%w: its checksum differs", ErrDamaged)
	}
	return errors.Join(r.err, r.close())
}

func read[T Number](r *Reader, out []T) {
	size := binary.Size(T(0))
	if r.err == nil && int64(len(out)*size) > r.left {
		r.err = fmt.Errorf("%w: it is cut short", ErrDamaged)
	}
	for len(out) > 0 && r.err == nil {
		n := min(len(out), len(r.buf)/size)
		part := r.buf[:n*size]
		if _, r.err = io.ReadFull(r.from, part); r.err != nil {
			return
		}
		r.crc = crc32.Update(r.crc, castagnoli, part)
		r.left -= int64(len(part))
		fromBytes(out[:n], part)
		out = out[n:]
	}
}

func fromBytes[T Number](dst []T, src []byte) {
	switch dst := any(dst).(type) {
	case []byte:
		copy(dst, src)
	case []int8:
		for i := range dst {
			dst[i] = int8(src[i])
		}
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

// A Writer writes what a Reader reads, in the same order.
type Writer struct {
	to  io.Writer
	crc uint32
	buf []byte
	err error
}

// Write writes a file whose arrays put gives.
func Write(to io.Writer, magic string, version uint32, put func(*Writer)) error {
	w := &Writer{to: to}
	write(w, []byte(magic))
	write(w, []uint32{version})
	put(w)
	write(w, []uint32{w.crc})
	return w.err
}

// Put writes an array.
func Put[T Number](w *Writer, numbers []T) {
	if len(numbers) > math.MaxUint32 && w.err == nil {
		w.err = fmt.Errorf("write an array of %d numbers: too long", len(numbers))
	}
	write(w, []uint32{uint32(len(numbers))})
	write(w, numbers)
}

// Texts writes a list of texts.
func (w *Writer) Texts(texts []string) {
	ends := make([]uint32, len(texts))
	var all []byte
	for i, s := range texts {
		all = append(all, s...)
		ends[i] = uint32(len(all))
	}
	if len(all) > math.MaxUint32 && w.err == nil {
		w.err = fmt.Errorf("write texts of %d bytes: too long", len(all))
	}
	Put(w, ends)
	Put(w, all)
}

func write[T Number](w *Writer, numbers []T) {
	size := binary.Size(T(0))
	for len(numbers) > 0 && w.err == nil {
		n := min(len(numbers), piece/size)
		w.buf, w.err = binary.Append(w.buf[:0], binary.LittleEndian, numbers[:n])
		if w.err != nil {
			return
		}
		w.crc = crc32.Update(w.crc, castagnoli, w.buf)
		_, w.err = w.to.Write(w.buf)
		numbers = numbers[n:]
	}
}
