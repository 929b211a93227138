package eval

import (
	"errors"
	"testing"

	"github.com/tooldex/tooldex/index"
)

func TestAuditSeesRecallGrowWithTheBeam(t *testing.T) {
	set := ours(t)
	ix, err := Open(t.Context(), set.Tools, Options{Embedder: builtin(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	texts := []string{"open a file", "who is free tomorrow", "pay the bill"}
	for _, asked := range [][]string{texts, nil} {
		a, err := ix.Audit(t.Context(), asked, []int{1, 16, 161})
		if err != nil {
			t.Fatal(err)
		}
		if a.Documents != 161 || len(a.Beams) != 3 || asked != nil && a.Queries != 3 || a.Queries == 0 {
			t.Errorf("got %+v", a)
		}
		if first, last := a.Beams[0].Recall, a.Beams[2].Recall; last < .999 || first > last {
			t.Errorf("recall %v with a beam of 1, %v with a beam as wide as the catalog; want 1 for the latter", first, last)
		}
	}
}

func TestAuditNeedsVectors(t *testing.T) {
	ix, err := Open(t.Context(), ours(t).Tools, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if _, err := ix.Audit(t.Context(), nil, []int{64}); !errors.Is(err, index.ErrNoVectors) {
		t.Errorf("got %v, want that there are no vectors", err)
	}
}
