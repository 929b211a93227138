package static

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A table is the model's weights: views into one safetensors file, which is
// eight bytes of little-endian header length, a JSON header naming each
// tensor's type, shape and byte range, then the raw little-endian data.
type table struct {
	dim            int
	embeddings     string // int8 [rows, dim]
	rowScale       floats // row vector = rowScale · embeddings
	queryWeight    floats
	documentWeight floats
}

func (t *table) row(r uint32) string {
	i := int(r) * t.dim
	return t.embeddings[i : i+t.dim]
}

// floats are little-endian float32 read where they lie.
type floats string

func (f floats) at(r uint32) float32 {
	b := f[4*r : 4*r+4]
	return math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

// A tensor is one entry of a safetensors header.
type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

func parseTable(file string, rows, dim int) (*table, error) {
	head, data, err := splitSafetensors(file)
	if err != nil {
		return nil, err
	}
	get := func(name, dtype string, size int) (string, error) {
		t, ok := head[name]
		if !ok {
			return "", fmt.Errorf("tensor %q: missing", name)
		}
		from, to := t.Offsets[0], t.Offsets[1]
		if t.DType != dtype || from < 0 || to > int64(len(data)) || to-from != int64(size) {
			return "", fmt.Errorf("tensor %q: %s at [%d, %d), want %s of %d bytes", name, t.DType, from, to, dtype, size)
		}
		return data[from:to], nil
	}
	t := &table{dim: dim}
	var errs [4]error
	var scale, query, document string
	t.embeddings, errs[0] = get("embeddings", "I8", rows*dim)
	scale, errs[1] = get("row_scale", "F32", 4*rows)
	query, errs[2] = get("query_weight", "F32", 4*rows)
	document, errs[3] = get("document_weight", "F32", 4*rows)
	t.rowScale, t.queryWeight, t.documentWeight = floats(scale), floats(query), floats(document)
	return t, errors.Join(errs[:]...)
}

func splitSafetensors(file string) (head map[string]tensor, data string, err error) {
	if len(file) < 8 {
		return nil, "", fmt.Errorf("%d bytes, no header", len(file))
	}
	var n uint64
	for i := range 8 {
		n |= uint64(file[i]) << (8 * i)
	}
	if n > uint64(len(file)-8) {
		return nil, "", fmt.Errorf("header of %d bytes in a file of %d", n, len(file))
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(file[8:8+n]), &raw); err != nil {
		return nil, "", fmt.Errorf("header: %w", err)
	}
	delete(raw, "__metadata__") // free text, no tensor
	head = map[string]tensor{}
	for name, b := range raw {
		var t tensor
		if err := json.Unmarshal(b, &t); err != nil {
			return nil, "", fmt.Errorf("header: tensor %q: %w", name, err)
		}
		head[name] = t
	}
	return head, file[8+n:], nil
}
