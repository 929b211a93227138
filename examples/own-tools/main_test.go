package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	for need, want := range map[string]string{
		"how warm is it outside": "get_conditions", "bill a client": "send_invoice", "rain tomorrow": "get_forecast", "a place for our meeting": "book_room",
	} {
		var out strings.Builder
		if err := run(t.Context(), &out, need); err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(out.String(), ":"); !strings.HasSuffix(first, want) {
			t.Errorf("%q finds\n%swant %s first", need, out.String(), want)
		}
	}
}
