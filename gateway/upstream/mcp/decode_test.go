package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
)

// FuzzPage checks that what decodes as a page has nothing but tools in it.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a"},7,null],"nextCursor":"x","ttlMs":1e400}`))
	f.Add([]byte(`{"tools":null}`))
	f.Add([]byte(`{"Tools":[],"tools":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodePage(data)
		if err != nil {
			return
		}
		if p.fresh < 0 {
			t.Errorf("negative time %v", p.fresh)
		}
		var l upstream.Listing
		p.addTo(&l, 1)
		if len(l.Tools)+len(l.Warnings) != len(p.tools) {
			t.Errorf("%d tools and %d warnings of %d entries", len(l.Tools), len(l.Warnings), len(p.tools))
		}
		for _, raw := range l.Tools {
			if !bytes.Contains(data, raw) {
				t.Errorf("tool %s is not as it came", raw)
			}
		}
	})
}

func TestPagesThatDoNotDecode(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                            "the result does not decode",
		`{}`:                            "the result has no array named tools",
		`{"tools":{}}`:                  "the result has no array named tools",
		`{"tools":null}`:                "the result has no array named tools",
		`{"tools":[],"nextCursor":[1]}`: "nextCursor [1] is not a string",
	} {
		_, err := decodePage(json.RawMessage(text))
		wantError(t, err, want)
	}
}

func TestQuietTime(t *testing.T) {
	var q quietTime
	now := time.Unix(1000, 0)
	var got []time.Duration
	for range 9 {
		d := q.next(now)
		got = append(got, d)
		now = now.Add(d)
	}
	if want := "[250ms 500ms 1s 2s 4s 8s 16s 30s 30s]"; fmt.Sprint(got) != want {
		t.Errorf("for endless changes got %v, want %s", got, want)
	}
	if d := q.next(now.Add(time.Hour)); d != debounce {
		t.Errorf("after an hour got %v, want %v", d, debounce)
	}
}
