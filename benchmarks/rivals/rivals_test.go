package rivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Every rival finds the document that a query is about, so that what the
// benchmarks say of them is not about an adapter's mistake.
func TestRivalsFindWhatIsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	docs := make([]Doc, 200)
	for i := range docs {
		v, sum := make([]float32, 16), 0.0
		for d := range v {
			v[d] = float32(r.NormFloat64())
			sum += float64(v[d]) * float64(v[d])
		}
		for d := range v {
			v[d] /= float32(math.Sqrt(sum))
		}
		docs[i] = Doc{ID: fmt.Sprintf("tool-%d", i), Text: fmt.Sprintf("does thing number%d for the user's files", i), Vector: v}
	}
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			rival := e.New(t.TempDir())
			defer func() {
				if err := rival.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := rival.Build(t.Context(), docs); err != nil {
				t.Fatal(err)
			}
			found := 0
			for i := range docs {
				q := Query{Text: fmt.Sprintf(`find "number%d", please`, i), Vector: docs[i].Vector}
				ids, err := rival.Search(t.Context(), q, 5)
				if err != nil {
					t.Fatal(err)
				}
				if len(ids) > 0 && ids[0] == docs[i].ID {
					found++
				}
			}
			t.Logf("found %d of %d", found, len(docs))
			if !strings.HasPrefix(e.Name, "coder/hnsw") && found != len(docs) || found == 0 {
				t.Errorf("found %d of %d documents by themselves", found, len(docs))
			}
		})
	}
}
