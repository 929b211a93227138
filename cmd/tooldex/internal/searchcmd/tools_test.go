package searchcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
)

func shownParameters(schema string) string {
	var b bytes.Buffer
	c := commands{&cli.CLI{Terminal: &term.Terminal{Out: &b}}}
	c.showParameters("Parameters", json.RawMessage(schema))
	return b.String()
}

func TestShowNestedParameters(t *testing.T) {
	got := shownParameters(`{"properties":{
		"any":true,
		"lines":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"}}}},
		"query":{"type":"object","required":["to"],"properties":{
			"from":{"type":"string","description":"start"},
			"to":{"type":"object","properties":{"day":{"type":"integer"}}}}}},
		"required":["query"]}`)
	var names []string
	for line := range strings.Lines(got) {
		names = append(names, strings.SplitN(strings.TrimLeft(line, " "), " ", 2)[0]+fmt.Sprint(len(line)-len(strings.TrimLeft(line, " "))))
	}
	want := "query2 to4 day6 from4 any2 lines2 text4"
	if shown := strings.Join(names, " "); !strings.HasSuffix(shown, want) || !strings.Contains(got, "required") {
		t.Errorf("got %q, want %q, in\n%s", shown, want, got)
	}

	deep := `{"type":"string"}`
	for range 50 {
		deep = `{"type":"object","properties":{"a":` + deep + `}}`
	}
	if n := strings.Count(shownParameters(deep), "object"); n != maxNesting+1 {
		t.Errorf("%d objects in each other are shown, want %d", n, maxNesting+1)
	}
	wide := make([]string, 10*maxShown)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"p%d":{"properties":{"x":{"type":"number"}}}`, i)
	}
	got = shownParameters(`{"properties":{` + strings.Join(wide, ",") + `}}`)
	if n := strings.Count(got, "\n"); n > maxShown+5 {
		t.Errorf("%d lines, want at most %d and a head", n, maxShown)
	}
}
