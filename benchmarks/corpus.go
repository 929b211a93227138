package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index"
)

// What the real catalogs measured have: description characters and schema
// bytes by median and 95th percentile, tools a server by median and spread.
const (
	descMedian, descP95     = 192, 1000
	schemaMedian, schemaP95 = 700, 3000
	serverMedian            = 12
	serverSigma             = 1.2
	normal95                = 1.645 // of the standard normal distribution
	tailWords               = 8000
)

// The tags that filters allow a share of the catalog by.
const (
	tenthTag     = "tenth"
	hundredthTag = "hundredth"
)

// A corpus is a made-up catalog with queries for it.
type corpus struct {
	servers []server
	queries []string
	n       int
}

type server struct {
	name  string
	tools []index.Tool
}

// A generator draws everything from one seed.
type generator struct {
	r       *rand.Rand
	zipf    *rand.Zipf
	lexicon []string
	used    map[string]bool // server names
}

// newCorpus makes a catalog of n tools; the same seed and n give the same.
func newCorpus(seed uint64, n, queries int) (*corpus, error) {
	g := &generator{r: rand.New(rand.NewPCG(seed, uint64(n))), used: map[string]bool{}}
	g.lexicon = slices.Concat(commonWords, nouns, verbs)
	for range tailWords {
		g.lexicon = append(g.lexicon, g.word())
	}
	g.zipf = rand.NewZipf(g.r, 1.1, 3, uint64(len(g.lexicon)-1))
	c := &corpus{n: n}
	for left := n; left > 0; {
		size := min(left, max(1, int(math.Round(g.logNormal(serverMedian, serverSigma)))))
		s, err := g.server(size)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, s)
		left -= size
	}
	for range queries {
		s := c.servers[g.r.IntN(len(c.servers))]
		c.queries = append(c.queries, g.query(s.tools[g.r.IntN(len(s.tools))]))
	}
	return c, nil
}

func (g *generator) logNormal(median, sigma float64) float64 {
	return median * math.Exp(sigma*g.r.NormFloat64())
}

// word makes a word of two or three syllables.
func (g *generator) word() string {
	var b strings.Builder
	for range 2 + g.r.IntN(2) {
		b.WriteString(pick(g.r, syllables))
	}
	return b.String()
}

func pick(r *rand.Rand, words []string) string { return words[r.IntN(len(words))] }

// server makes a server of a product with a vocabulary of its own.
func (g *generator) server(tools int) (server, error) {
	name := g.word()
	for g.used[name] {
		name = g.word()
	}
	g.used[name] = true
	topic := []string{name}
	for range 6 + g.r.IntN(10) {
		topic = append(topic, pick(g.r, nouns))
	}
	for range 4 {
		topic = append(topic, g.lexicon[len(g.lexicon)-1-g.r.IntN(tailWords)])
	}
	s := server{name: name}
	names := map[string]bool{}
	for len(s.tools) < tools {
		raw, toolName := g.tool(topic, len(names))
		if names[toolName] {
			toolName = ""
			continue
		}
		names[toolName] = true
		t, err := index.Decode(name, raw)
		if err != nil {
			return s, err
		}
		if g.r.IntN(10) == 0 {
			t.Tags = append(t.Tags, tenthTag)
		}
		if g.r.IntN(100) == 0 {
			t.Tags = append(t.Tags, hundredthTag)
		}
		s.tools = append(s.tools, t)
	}
	return s, nil
}

// tool makes one tool object; number keeps names of large servers apart.
func (g *generator) tool(topic []string, number int) (raw json.RawMessage, name string) {
	verb, noun := pick(g.r, verbs), pick(g.r, topic[1:])
	name = verb + "_" + noun
	if number > 20 {
		name += "_" + pick(g.r, nouns)
	}
	if number > 400 {
		name += "_" + pick(g.r, g.lexicon[len(g.lexicon)-tailWords:])
	}
	subject := append([]string{verb, noun, noun}, topic...)
	desc := g.text(subject, int(g.logNormal(descMedian, math.Log(descP95/descMedian)/normal95)))
	raw, err := json.Marshal(map[string]any{
		"name":        name,
		"description": desc,
		"inputSchema": g.schema(subject, int(g.logNormal(schemaMedian, math.Log(schemaP95*1./schemaMedian)/normal95))),
	})
	if err != nil {
		panic(fmt.Sprintf("marshal a made-up tool: %v", err)) // maps of strings always marshal
	}
	return raw, name
}

// text is about size characters, a third of the words from subject.
func (g *generator) text(subject []string, size int) string {
	var b strings.Builder
	for b.Len() < size {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if g.r.IntN(3) == 0 {
			b.WriteString(pick(g.r, subject))
		} else {
			b.WriteString(g.lexicon[g.zipf.Uint64()])
		}
	}
	return b.String()
}

// schema is about size bytes of input schema.
func (g *generator) schema(subject []string, size int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	first := ""
	for i := 0; b.Len() < size-40 || i == 0; i++ {
		name := fmt.Sprintf("%s_%s", pick(g.r, subject), pick(g.r, nouns))
		if i == 0 {
			first = name
		} else {
			b.WriteByte(',')
			name = fmt.Sprintf("%s_%d", name, i)
		}
		fmt.Fprintf(&b, `%q:{"type":%q,"description":%q}`, name,
			pick(g.r, []string{"string", "string", "integer", "boolean"}), g.text(subject, 20+g.r.IntN(100)))
	}
	fmt.Fprintf(&b, `},"required":[%q]}`, first)
	return json.RawMessage(b.String())
}

// query asks for a tool in a few words of its own and others.
func (g *generator) query(t index.Tool) string {
	words := strings.Split(t.Name, "_")
	if g.r.IntN(2) == 0 {
		words = append(words, "in", t.Server)
	}
	described := strings.Fields(t.Description)
	for range 1 + g.r.IntN(5) {
		words = append(words, described[g.r.IntN(len(described))])
	}
	words = append(words, g.lexicon[g.zipf.Uint64()])
	return strings.Join(words, " ")
}
