package pack

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/tooldex/tooldex/index/phrase"
)

// An Entry is a tool with its phrases, as a pack is made from them.
type Entry struct {
	Name        string          `json:"name"`        // as the server spells it
	Description string          `json:"description"` // as the server lists it
	Phrases     []phrase.Phrase `json:"phrases"`     // texts and kinds; at most phrase.Most are kept, clipped
}

// Write writes a pack: the same entries in the same order give the same file.
// Entries of the same name and words become one. Entries that are asked for
// together should be neighbours: their phrases lie in the same block.
func Write(w io.Writer, provenance string, entries []Entry) error {
	records, sketches, blocks, err := lay(merged(entries))
	if err != nil {
		return err
	}
	var body bytes.Buffer
	body.WriteString(provenance)
	slices.SortFunc(records, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.key, b.key))
	})
	le := binary.LittleEndian
	for _, r := range records {
		var b []byte
		b = le.AppendUint64(le.AppendUint32(b, r.name), r.key)
		body.Write(le.AppendUint16(le.AppendUint16(le.AppendUint16(b, r.sketch), r.block), r.offset))
	}
	body.Write(sketches)
	var packed bytes.Buffer
	for _, block := range blocks {
		if err := compress(&packed, block); err != nil {
			return err
		}
		body.Write(le.AppendUint32(nil, uint32(packed.Len())))
	}
	body.Write(packed.Bytes())
	header := []byte(magic)
	for _, n := range []int{int(crc32.Checksum(body.Bytes(), castagnoli)), len(provenance), len(records),
		len(sketches) / sketchSize, len(blocks), packed.Len()} {
		header = le.AppendUint32(header, uint32(n))
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err = w.Write(body.Bytes())
	return err
}

// A keyed entry is what Write makes of one.
type keyed struct {
	record
	words   []uint64
	phrases []phrase.Phrase
}

// merged are the entries with those of the same name and words made one, in
// the order of the first.
func merged(entries []Entry) []*keyed {
	var out []*keyed
	at := map[uint64]*keyed{}
	for _, e := range entries {
		words := wordsOf(e.Description)
		key := keyOf(e.Name, words)
		if at[key] == nil {
			at[key] = &keyed{record: record{name: nameHash(e.Name), key: key, sketch: noSketch}, words: words}
			out = append(out, at[key])
		}
		for _, p := range e.Phrases {
			p.Source = phrase.Pack
			at[key].phrases = append(at[key].phrases, p)
		}
	}
	for _, k := range out {
		k.phrases = phrase.Counted(k.phrases)
	}
	return slices.DeleteFunc(out, func(k *keyed) bool { return len(k.words) == 0 || len(k.phrases) == 0 })
}

// lay gives every entry its place in the blocks, and its sketch.
func lay(entries []*keyed) (records []record, sketches []byte, blocks [][]byte, err error) {
	for _, e := range entries {
		text := encode(e.phrases)
		if len(blocks) == 0 || len(blocks[len(blocks)-1])+len(text) > blockSize {
			blocks = append(blocks, nil)
		}
		last := len(blocks) - 1
		if distinct(e.words) >= leastWords {
			if len(sketches)/sketchSize == noSketch {
				return nil, nil, nil, fmt.Errorf("phrase pack: more than %d tools with longer descriptions", noSketch)
			}
			e.sketch = uint16(len(sketches) / sketchSize)
			sketch := sketchOf(e.words)
			sketches = append(sketches, sketch[:]...)
		}
		e.block, e.offset = uint16(last), uint16(len(blocks[last]))
		blocks[last] = append(blocks[last], text...)
		records = append(records, e.record)
	}
	if len(blocks) > 1<<16 {
		return nil, nil, nil, fmt.Errorf("phrase pack: more than %d blocks of phrases", 1<<16)
	}
	return records, sketches, blocks, nil
}

func encode(phrases []phrase.Phrase) []byte {
	out := []byte{byte(len(phrases))}
	for _, p := range phrases {
		kind := slices.Index(phrase.Kinds, p.Kind)
		out = append(out, byte(kind), byte(len(p.Text))) // -1 is no kind; a counted text has at most phrase.MaxBytes
		out = append(out, p.Text...)
	}
	return out
}

func compress(w io.Writer, block []byte) error {
	z, err := flate.NewWriter(w, flate.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(block); err != nil {
		return err
	}
	return z.Close()
}

// Load reads a pack of an operator: a file that makepack wrote, or JSON lines
// with the name, the description and the phrases of a tool each; a phrase is a
// text or an object with text and kind.
func Load(path string) (*Pack, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("phrase pack: %w", err)
	}
	if bytes.HasPrefix(file, []byte(magic)) {
		p, err := Open(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return p, nil
	}
	entries, err := readLines(file, path)
	if err != nil {
		return nil, fmt.Errorf("phrase pack %w", err)
	}
	var b bytes.Buffer
	if err := Write(&b, path, entries); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return Open(b.Bytes())
}

func readLines(file []byte, path string) ([]Entry, error) {
	var out []Entry
	sc := bufio.NewScanner(bytes.NewReader(file))
	sc.Buffer(nil, 1<<20)
	n := 0
	for sc.Scan() {
		n++
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		e, err := readLine(sc.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		out = append(out, e)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no tool in it; want a line of JSON a tool, with name, description and phrases", path)
	}
	return out, nil
}

func readLine(line []byte) (Entry, error) {
	var raw struct {
		Entry
		Phrases []json.RawMessage `json:"phrases"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return Entry{}, fmt.Errorf("want an object with name, description and phrases: %w", err)
	}
	e := raw.Entry
	if e.Name == "" || len(wordsOf(e.Description)) == 0 || len(raw.Phrases) == 0 {
		return Entry{}, fmt.Errorf("tool %q: name, description and phrases must not be empty: a pack knows tools by what their servers say (phrases by server/tool go to \"tooldex phrases import\")", e.Name)
	}
	e.Phrases = nil
	for i, m := range raw.Phrases {
		var p phrase.Phrase
		if json.Unmarshal(m, &p.Text) != nil {
			if err := json.Unmarshal(m, &p); err != nil {
				return Entry{}, fmt.Errorf("tool %q: phrase %d: want a text, or an object with text and kind", e.Name, i+1)
			}
		}
		text, err := phrase.Clean(p.Text)
		if err != nil {
			return Entry{}, fmt.Errorf("tool %q: phrase %d: %w", e.Name, i+1, err)
		}
		e.Phrases = append(e.Phrases, phrase.Phrase{Text: text, Kind: p.Kind})
	}
	return e, nil
}
