package index

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/vector"
)

// The file vectors-SPACE-CONFIGURATION is a flat file of the vectors that a
// model serves, so that opening a large catalog reads them in one go. It
// repeats what the store's vectors bucket says and is of no use with another
// store: a vector that it lacks, or a file that is damaged, costs time and
// nothing else. Its version is vectorsVersion, its arrays are
//
//	store    u64  the store's id
//	space    u8   [16] the space's key
//	numbers  u32  of rows, of dimensions D
//	texts    u8   [32] by row: SHA-256 of the embedded text
//	vectors  f32  [D] by row: of length 1, or 0 where the text has none
//
// Rows are in the order of the tools' ids, as a snapshot has them.
const (
	vectorsMagic   = "TDXVECTS"
	vectorsVersion = 1
)

// savedVectors are the vectors of a file. The zero value has none.
type savedVectors struct {
	store uint64
	space store.Space
	texts [][32]byte // by row, when written
	rows  vector.Matrix
	known map[[32]byte][]float32 // rows by text, when read
}

func (ix *Index) vectorsPath(m *model) string {
	return filepath.Join(ix.dir, "vectors-"+m.space.String()[:16]+"-"+ix.configuration()[:16])
}

// readVectors returns what is saved of m; that it cannot be read costs time
// only.
func (ix *Index) readVectors(m *model) savedVectors {
	if ix.store == nil || m.pending() {
		return savedVectors{}
	}
	saved, err := readVectors(ix.vectorsPath(m))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.log(ix.log).Info("stored vectors are taken one by one", "file", ix.vectorsPath(m), "error", err)
	}
	if saved.space != m.space {
		return savedVectors{}
	}
	return saved
}

func readVectors(path string) (savedVectors, error) {
	r, err := openFlat(path, vectorsMagic, vectorsVersion)
	if err != nil {
		return savedVectors{}, err
	}
	var saved savedVectors
	if id := array[uint64](r, 1); r.err == nil {
		saved.store = id[0]
	}
	copy(saved.space[:], array[byte](r, int64(len(saved.space))))
	n, dims := int64(r.number()), int64(r.number())
	sums := array[byte](r, n*32)
	saved.rows = vector.Matrix{Dims: int(dims), Data: array[float32](r, n*dims)}
	if err := r.close(); err != nil {
		return savedVectors{}, err
	}
	if dims == 0 {
		return savedVectors{}, nil
	}
	saved.known = make(map[[32]byte][]float32, n)
	for i := range int(n) {
		if v := saved.rows.Row(i); !isZero(v) {
			saved.known[[32]byte(sums[32*i:])] = v
		}
	}
	return saved, nil
}

// verifyVectors reads a file of vectors to the end. One of another version is
// sound.
func verifyVectors(path string) error {
	if _, err := readVectors(path); !errors.Is(err, errOutdated) {
		return err
	}
	return nil
}

// saveVectors writes the file of each model whose vectors are complete if one
// of share is not in it.
func (ix *Index) saveVectors(share int) error {
	ix.mu.Lock()
	var due []*model
	var contents []savedVectors
	for _, m := range ix.models.all() {
		if saved := m.saveable(ix.counters.File, share); !ix.readOnly() && saved.store != 0 {
			due, contents = append(due, m), append(contents, saved)
			m.unsaved = 0
		}
	}
	ix.mu.Unlock()
	var failed error
	for i, m := range due {
		if err := atomicfile.Write(ix.vectorsPath(m), contents[i].write); err != nil {
			failed = errors.Join(failed, fmt.Errorf("write vectors: %w", err))
		}
	}
	return failed
}

// saveable is what to save of m, nothing while that would not pay. The caller
// holds Index.mu.
func (m *model) saveable(file uint64, share int) savedVectors {
	n := len(m.builtOf)
	if m.built == nil || !m.ready || n < savedFrom || m.unsaved == 0 || m.unsaved*share < n {
		return savedVectors{}
	}
	saved := savedVectors{store: file, space: m.space, texts: make([][32]byte, n), rows: m.built.rows}
	for i, d := range m.builtOf {
		saved.texts[i] = d.embedded[m.form]
	}
	return saved
}

func (s savedVectors) write(to io.Writer) error {
	return writeFlat(to, vectorsMagic, vectorsVersion, func(w *flatWriter) error {
		err := errors.Join(putArray(w, []uint64{s.store}), putArray(w, s.space[:]), w.numbers(uint32(len(s.texts)), uint32(s.rows.Dims)))
		for i := range s.texts {
			err = errors.Join(err, putArray(w, s.texts[i][:]))
		}
		for i := range s.rows.Rows() {
			err = errors.Join(err, putArray(w, s.rows.Row(i)))
		}
		return err
	})
}
