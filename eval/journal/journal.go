// Package journal keeps values that take long to compute in a file of JSON
// lines, so that a computation that was interrupted goes on where it was.
//
// The first line names the problem that the values belong to, each further one
// is the value of one key. A line is written in one call: a crash cuts at most
// the last, and a reader drops it.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A Journal is a file that is appended to; not for concurrent use.
type Journal struct{ f *os.File }

type line struct {
	Problem string      `json:"problem,omitempty"`
	Key     string      `json:"point,omitempty"`
	Value   [][]float64 `json:"sums,omitempty"`
}

// Open reads the values that a file keeps, or begins one. A file of another
// problem is an error: its values would be wrong here.
func Open(path, problem string) (*Journal, map[string][][]float64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{f}
	values, whole, err := read(f, problem)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err == nil && whole == 0 {
		err = j.write(line{Problem: problem})
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return j, values, nil
}

// read returns the values and how many bytes of the file are whole lines.
func read(r io.Reader, problem string) (values map[string][][]float64, whole int64, err error) {
	values = map[string][][]float64{}
	br := bufio.NewReader(r)
	for {
		text, err := br.ReadBytes('\n')
		if err == io.EOF {
			return values, whole, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, 0, fmt.Errorf("not a state file of eval tune: %w", err)
		}
		switch {
		case whole == 0 && l.Problem != problem:
			return nil, 0, errors.New("it belongs to other sets, options or another index; delete it or name another one")
		case l.Key != "":
			values[l.Key] = l.Value
		}
		whole += int64(len(text))
	}
}

// Keep appends the value of a key.
func (j *Journal) Keep(key string, value [][]float64) error {
	return j.write(line{Key: key, Value: value})
}

func (j *Journal) write(l line) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(l); err != nil {
		return err
	}
	_, err := j.f.Write(b.Bytes())
	return err
}

// Close closes the file. Every line was written whole.
func (j *Journal) Close() error { return j.f.Close() }
