package flat

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A sample is one array of each kind.
type sample struct {
	a []byte
	b []int8
	c []uint16
	d []uint32
	e []uint64
	f []float32
	s []string
}

func (s *sample) put(w *Writer) {
	Put(w, s.a)
	Put(w, s.b)
	Put(w, s.c)
	Put(w, s.d)
	Put(w, s.e)
	Put(w, s.f)
	w.Texts(s.s)
}

func get(r *Reader) (s sample) {
	s.a, s.b, s.c, s.d, s.e, s.f = Get[byte](r), Get[int8](r), Get[uint16](r), Get[uint32](r), Get[uint64](r), Get[float32](r)
	s.s = r.Texts()
	return s
}

func written(t testing.TB, s sample) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, "TESTFLAT", 3, s.put); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var few = sample{
	[]byte{1, 255}, []int8{-127, 127}, []uint16{1, 65535}, []uint32{1 << 31}, []uint64{1 << 63, 2}, []float32{-1.5, 3},
	[]string{"", "one", "漢字", ""},
}

func TestRoundTrip(t *testing.T) {
	many := few
	many.d = slices.Repeat([]uint32{7, 8, 9}, piece) // more than a piece
	for name, want := range map[string]sample{"few": few, "many": many, "none": {}} {
		r, err := Open(file(t, written(t, want)), "TESTFLAT", 3)
		if err != nil {
			t.Fatal(err)
		}
		got := get(r)
		if err := r.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(written(t, got), written(t, want)) {
			t.Errorf("%s: reads as something else", name)
		}
	}
}

func TestDamage(t *testing.T) {
	good := written(t, few)
	if _, err := Open(file(t, good), "TESTFLAT", 4); !errors.Is(err, ErrVersion) {
		t.Errorf("another version: %v", err)
	}
	if _, err := Open(file(t, good), "OTHERMAG", 3); !errors.Is(err, ErrDamaged) {
		t.Errorf("another magic: %v", err)
	}
	sound := func(data []byte) error {
		r, err := Open(file(t, data), "TESTFLAT", 3)
		if err == nil {
			get(r)
			err = r.Close()
		}
		return err
	}
	for n := range good {
		if sound(good[:n]) == nil {
			t.Errorf("%d of %d bytes are sound", n, len(good))
		}
		bad := bytes.Clone(good)
		bad[n] ^= 4
		if sound(bad) == nil {
			t.Errorf("byte %d does not matter", n)
		}
	}
	if sound(append(bytes.Clone(good), 0)) == nil {
		t.Error("a byte too many is sound")
	}
}
