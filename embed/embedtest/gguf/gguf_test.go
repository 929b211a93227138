package gguf

import (
	"bytes"
	"errors"
	"testing"
)

func TestWriteIsDeterministicAndSeeded(t *testing.T) {
	write := func(m Model) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	a := write(Model{Seed: 1})
	if !bytes.HasPrefix(a, []byte("GGUF\x03\x00\x00\x00")) || len(a)%alignment != 0 {
		t.Errorf("%d bytes that begin %x", len(a), a[:8])
	}
	if !bytes.Equal(a, write(Model{Seed: 1, Dims: 64, Layers: 1, Context: 256})) {
		t.Error("the same model twice differs")
	}
	if b := write(Model{Seed: 2}); bytes.Equal(a, b) || len(a) != len(b) {
		t.Error("another seed gives the same weights")
	}
}

type full struct{ room int }

var errFull = errors.New("no space")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestErrors(t *testing.T) {
	for _, m := range []Model{{Dims: 33}, {Layers: -1}, {Context: 1}} {
		if m.Write(&bytes.Buffer{}) == nil {
			t.Errorf("%+v: no error", m)
		}
	}
	for _, room := range []int{0, 20_000} {
		if err := (Model{}).Write(&full{room}); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes: error %v", room, err)
		}
	}
}
