package main

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestCorpusLooksReal(t *testing.T) {
	c, err := newCorpus(1, 3000, 100)
	if err != nil {
		t.Fatal(err)
	}
	var descriptions, raws []int
	tagged, ids := map[string]int{}, map[string]bool{}
	for _, s := range c.servers {
		for _, tool := range s.tools {
			ids[tool.ID()] = true
			descriptions = append(descriptions, len(tool.Description))
			raws = append(raws, len(tool.Raw)-len(tool.Description))
			for _, tag := range tool.Tags {
				tagged[tag]++
			}
		}
	}
	if len(ids) != 3000 {
		t.Fatalf("%d different tools, want 3000", len(ids))
	}
	slices.Sort(descriptions)
	slices.Sort(raws)
	for _, test := range []struct {
		what      string
		got, want int
	}{
		{"median description", descriptions[1500], descMedian},
		{"95th percentile of descriptions", descriptions[2850], descP95},
		{"median schema", raws[1500], schemaMedian},
		{"95th percentile of schemas", raws[2850], schemaP95},
		{"tools with the tag of a tenth", tagged[tenthTag], 300},
		{"tools with the tag of a hundredth", tagged[hundredthTag], 30},
	} {
		if diff := math.Abs(float64(test.got-test.want)) / float64(test.want); diff > .35 {
			t.Errorf("%s: got %d, want about %d", test.what, test.got, test.want)
		}
	}
	if n := len(c.servers); n < 50 || n > 300 {
		t.Errorf("%d servers for 3000 tools", n)
	}
}

func TestCorpusIsReproducible(t *testing.T) {
	a, err := newCorpus(7, 200, 10)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newCorpus(7, 200, 10)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Error("one seed gives two catalogs")
	}
	if c, err := newCorpus(8, 200, 10); err != nil || reflect.DeepEqual(a.queries, c.queries) {
		t.Errorf("two seeds give the same queries (%v)", err)
	}
}
