package derived

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/flat"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/vector"
)

// resealed gives a flat file the checksum of what it has.
func resealed(data []byte) []byte {
	body := data[:len(data)-4]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// FuzzDerived reads files whose checksums hold.
func FuzzDerived(f *testing.F) {
	var lex bm25.Lexicon
	d := Draft{File: 7}
	known := Vectors{}
	for i := range 3 {
		sv := Server{Name: fmt.Sprint("s", i), Generation: 1, Docs: map[string]*snapshot.Document{}}
		for _, name := range []string{"a", "b_c"} {
			t := tool.Tool{Server: sv.Name, Name: name, Description: "does " + name, Phrases: []string{"say " + name}}
			doc := snapshot.NewDocument(t, tool.Hash(&t), &lex)
			doc = doc.Saying(snapshot.Configured(&t), 1, &lex)
			sv.Docs[doc.ID] = doc
			known[snapshot.PhraseHash("say "+name)] = vector.Encode([]float32{3, float32(i), 2})
			known[doc.Embedded[tool.AsText]] = vector.Encode([]float32{1, float32(i), 2})
		}
		d.Servers = append(d.Servers, sv)
	}
	d.Lexicon, d.Models = lex.View(), []Model{{Form: tool.AsText, Known: known, Dims: 3}}
	var file bytes.Buffer
	if err := flat.Write(&file, magic, version, derive(d).write); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes()[:file.Len()-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		data := resealed(append(body, 0, 0, 0, 0))
		r, err := flat.NewReader(bytes.NewReader(data), int64(len(data)), magic, version)
		if err != nil {
			return
		}
		d, err := decode(r)
		if err != nil {
			return
		}
		terms := d.Lexicon.View()
		for _, sv := range d.Servers {
			for _, e := range sv.Docs {
				for _, id := range e.Terms.Terms {
					_ = terms.Term(id)
				}
			}
		}
	})
}
