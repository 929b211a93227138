package neardup

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestPairs(t *testing.T) {
	docs := [][]string{
		strings.Fields("list open pull requests"),
		strings.Fields("close an issue"),
		strings.Fields("pull requests open list list"),
		nil,
		strings.Fields("list open pull requests now"),
	}
	want := []Pair{{0, 2, 1}, {0, 4, .8}, {2, 4, .8}}
	if got := Pairs(docs, .8); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPairsAgainstAllPairs(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for range 100 {
		docs := make([][]string, 30)
		for i := range docs {
			for range r.IntN(12) {
				docs[i] = append(docs[i], string(rune('a'+r.IntN(14))))
			}
		}
		threshold := .3 + .7*r.Float64()
		sets := rareFirst(docs)
		var want []Pair
		for a := range sets {
			for b := a + 1; b < len(sets); b++ {
				if len(sets[a]) > 0 && len(sets[b]) > 0 && jaccard(sets[a], sets[b]) >= threshold {
					want = append(want, Pair{a, b, jaccard(sets[a], sets[b])})
				}
			}
		}
		if got := Pairs(docs, threshold); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, threshold %v: got %v, want %v", seed, threshold, got, want)
		}
	}
}
