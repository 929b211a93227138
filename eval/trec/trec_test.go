package trec

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestReadOrdersByScoreThenIDDescending(t *testing.T) {
	in := "q1\tQ0\ta tool\t9\t0.5\tx\nq1\tQ0\tb\t1\t0.5\tx\nq1\tQ0\tc\t2\t0.7\tx\n\nq2 Q0 z 1 1e-3 x\n"
	run, err := Read(strings.NewReader(in), "r")
	if err != nil {
		t.Fatal(err)
	}
	want := Run{"q1": {"c", "b", "a tool"}, "q2": {"z"}}
	if !reflect.DeepEqual(run, want) {
		t.Errorf("got %v, want %v", run, want)
	}
}

func TestWrittenOrderSurvivesReading(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, "tag")
	ranking := []string{"m", "z", "a", "b b"}
	if err := w.Write("q", ranking); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	run, err := Read(&b, "r")
	if err != nil || !reflect.DeepEqual(run["q"], ranking) {
		t.Errorf("got %v, %v, want %v", run["q"], err, ranking)
	}
	if err := w.Write("q", []string{"a\tb"}); err == nil {
		t.Error("an id with a tab: want an error")
	}
}

func TestReadErrorsNameTheLine(t *testing.T) {
	for in, want := range map[string]string{
		"q Q0 a 1 x t\n":                 "r:1: field \"score\": \"x\"",
		"q Q0 a 1 .5 t\nq Q0 a 1\n":      "r:2: want query, Q0, tool",
		"q Q0 a 1 .5 t\nq Q0 a 2 .4 t\n": "r:2: tool \"a\" stands twice",
		"q Q0 a 1 NaN t\n":               "r:1: field \"score\"",
	} {
		_, err := Read(strings.NewReader(in), "r")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", in, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("q\tQ0\ta b\t1\t0.5\tt\n")
	f.Add("q Q0 a 1 .5 t\r\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		run, err := Read(strings.NewReader(in), "r")
		if err != nil {
			return
		}
		for q, tools := range run {
			seen := map[string]bool{}
			for _, tool := range tools {
				if seen[tool] {
					t.Errorf("query %q has tool %q twice", q, tool)
				}
				seen[tool] = true
			}
		}
	})
}
