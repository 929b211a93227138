package hnsw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/index/vector"
)

var update = flag.Bool("update", false, "write testdata anew")

func encode(t testing.TB, g *Graph, h Header) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := g.Encode(&b, h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// smallGraph has 40 documents, two of them with one vector and one without.
func smallGraph(t testing.TB, rows int) *Graph {
	m := randomRows(1, rows, 5, 1)
	if rows > 4 {
		m.Set(3, m.Row(2))
		m.Set(4, absent(5))
	}
	return build(t, randomKeys(1, rows), m)
}

func TestGraphFileRoundTrip(t *testing.T) {
	for _, rows := range []int{0, 1, 40, 600} {
		g := smallGraph(t, rows)
		h := Header{"test/mödel@256", 7}
		path := filepath.Join(t.TempDir(), h.FileName())
		if err := g.WriteFile(path, h); err != nil {
			t.Fatal(err)
		}
		got, gotHeader, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if gotHeader != h {
			t.Errorf("%d rows: got header %+v, want %+v", rows, gotHeader, h)
		}
		if !bytes.Equal(encode(t, got, h), encode(t, g, h)) || rows == 600 && !reflect.DeepEqual(got, g) {
			t.Errorf("%d rows: read another graph than was written", rows)
		}
		if err := Verify(path); err != nil {
			t.Error(err)
		}
	}
}

func TestFileName(t *testing.T) {
	a, b := Header{"a", 12}.FileName(), Header{"b", 12}.FileName()
	if a == b || !strings.HasPrefix(a, FilePrefix("a")) || !strings.HasSuffix(a, "-12") {
		t.Errorf("got %s and %s", a, b)
	}
	if name := (Header{"../x:y\\z", 1}).FileName(); strings.ContainsAny(name, `/\:.`) {
		t.Errorf("%s is no name for a file", name)
	}
}

// Every flipped byte is noticed: each is under some checksum or has only one
// right value.
func TestDecodeNoticesFlippedBytes(t *testing.T) {
	good := encode(t, smallGraph(t, 40), Header{"test", 7})
	for i := range good {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= bit
			if _, _, err := Decode(bad); err == nil {
				t.Fatalf("byte %d of %d flipped by %#x: no error", i, len(good), bit)
			}
		}
	}
}

func TestDecodeNoticesTruncation(t *testing.T) {
	good := encode(t, smallGraph(t, 40), Header{"test", 7})
	for n := range len(good) {
		if _, _, err := Decode(good[:n]); err == nil {
			t.Fatalf("%d of %d bytes: no error", n, len(good))
		}
	}
	if _, _, err := Decode(append(good, 0)); err == nil {
		t.Error("a byte too many: no error")
	}
}

func TestDecodeErrorsNameTheFault(t *testing.T) {
	h := Header{"test", 7}
	for _, test := range []struct {
		want  string
		spoil func(g *Graph)
	}{
		{"0 dimensions", func(g *Graph) { g.codes = vector.NewCodes(g.Nodes(), 0) }},
		{"beam 0", func(g *Graph) { g.ef = 0 }},
		{"beam 64 with recall 2", func(g *Graph) { g.recall = 2 }},
		{"entry 1000", func(g *Graph) { g.entry = 1000 }},
		{"key ", func(g *Graph) { g.keys[5] = g.keys[4] }},
		{"document 3 is on node 4000", func(g *Graph) { g.node[3] = 4000 }},
		{"the scale -1", func(g *Graph) { g.codes.Set(3, vector.Code{Scale: -1}) }},
		{"node 3 has the level 9", func(g *Graph) { g.level[3] = 9 }},
		{"rows above layer 0", func(g *Graph) { g.above = g.above[linksUpper:] }},
		{"node 3, layer 0: neighbour 777", func(g *Graph) { g.base[3*linksBase] = 777 }},
		{"node 3, layer 0: neighbours after", func(g *Graph) { g.base[4*linksBase-1], g.base[4*linksBase-2] = 1, none }},
		{"do not fit each other", func(g *Graph) { g.base = g.base[1:] }},
	} {
		g := smallGraph(t, 600)
		test.spoil(g)
		_, _, err := Decode(encode(t, g, h))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got error %v, want %s…", err, test.want)
		}
	}
}

func TestDecodeVersions(t *testing.T) {
	data := encode(t, smallGraph(t, 5), Header{})
	for _, version := range []byte{0, fileVersion - 1, fileVersion + 1} {
		data[8] = version
		if _, _, err := Decode(data); !errors.Is(err, ErrVersion) {
			t.Errorf("version %d: got error %v, want that it is another one", version, err)
		}
	}
}

func TestReadFileErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hnsw-1-2")
	if err := Verify(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Verify(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "magic") {
		t.Errorf("zeros: %v", err)
	}
	if err := smallGraph(t, 3).WriteFile(filepath.Join(path, "under a file"), Header{}); err == nil {
		t.Error("wrote under a file")
	}
}

// Files that were written once stay readable.
func TestReadOldFiles(t *testing.T) {
	path := filepath.Join("testdata", "v3.hnsw")
	h := Header{"test/v3", 42}
	if *update {
		if err := smallGraph(t, 40).WriteFile(path, h); err != nil {
			t.Fatal(err)
		}
	}
	g, got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got); diff != "" || g.Docs() != 39 || g.Nodes() != 38 {
		t.Errorf("%d documents on %d nodes; header want -, got +:\n%s", g.Docs(), g.Nodes(), diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, rows := range []int{0, 1, 40} {
		f.Add(encode(f, smallGraph(f, rows), Header{"test", 7}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, h, err := Decode(data)
		if err != nil {
			return
		}
		if !bytes.Equal(encode(t, g, h), data) {
			t.Error("Encode(Decode(data)) differs from data")
		}
		if dims := g.Dims(); dims > 0 && dims < 1000 {
			keys := g.keys[:min(1, len(g.keys))]
			x, err := g.Bind(keys, vector.NewCodes(len(keys), dims), IndexOptions{})
			if err != nil {
				t.Fatal(err)
			}
			x.walk(queryOf(absent(dims)), nil, 10)
		}
	})
}

// FuzzContents reaches behind the checksum: it damages a byte and makes the
// file whole again around it.
func FuzzContents(f *testing.F) {
	f.Add(uint16(16), uint8(1))
	f.Add(uint16(900), uint8(255))
	good := encode(f, smallGraph(f, 40), Header{"test", 7})
	f.Fuzz(func(t *testing.T, at uint16, value uint8) {
		data := bytes.Clone(good)
		body := data[:len(data)-4]
		body[int(at)%len(body)] = value
		binary.LittleEndian.PutUint32(data[len(body):], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		g, h, err := Decode(data)
		if err != nil {
			return
		}
		if !bytes.Equal(encode(t, g, h), data) {
			t.Error("Encode(Decode(data)) differs from data")
		}
		q := queryOf(absent(g.Dims()))
		x, err := g.Bind(nil, vector.NewCodes(0, 0), IndexOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x.walk(q, nil, 3)
	})
}

func BenchmarkReadFile(b *testing.B) {
	m := randomRows(1, 10_000, 256, 1)
	path := filepath.Join(b.TempDir(), "graph")
	if err := build(b, randomKeys(1, m.Rows()), m).WriteFile(path, Header{"test", 1}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := Verify(path); err != nil {
			b.Fatal(err)
		}
	}
}
