package embedtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Server speaks Ollama's and OpenAI's protocols over HTTP with vectors
// made of words. Behave changes how it answers.
type Server struct {
	URL string

	http *httptest.Server

	mu       sync.Mutex // guards the fields below
	b        Behaviour
	requests []Request
	flying   int
	most     int
}

// Behaviour is how a Server answers. The zero value answers well.
type Behaviour struct {
	Model  string // the one it has; "" answers for every name
	Digest string // as /api/tags lists it; "" means 64 times "a"
	Seed   uint64 // other weights
	Dims   int    // 0 means 32
	// Fault answers in place of the protocol, if it returns true. It may
	// write a reply, break the connection or block until the request ends.
	Fault func(w http.ResponseWriter, r *http.Request, q Request) bool
	// Mangle changes the vectors of a reply.
	Mangle func(texts []string, vs [][]float32) [][]float32
	// TooLong is the bytes above which a text fails its whole batch; 0 never.
	TooLong int
	// TooLongStatus and TooLongMessage are what it then says.
	TooLongStatus  int
	TooLongMessage string
	Base64         bool // asked for or not
	Shuffle        bool // data in another order, by index
	Dimensions     bool // the setting is honoured
}

// A Request is what a client asked.
type Request struct {
	Path, Query string
	Header      http.Header
	Model       string
	Texts       []string
	Dimensions  int
	KeepAlive   any
	N           int // which embedding request it is, from 0
}

// NewServer starts a server that ends with the test.
func NewServer(t testing.TB, b Behaviour) *Server {
	s := &Server{b: b}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	t.Cleanup(s.http.Close)
	return s
}

// Behave changes how the server answers from now on.
func (s *Server) Behave(b Behaviour) {
	s.mu.Lock()
	s.b = b
	s.mu.Unlock()
}

// Requests are the embedding requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// MostAtOnce is the largest number of requests that were in flight together.
func (s *Server) MostAtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b := s.begin(&q)
	defer s.finish()
	if b.Fault != nil && b.Fault(w, r, q) {
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/version"):
		Reply(w, map[string]string{"version": "0.0.0-test"})
	case strings.HasSuffix(r.URL.Path, "/api/tags"):
		s.tags(w, b)
	case b.Model != "" && strings.TrimSuffix(q.Model, ":latest") != b.Model:
		Fail(w, http.StatusNotFound, fmt.Sprintf("model %q not found", q.Model))
	case strings.HasSuffix(r.URL.Path, "/api/embed"):
		if vs := s.embed(w, b, q); vs != nil {
			Reply(w, map[string]any{"model": q.Model, "embeddings": vs})
		}
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		if vs := s.embed(w, b, q); vs != nil {
			Reply(w, openaiReply(b, q, vs))
		}
	default:
		http.NotFound(w, r)
	}
}

func read(r *http.Request) (Request, error) {
	q := Request{Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header}
	if r.Method != http.MethodPost {
		return q, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return q, err
	}
	var in struct {
		Model      string
		Input      []string
		Dimensions int
		KeepAlive  any `json:"keep_alive"`
	}
	err = json.Unmarshal(body, &in)
	q.Model, q.Texts, q.Dimensions, q.KeepAlive = in.Model, in.Input, in.Dimensions, in.KeepAlive
	return q, err
}

func (s *Server) begin(q *Request) Behaviour {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying++
	s.most = max(s.most, s.flying)
	q.N = len(s.requests)
	if q.Texts != nil {
		s.requests = append(s.requests, *q)
	}
	return s.b
}

func (s *Server) finish() {
	s.mu.Lock()
	s.flying--
	s.mu.Unlock()
}

func (s *Server) tags(w http.ResponseWriter, b Behaviour) {
	digest, model := b.Digest, b.Model
	if digest == "" {
		digest = strings.Repeat("a", 64)
	}
	if model == "" {
		model = "tiny"
	}
	Reply(w, map[string]any{"models": []any{
		map[string]any{"name": "other:7b", "model": "other:7b", "digest": strings.Repeat("f", 64)},
		map[string]any{"name": model + ":latest", "model": model + ":latest", "digest": digest},
	}})
}

// embed is nil if the batch failed and the reply is written.
func (s *Server) embed(w http.ResponseWriter, b Behaviour, q Request) [][]float32 {
	vs := make([][]float32, len(q.Texts))
	for i, text := range q.Texts {
		if b.TooLong > 0 && len(text) > b.TooLong {
			Fail(w, b.TooLongStatus, b.TooLongMessage)
			return nil
		}
		vs[i] = Vector(text, b.Seed, b.Dims)
		if b.Dimensions && q.Dimensions > 0 {
			vs[i] = vs[i][:q.Dimensions]
		}
	}
	if b.Mangle != nil {
		vs = b.Mangle(q.Texts, vs)
	}
	return vs
}

func openaiReply(b Behaviour, q Request, vs [][]float32) any {
	data := make([]any, len(vs))
	for i, v := range vs {
		var e any = v
		if b.Base64 {
			raw, _ := binary.Append(nil, binary.LittleEndian, v) // of float32 never fails
			e = base64.StdEncoding.EncodeToString(raw)
		}
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": e}
	}
	if b.Shuffle {
		rand.Shuffle(len(data), func(i, j int) { data[i], data[j] = data[j], data[i] })
	}
	return map[string]any{"object": "list", "model": q.Model, "data": data}
}

// Reply writes v as JSON.
func Reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// An error is the client's, who went away or sees a broken reply.
	_ = json.NewEncoder(w).Encode(v)
}

// Fail writes an error as OpenAI words it.
func Fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message}})
}

// Vector is what a Server gives for a text: the sum of a random vector a
// word, so that texts with common words are near each other.
func Vector(text string, seed uint64, dims int) []float32 {
	if dims == 0 {
		dims = 32
	}
	v := make([]float32, dims)
	for n, word := range append([]string{"bias"}, strings.Fields(text)...) {
		h := fnv.New64a()
		h.Write([]byte(word))
		rnd := rand.New(rand.NewPCG(h.Sum64(), seed))
		for i := range v {
			v[i] += float32(rnd.NormFloat64()) / float32(math.Sqrt(float64(n+1)))
		}
	}
	return v
}
