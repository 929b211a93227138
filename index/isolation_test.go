package index

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Where a scope has scores made of what it shows alone, nothing of the rest
// moves them: not what words it has, not how many tools, not what a server's
// hidden tools are about. Elsewhere it does, which is why there are such scopes.
func TestScoresOfWhatIsSeen(t *testing.T) {
	hidden := func(tools int, text string) map[string][]json.RawMessage {
		catalog := map[string][]json.RawMessage{"mail": {rawTool("read_mail", "read one mail out of inbox"), rawTool("send_mail", "send one mail out of inbox"), rawTool("list_file", "list each file out of inbox")}}
		for i := range tools {
			tool := rawTool(fmt.Sprintf("%s_%c", strings.Fields(text)[0], 'a'+i), text)
			catalog["mail"], catalog["away"] = append(catalog["mail"], tool), append(catalog["away"], tool)
		}
		return catalog
	}
	shown := []string{"mail/read_mail", "mail/send_mail", "mail/list_file"}
	scope := NewScope(func(t *Tool) bool { return slices.Contains(shown, t.QualifiedName()) })
	alone := scope.Alone()
	scores := func(catalog map[string][]json.RawMessage, scope *Scope) (text string) {
		ix := newIndex(t, Options{}, catalog)
		attach(t, ix, wordEmbedder{16})
		for _, mode := range []Mode{Keyword, Semantic, Hybrid} {
			for _, h := range mustSearch(t, ix, Query{Text: "read a mail", Mode: mode, Filter: Filter{Scope: scope}}).Hits {
				text += fmt.Sprintln(mode, h.Tool.Name, h.Score)
			}
		}
		like, err := ix.Similar(t.Context(), (&Tool{Server: "mail", Name: "read_mail"}).ID(), Filter{Scope: scope}, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range like {
			text += fmt.Sprintln("like", n.Tool.Name, n.Score)
		}
		return text
	}
	mails, bikes := hidden(6, "mail read one mail out of inbox"), hidden(6, "bike ride one bike out of garage")
	if a, b := scores(mails, alone), scores(bikes, alone); a != b {
		t.Errorf("with hidden mails:\n%swith hidden bikes:\n%s", a, b)
	}
	if a, b := scores(mails, scope), scores(bikes, scope); a == b {
		t.Errorf("what is hidden moves no score, so that nothing is shown by this:\n%s", a)
	}
	if a, b := scores(hidden(0, ""), alone), scores(hidden(0, ""), scope); a != b {
		t.Errorf("with nothing hidden:\n%sand of all:\n%s", a, b)
	}
}
