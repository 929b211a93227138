package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/tooldex/tooldex/index/check"
)

// flipValues flips a bit in every value of a bucket whose key begins with
// prefix.
func flipValues(t *testing.T, path, bucket, prefix string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		values := map[string][]byte{}
		err := b.ForEach(func(k, v []byte) error {
			if strings.HasPrefix(string(k), prefix) {
				values[string(k)] = append([]byte(nil), v...)
			}
			return nil
		})
		for k, v := range values {
			v[rand.IntN(len(v))] ^= 1 << rand.IntN(8)
			err = errors.Join(err, b.Put([]byte(k), v))
			n++
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil || n == 0 {
		t.Fatalf("%d values flipped, %v", n, err)
	}
}

// TestDamagedValues damages every value of a kind, opens the folder, lists
// the server again and finds everything whole.
func TestDamagedValues(t *testing.T) {
	tests := []struct {
		bucket, prefix string
		problem        string // in the status
		served         int    // tools at once
	}{
		{"meta", "format", "format", 3},
		{"meta", "id", "", 3},
		{"meta", "generation", "", 3},
		{"meta", "recorded", "", 3},
		{"meta", "space/", "", 3},
		{"servers", "", "record of a server", 3},
		{"tools", "h", "3 tools of server \"s\" are damaged", 0},
		{"tools", "f", "first-seen dates of 3 tools", 3},
		{"tools", "r", "the tools of server s are stored in part", 0},
		{"metrics", "", "metrics of tool", 3},
		{"vectors", "", "vectors are damaged", 3},
	}
	for _, tt := range tests {
		t.Run(tt.bucket+" "+tt.prefix, func(t *testing.T) {
			dir := t.TempDir()
			o := Options{Embedder: newTestEmbedder("m", 8), Sources: map[string]string{"s": "x"}}
			ix := openDir(t, dir, o)
			replace(t, ix, "s", three...)
			wait(t, ix)
			ix.Record(firstHit(ix).ID, true, time.Second)
			closeIndex(t, ix)
			flipValues(t, filepath.Join(dir, "store.db"), tt.bucket, tt.prefix)
			if err := os.Remove(ix.folder.DerivedPath()); err != nil { // in which all is whole
				t.Fatal(err)
			}

			ix = openDir(t, dir, o)
			if p := ix.Status().Problem; !strings.Contains(p, tt.problem) {
				t.Errorf("problem %q does not tell %q", p, tt.problem)
			}
			if n := len(ids(ix)); n != tt.served {
				t.Errorf("%d tools at once, want %d", n, tt.served)
			}
			for _, id := range ids(ix) {
				if _, err := ix.Raw(id); (err != nil) != (tt.prefix == "r") {
					t.Errorf("Raw: %v", err)
				}
			}
			find(t, ix, Keyword)
			replace(t, ix, "s", three...)
			wait(t, ix)
			ix.Record(firstHit(ix).ID, true, time.Second)
			if err := ix.catalog.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			ix.keeper.maintain(t.Context())
			closeIndex(t, ix)
			checkMended(t, dir, o, tt.bucket == "metrics")
		})
	}
}

func checkMended(t *testing.T, dir string, o Options, metricsLost bool) {
	t.Helper()
	if found, err := check.Folder(dir); len(found) > 0 || err != nil {
		t.Errorf("Check: %+v, %v", found, err)
	}
	ix := openDir(t, dir, o)
	if st := ix.Status(); st.Problem != "" || st.Tools != 3 || st.Models[0].Vectors != 3 {
		t.Errorf("status %+v", st)
	}
	for i, name := range []string{"s/read_file", "s/write_file", "s/list"} {
		if raw, err := ix.Raw(ids(ix)[name]); err != nil || string(raw) != string(three[i]) {
			t.Errorf("Raw(%s) = %s, %v", name, raw, err)
		}
	}
	want := int64(2)
	if metricsLost {
		want = 1
	}
	if m := ix.Metrics(firstHit(ix).ID); m.Total != want {
		t.Errorf("metrics %+v, want a total of %d", m, want)
	}
}

// TestSearchesDuringReplace searches from many goroutines while the catalog
// changes: each search sees one state of each server.
func TestSearchesDuringReplace(t *testing.T) {
	ix := openDir(t, t.TempDir(), Options{Embedder: newTestEmbedder("m", 8), HNSWThreshold: -1})
	version := func(v int) (list []json.RawMessage) {
		for i := range 10 {
			list = append(list, rawTool(fmt.Sprint("tool_", i), fmt.Sprint("version ", v)))
		}
		return list
	}
	replace(t, ix, "s", version(0)...)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					oneVersion(t, ix)
				}
			}
		})
	}
	for v := range 20 {
		replace(t, ix, "s", version(v+1)...)
		ix.Record(firstHit(ix).ID, true, 0)
		ix.Status()
	}
	close(done)
	wg.Wait()
}

func oneVersion(t *testing.T, ix *Index) {
	res, err := ix.Search(t.Context(), Query{Text: "tool version", Limit: 20})
	if err != nil {
		t.Error(err)
		return
	}
	seen := map[string]bool{}
	for _, h := range res.Hits {
		seen[h.Tool.Description] = true
		if _, err := ix.Raw(h.ID); err != nil {
			t.Error(err)
		}
	}
	if len(seen) != 1 || len(res.Hits) != 10 {
		t.Errorf("%d tools of versions %v", len(res.Hits), seen)
	}
}
