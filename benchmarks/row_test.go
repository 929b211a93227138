package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestPercentiles(t *testing.T) {
	var s timings
	for i := 100; i > 0; i-- {
		s = append(s, time.Duration(i)*time.Microsecond)
	}
	var r row
	if s.fill(&r); r.P50 != 51 || r.P99 != 100 {
		t.Errorf("got p50 %g and p99 %g, want 51 and 100", r.P50, r.P99)
	}
	if (timings{}).fill(&r); r.P50 != 0 {
		t.Errorf("nothing timed: p50 %g", r.P50)
	}
}

func TestRecall(t *testing.T) {
	want := []answer{{[]string{"a", "b"}, .5}, {nil, 0}}
	for _, test := range []struct {
		name string
		got  answer
		want float64
	}{
		{"same", answer{[]string{"b", "a"}, .5}, 1},
		{"half", answer{[]string{"a", "x"}, .4}, .5},
		{"another tool of the same score", answer{[]string{"a", "x"}, .5}, 1},
		{"too few", answer{[]string{"a"}, .9}, .5},
		{"nothing", answer{}, 0},
	} {
		if got := recallOf(want, []answer{test.got, {}}); *got != test.want {
			t.Errorf("%s: got %g, want %g", test.name, *got, test.want)
		}
	}
	if got := recallOf(nil, nil); *got != 1 {
		t.Errorf("nothing wanted: got %g, want 1", *got)
	}
}

func TestPrint(t *testing.T) {
	share := .987
	rows := []row{
		{Name: "search/hybrid", System: "tooldex", N: 10_000, P50: 12.34, P99: 5678, Recall: &share},
		{Name: "build", System: "other", N: 100_000, P50: 2.5e6, Bytes: 3 << 20, Ratio: 1.25},
	}
	var b bytes.Buffer
	printTable(&b, rows)
	for _, want := range []string{"search/hybrid", "10,000", "12.3 µs", "5.68 ms", "0.987", "2.5 s", "3.0 MiB", "ratio 1.25"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := printJSON(&b, rows); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || len(got) != 2 || got[0]["p50_us"] != 12.34 || got[1]["bytes"] != float64(3<<20) {
		t.Errorf("got %v, %v from %s", got, err, b.String())
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string // sizes and queries, or part of the error
	}{
		{nil, "1000,10000,100000"},
		{[]string{"--quick"}, "1000,10000"},
		{[]string{"-sizes", "5,6"}, "5,6"},
		{[]string{"-sizes", "x"}, "want numbers of tools"},
		{[]string{"extra"}, `unexpected argument "extra"`},
	} {
		o, err := parse(test.args, &bytes.Buffer{})
		if err != nil {
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v: got error %v, want %s", test.args, err, test.want)
			}
		} else if o.sizes.String() != test.want {
			t.Errorf("%v: got sizes %s, want %s", test.args, o.sizes.String(), test.want)
		}
	}
}
