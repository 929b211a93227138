package stdio

import (
	"log/slog"
	"strings"
	"testing"
)

func TestTailKeepsTheEnd(t *testing.T) {
	var tl tail
	text := strings.Repeat("a", 10000) + "\n\none\ntwo\n" + strings.Repeat("é", 400) + "\nthree"
	tl.copy(strings.NewReader(text), slog.New(slog.DiscardHandler))
	got := tl.last()
	if !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "é | three") || len(got) > tailBytes+10 {
		t.Errorf("got %q", got)
	}
}
