package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// BenchmarkHiddenNames shows whether the time of an answer tells a hidden name
// from one that there never was: both are asked for in turn, and their medians
// reported. "go test ./internal/e2e -run - -bench HiddenNames -benchtime
// 10000x" asks for 10,000 of each.
func BenchmarkHiddenNames(b *testing.B) {
	ix, err := index.Open("", index.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer ix.Close()
	g := gateway.New(ix, done{}, gateway.Options{})
	var hidden, unknown []string
	for s := range 20 {
		server := fmt.Sprintf("server%02d", s)
		var list upstream.Listing
		for i := range 50 {
			name := fmt.Sprintf("%s_%s_%03d", vocabulary.verbs[i%5], vocabulary.nouns[i/5%5], 50*s+i)
			list.Tools = append(list.Tools, json.RawMessage(fmt.Sprintf(`{"name":%q,"description":"Work with the tool of the team"}`, name)))
			if s%2 == 1 {
				hidden, unknown = append(hidden, server+"/"+name), append(unknown, server+"/"+name[:len(name)-3]+fmt.Sprint(999-50*s-i))
			}
		}
		if _, err := g.Sync(b.Context(), server, list); err != nil {
			b.Fatal(err)
		}
	}
	var odd []string
	for s := 1; s < 20; s += 2 {
		odd = append(odd, fmt.Sprintf("server%02d", s))
	}
	for i := range unknown { // of no tool, hidden or not
		unknown[i] = unknown[i][:len(unknown[i])-3] + fmt.Sprintf("%03d", 500+i%500)
		for slices.Contains(hidden, unknown[i]) {
			unknown[i] = unknown[i][:len(unknown[i])-1] + "x"
		}
	}
	s, err := serve.New(g, serve.Options{View: view.Of(g.Labels, view.Rule{ExcludeServers: odd})})
	if err != nil {
		b.Fatal(err)
	}
	for _, metaTool := range []string{"describe_tool", "execute_tool", "get_similar_tools"} {
		b.Run(metaTool, func(b *testing.B) {
			ask := func(name string) time.Duration {
				args := json.RawMessage(fmt.Sprintf(`{"tool_name":%q}`, name))
				if metaTool == "execute_tool" {
					args = json.RawMessage(fmt.Sprintf(`{"tool_name":%q,"arguments":{}}`, name))
				}
				began := time.Now()
				answer := s.Call(b.Context(), metaTool, args)
				took := time.Since(began)
				if !answer.IsError {
					b.Fatalf("%s answers %s", name, answer.JSON)
				}
				return took
			}
			var took [2][]time.Duration
			r := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				i, first := r.IntN(len(hidden)), r.IntN(2)
				for _, which := range []int{first, 1 - first} {
					took[which] = append(took[which], ask([][]string{hidden, unknown}[which][i]))
				}
			}
			for i, unit := range []string{"hidden-ns", "unknown-ns"} {
				slices.Sort(took[i])
				b.ReportMetric(float64(took[i][len(took[i])/2]), unit)
			}
		})
	}
}
