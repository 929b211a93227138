package static

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func opened(t testing.TB) *Model {
	t.Helper()
	m, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDigestIsThatOfTheFiles(t *testing.T) {
	all := sha256.New()
	for _, file := range [][]byte{[]byte(modelFile), []byte(vocabFile), configFile} {
		sum := sha256.Sum256(file)
		fmt.Fprintf(all, "%x\n", sum)
	}
	if got := hex.EncodeToString(all.Sum(nil)); got != digest {
		t.Errorf("const digest is %s, the files' is %s: a changed model needs a new identity", digest, got)
	}
}

// golden is one entry of testdata/golden.json: what the numpy reference gave.
type golden struct {
	Query  string
	Tool   *goldenTool
	Tokens json.RawMessage // rows of the query, or of each field
	First8 []float32
	Norm   float64
}

type goldenTool struct {
	Name, Server, Description string
	InputSchema               json.RawMessage `json:"input_schema"`
}

func readGolden(t testing.TB) []golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var gs []golden
	if err := json.Unmarshal(raw, &gs); err != nil {
		t.Fatal(err)
	}
	return gs
}

func TestGoldenVectors(t *testing.T) {
	m, worst := opened(t), 0.0
	for _, g := range readGolden(t) {
		v, norm := rawVector(t, m, g)
		d := math.Abs(norm - g.Norm)
		for i, want := range g.First8 {
			d = max(d, math.Abs(float64(v[i]-want)))
		}
		if d > 1e-5 {
			t.Errorf("%q %v: differs by %.2g", g.Query, g.Tool, d)
		}
		worst = max(worst, d)
	}
	t.Logf("largest difference %.2g", worst)
}

// rawVector gives g's unit vector by the public path, and its length before
// normalising by the inner one.
func rawVector(t *testing.T, m *Model, g golden) (unit []float32, norm float64) {
	t.Helper()
	s, v := m.take(), make([]float32, m.Dims())
	defer m.give(s)
	if g.Tool == nil {
		s.tokenise(g.Query, m.config.QueryCap)
		checkTokens(t, s, g.Query, g.Tokens)
		m.addBag(v, s, m.table.queryWeight, 1)
		unit, err := m.EmbedQuery(t.Context(), g.Query)
		if err != nil {
			t.Fatal(err)
		}
		return unit, length(v)
	}
	tool := g.Tool.fields(t)
	var tokens map[string]json.RawMessage
	if err := json.Unmarshal(g.Tokens, &tokens); err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		s.tokenise(tool[f], m.config.FieldCap[f])
		checkTokens(t, s, tool[f], tokens[f])
		m.addField(v, s, f, tool[f])
	}
	units, err := m.EmbedFields(t.Context(), []map[string]string{tool})
	if err != nil {
		t.Fatal(err)
	}
	return units[0], length(v)
}

func checkTokens(t *testing.T, s *scratch, text string, rows json.RawMessage) {
	t.Helper()
	var want []uint32
	if err := json.Unmarshal(rows, &want); err != nil {
		t.Fatal(err)
	}
	if got := expand(s); !slices.Equal(got, sorted(want)) {
		t.Errorf("%q: rows %v, want %v", text, got, sorted(want))
	}
}

func expand(s *scratch) []uint32 {
	var all []uint32
	for _, r := range s.rows {
		all = append(all, slices.Repeat([]uint32{r}, int(s.counts[r]))...)
	}
	return sorted(all)
}

func sorted(rows []uint32) []uint32 { return slices.Sorted(slices.Values(rows)) }

func length(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func (g *goldenTool) fields(t *testing.T) map[string]string {
	names, texts := parameters(t, g.InputSchema, 0)
	return map[string]string{
		"name": g.Name, "server": g.Server, "desc": g.Description,
		"pname": strings.Join(names, " "), "pdesc": strings.Join(texts, " "),
	}
}

// parameters reads a schema in its own order, which Go's maps would lose.
func parameters(t *testing.T, schema json.RawMessage, depth int) (names, texts []string) {
	if depth > 3 {
		return nil, nil
	}
	for _, p := range members(t, schema, "properties") {
		names = append(names, p.name)
		var prop struct {
			Type        any
			Description string
			Enum        []any
			Items       json.RawMessage
		}
		if err := json.Unmarshal(p.value, &prop); err != nil {
			continue
		}
		if prop.Description != "" {
			texts = append(texts, prop.Description)
		}
		if prop.Enum != nil {
			words := make([]string, 0, 20)
			for _, e := range prop.Enum[:min(20, len(prop.Enum))] {
				words = append(words, fmt.Sprint(e))
			}
			texts = append(texts, strings.Join(words, " "))
		}
		inner := p.value
		if prop.Type == "array" {
			inner = prop.Items
		}
		n, d := parameters(t, inner, depth+1)
		names, texts = append(names, n...), append(texts, d...)
	}
	return names, texts
}

type member struct {
	name  string
	value json.RawMessage
}

func members(t *testing.T, object json.RawMessage, key string) []member {
	var outer map[string]json.RawMessage
	if json.Unmarshal(object, &outer) != nil || outer[key] == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(outer[key]))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	var ms []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var m member
		m.name = name.(string)
		if err := d.Decode(&m.value); err != nil {
			t.Fatal(err)
		}
		ms = append(ms, m)
	}
	return ms
}

func TestTokens(t *testing.T) {
	tests := []struct {
		text string
		want string
	}{
		{"getHTTPStatus", "get http status"},
		{"s3 bucket", "s 3 bucket"},
		{"in 2024 or 2100, 12 of 345 or 123456", "in <year> or or <num4> <num4> <num2> of <num3>"},
		{"Zürich", "zurich"},
		{"", ""},
		{"... _ -/ \x00", ""},
		{"\xff\xfe", ""},
		{"Kelvin", "kelvin"},
		{"İstanbul", "istanbul"},
		{"qzx9", "qz ##x 9"},
	}
	for _, tt := range tests {
		if got := strings.Join(opened(t).Tokens(tt.text), " "); got != tt.want {
			t.Errorf("Tokens(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestCaps(t *testing.T) {
	m := opened(t)
	long := strings.Repeat("Files ", 1_000_000/6)
	if got := len(m.Tokens(long)); got != m.config.QueryCap {
		t.Errorf("%d tokens, want %d", got, m.config.QueryCap)
	}
	s := m.take()
	defer m.give(s)
	s.tokenise("a b qzxqzxqzx c d", 3)
	if want := 2 + len(m.Tokens("qzxqzxqzx")); s.total != want {
		t.Errorf("%d tokens: the piece that passes the cap should count whole, and be the last; want %d", s.total, want)
	}
}

// TestVocabulary finds every row by a map, which is the oracle, and by the
// table, and asks for names that are absent.
func TestVocabulary(t *testing.T) {
	m := opened(t)
	v, oracle := m.vocab(), map[string]uint32{}
	for i, line := range strings.Split(strings.TrimSuffix(vocabFile, "\n"), "\n") {
		oracle[line] = uint32(i)
		if got := v.name(uint32(i)); got != line {
			t.Fatalf("row %d is %q, want %q", i, got, line)
		}
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(uint64(seed), 0))
	hashes := make([]place, v.longest)
	for range 200_000 {
		word := make([]byte, 1+rnd.IntN(12))
		for i := range word {
			word[i] = "etaoinsrhldcumfpgwybvkxjqz"[int(26*rnd.Float64()*rnd.Float64())]
		}
		checkPrefix(t, oracle, v, word, hashes)
	}
	for name := range oracle {
		checkPrefix(t, oracle, v, []byte(strings.TrimPrefix(name, contMark)), hashes)
	}
}

func checkPrefix(t *testing.T, oracle map[string]uint32, v *vocabulary, word []byte, hashes []place) {
	t.Helper()
	for from, mark := range map[place]string{whole: "", after: contMark} {
		want, length := uint32(0), 0
		for n := len(word); n > 0 && length == 0; n-- {
			if row, ok := oracle[mark+string(word[:n])]; ok {
				want, length = row, n
			}
		}
		if row, n := v.prefix(word, from, hashes); row != want || n != length {
			t.Fatalf("prefix(%q, %q) = %d of %d bytes, want %d of %d", word, mark, row, n, want, length)
		}
	}
}

func TestDocumentIsADescription(t *testing.T) {
	m := opened(t)
	text := "Opens a pull request in a repository"
	docs, err := m.EmbedDocuments(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := m.EmbedFields(t.Context(), []map[string]string{{"desc": text, "unknown": "ignored"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(docs[0], tools[0]) {
		t.Error("a text and a tool with that description differ")
	}
}

func TestOrdersByMeaning(t *testing.T) {
	m := opened(t)
	q, err := m.EmbedQuery(t.Context(), "what will the weather be tomorrow")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := m.EmbedDocuments(t.Context(), []string{"Forecast of temperature and rain for a city", "Merge a pull request"})
	if err != nil {
		t.Fatal(err)
	}
	if near, far := dot(q, docs[0]), dot(q, docs[1]); near < far+.2 {
		t.Errorf("forecast %.3f, pull request %.3f", near, far)
	}
}

func dot(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestConcurrentUse(t *testing.T) {
	m := opened(t)
	texts := []string{"send an e-mail", "日本語のファイルを検索する", "Ångström Öl ΣΊΣΥΦΟΣ", strings.Repeat("much text ", 500)}
	var want [][]float32
	for _, text := range texts {
		v, err := m.EmbedQuery(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, v)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 200 {
				k := (w + i) % len(texts)
				if v, err := m.EmbedQuery(t.Context(), texts[k]); err != nil || !slices.Equal(v, want[k]) {
					t.Errorf("%q: another vector, error %v", texts[k], err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := opened(t)
	if _, err := m.EmbedQuery(ctx, "x"); err == nil {
		t.Error("EmbedQuery: no error")
	}
	if _, err := m.EmbedDocuments(ctx, []string{"x"}); err == nil {
		t.Error("EmbedDocuments: no error")
	}
	if _, err := m.EmbedFields(ctx, []map[string]string{{}}); err == nil {
		t.Error("EmbedFields: no error")
	}
}

// TestAllocations: nothing but the result is allocated, accents or not.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector empties pools")
	}
	m := opened(t)
	for _, text := range []string{"list open pull requests", "Zürich näher über 日本語の検索 ΣΊΣΥΦΟΣ"} {
		n := testing.AllocsPerRun(200, func() {
			if _, err := m.EmbedQuery(context.Background(), text); err != nil {
				t.Error(err)
			}
		})
		if n > 1 {
			t.Errorf("EmbedQuery(%q) allocates %v times, want once", text, n)
		}
	}
	tools := []map[string]string{{"name": "create_issue", "server": "github", "desc": "Creates an issue", "pname": "title body", "pdesc": "the title"}}
	n := testing.AllocsPerRun(200, func() {
		if _, err := m.EmbedFields(context.Background(), tools); err != nil {
			t.Error(err)
		}
	})
	if n > 2 {
		t.Errorf("EmbedFields allocates %v times for one tool, want twice", n)
	}
}

func TestDamagedFiles(t *testing.T) {
	good := modelFile[:8+binaryLength(modelFile)]
	for name, file := range map[string]string{
		"empty":         "",
		"short":         "abc",
		"long header":   "\xff\xff\xff\xff\xff\xff\xff\x7f{}",
		"no JSON":       "\x02\x00\x00\x00\x00\x00\x00\x00xx",
		"no tensors":    "\x02\x00\x00\x00\x00\x00\x00\x00{}",
		"data cut off":  good,
		"another dtype": strings.Replace(modelFile[:2000], `"I8"`, `"U8"`, 1),
	} {
		if _, err := parseTable(file, 40297, 256); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, file := range map[string]string{"too few lines": "a\n", "no last line feed": "a\nb"} {
		if checkVocabulary(file, 2) == nil {
			t.Errorf("vocabulary with %s: no error", name)
		}
	}
	if checkVocabulary(strings.Repeat("\n", maxRows+1), maxRows+1) == nil {
		t.Error("vocabulary with too many rows: no error")
	}
}

func binaryLength(file string) (n int) {
	for i := range 8 {
		n |= int(file[i]) << (8 * i)
	}
	return n
}

func FuzzTokenise(f *testing.F) {
	for _, g := range readGolden(f) {
		f.Add(g.Query)
	}
	f.Add("getHTTPStatus İÇ ΣΊΣΥΦΟΣ \xff が ㉑ ½ 한국어 ſ")
	m := opened(f)
	oracle := map[string]uint32{}
	for i, line := range strings.Split(strings.TrimSuffix(vocabFile, "\n"), "\n") {
		oracle[line] = uint32(i)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 {
			return // the oracle is quadratic
		}
		s := m.take()
		defer m.give(s)
		s.tokenise(text, m.config.QueryCap)
		got := expand(s)
		if want := sorted(referenceTokens(oracle, text, m.config.QueryCap)); !slices.Equal(got, want) {
			t.Errorf("%q: rows %v, want %v", text, got, want)
		}
		v, err := m.EmbedQuery(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if n := length(v); len(got) > 0 && math.Abs(n-1) > 1e-5 || len(got) == 0 && n != 0 {
			t.Errorf("%q: %d tokens, length %v", text, len(got), n)
		}
	})
}
