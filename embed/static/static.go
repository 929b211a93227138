// Package static is the embedding model inside the binary: a table of learned
// token vectors, so that semantic search works with no service, key or
// download. [Open] gives the model; any number of goroutines may use it.
//
// A vector is a weighted sum of the rows of a text's tokens, normalised: no
// network, no matrix product. Queries and documents weigh tokens differently,
// and a tool is read field by field ([Model.EmbedFields]). README.md in this
// folder fixes tokenising and pooling, says what the model learned from and
// what it cannot do; testdata/golden.json pins the vectors.
//
// A text without any known token gives the zero vector, whose cosine is 0
// with everything.
package static

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

// digest is the SHA-256 of the lower-case hexadecimal SHA-256 of
// model.safetensors, vocab.txt and config.json, each followed by a line
// feed. It is a constant because hashing 11 MB would cost every start
// several milliseconds and page the whole file in; a test recomputes it.
const digest = "7642dbe905147b0341129b9ae4a26f02d5a7ebc8ec200a55e78b5323ca3db318"

// name is the model's name in its identity.
const name = "static-v1"

var (
	//go:embed model.safetensors
	modelFile string
	//go:embed vocab.txt
	vocabFile string
	//go:embed config.json
	configFile []byte
)

// Fields are the names of the fields that EmbedFields reads.
var fields = []string{"name", "server", "desc", "pname", "pdesc"}

// textField is the field that a document given as one text is read as.
const textField = "desc"

type config struct {
	Format    string             `json:"format"`
	Dim       int                `json:"dim"`
	Rows      int                `json:"rows"`
	FieldGain map[string]float32 `json:"field_gain"`
	FieldCap  map[string]int     `json:"field_cap"`
	QueryCap  int                `json:"query_cap"`
}

// A Model is the built-in embedder.
type Model struct {
	config config
	table  *table
	vocab  func() *vocabulary // built by the first text
	pool   sync.Pool          // of *scratch
}

var open = sync.OnceValues(load)

// Open returns the model, one for the whole process. It reads headers only:
// the vectors stay in the binary's read-only pages and the vocabulary's hash
// table is built by the first text. An error means a damaged binary.
func Open() (*Model, error) { return open() }

func load() (*Model, error) {
	var c config
	if err := json.Unmarshal(configFile, &c); err != nil {
		return nil, fmt.Errorf("open built-in model: config.json: %w", err)
	}
	if c.Format != name {
		return nil, fmt.Errorf("open built-in model: config.json: format %q, want %q", c.Format, name)
	}
	t, err := parseTable(modelFile, c.Rows, c.Dim)
	if err != nil {
		return nil, fmt.Errorf("open built-in model: model.safetensors: %w", err)
	}
	if err := checkVocabulary(vocabFile, c.Rows); err != nil {
		return nil, fmt.Errorf("open built-in model: vocab.txt: %w", err)
	}
	m := &Model{config: c, table: t}
	m.vocab = sync.OnceValue(func() *vocabulary { return newVocabulary(vocabFile, c.Rows) })
	m.pool.New = func() any { return newScratch(c.Rows) }
	return m, nil
}

// Model is the identity of the vector space: name, hash of the model's files,
// dimensions.
func (m *Model) Model() string {
	return fmt.Sprintf("builtin/%s@%s;d=%d", name, digest[:16], m.config.Dim)
}

// Dims is the length of every vector.
func (m *Model) Dims() int { return m.config.Dim }

// EmbedQuery returns the unit vector of a search text.
func (m *Model) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := m.take()
	defer m.give(s)
	v := make([]float32, m.config.Dim)
	s.tokenise(text, m.config.QueryCap)
	m.addBag(v, s, m.table.queryWeight, 1)
	normalise(v)
	return v, nil
}

// EmbedDocuments returns one unit vector a text, in order; a text is read as
// a tool that has only a description.
func (m *Model) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	s := m.take()
	defer m.give(s)
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		v := make([]float32, m.config.Dim)
		m.addField(v, s, textField, text)
		normalise(v)
		out[i] = v
	}
	return out, nil
}

// EmbedFields returns one unit vector a tool, in order. A tool's fields are
// "name", "server", "desc" (its description), "pname" (parameter names) and
// "pdesc" (parameter descriptions and enum values), lists joined by spaces in
// the schema's own order; an absent field is empty, another key is ignored.
func (m *Model) EmbedFields(ctx context.Context, tools []map[string]string) ([][]float32, error) {
	out := make([][]float32, len(tools))
	s := m.take()
	defer m.give(s)
	for i, tool := range tools {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		v := make([]float32, m.config.Dim)
		for _, f := range fields {
			m.addField(v, s, f, tool[f])
		}
		normalise(v)
		out[i] = v
	}
	return out, nil
}

// Tokens lists the vocabulary rows that a query is read as, equal ones side by
// side, for debugging.
func (m *Model) Tokens(text string) []string {
	s := m.take()
	defer m.give(s)
	s.tokenise(text, m.config.QueryCap)
	var names []string
	for _, row := range s.rows {
		names = append(names, slices.Repeat([]string{s.vocab.name(row)}, int(s.counts[row]))...)
	}
	return names
}

// addField adds one field's bag, divided by the root of its summed weights so
// that a long field does not drown the name.
func (m *Model) addField(v []float32, s *scratch, field, text string) {
	if text == "" {
		return
	}
	s.tokenise(text, m.config.FieldCap[field])
	weights := m.table.documentWeight
	var sum float32
	for _, row := range s.rows {
		sum += float32(root(s.counts[row]) * weights.at(row))
	}
	m.addBag(v, s, weights, m.config.FieldGain[field]/root(max(sum, 1e-6)))
}

// addBag adds gain · Σ √count · weight · row over the distinct tokens of s.
func (m *Model) addBag(v []float32, s *scratch, weights floats, gain float32) {
	for _, row := range s.rows {
		w := gain * root(s.counts[row]) * weights.at(row)
		accumulate(v, m.table.row(row), w*m.table.rowScale.at(row))
	}
}

// accumulate adds f times the int8 row to v. Products are rounded before they
// are added, here and below: some processors would do both at once, and give
// other vectors than those that are stored.
func accumulate(v []float32, row string, f float32) {
	row = row[:len(v)]
	for j := range v {
		v[j] += float32(f * float32(int8(row[j])))
	}
}

func root[T float32 | uint32](x T) float32 { return float32(math.Sqrt(float64(x))) }

// normalise divides v by its length; the zero vector stays.
func normalise(v []float32) {
	var sum float32
	for _, x := range v {
		sum += float32(x * x)
	}
	if sum == 0 {
		return
	}
	f := 1 / root(sum)
	for i := range v {
		v[i] *= f
	}
}

func (m *Model) take() *scratch {
	s := m.pool.Get().(*scratch)
	s.vocab = m.vocab()
	return s
}

func (m *Model) give(s *scratch) {
	s.clear()
	m.pool.Put(s)
}
