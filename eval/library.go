package eval

import (
	"context"
	"fmt"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/phrased"
	"github.com/tooldex/tooldex/index"
)

// A library keeps the indexes of the sets, one for each catalog: the splits
// of a set share theirs, unless there are phrases, which differ.
type library struct {
	o       Options
	indexes map[catalog]*index.Index
	phrased map[*labels.Set]*phrased.Report
}

// A catalog is a list of tools, and the set whose requests are no phrases of
// them.
type catalog struct {
	top *index.Tool
	set *labels.Set // nil without phrases
}

func newLibrary(o Options) *library {
	return &library{o: o, indexes: map[catalog]*index.Index{}, phrased: map[*labels.Set]*phrased.Report{}}
}

func (l *library) open(ctx context.Context, s *labels.Set) (*index.Index, error) {
	if len(s.Tools) == 0 {
		return nil, fmt.Errorf("index set %s: it has no tools", s.Title())
	}
	key := catalog{top: &s.Tools[0]}
	if l.o.Phrases != phrased.None {
		key.set = s
	}
	if ix := l.indexes[key]; ix != nil {
		return ix, nil
	}
	tools, report := phrased.Tools(s, l.o.Phrases)
	ix, err := Open(ctx, tools, l.o)
	if err != nil {
		return nil, fmt.Errorf("index set %s: %w", s.Title(), err)
	}
	l.indexes[key], l.phrased[s] = ix, report
	return ix, nil
}

func (l *library) close() {
	for _, ix := range l.indexes {
		ix.Close() // in memory: there is nothing to lose
	}
}

// Open indexes tools in memory and waits until their vectors are there.
func Open(ctx context.Context, tools []index.Tool, o Options) (*index.Index, error) {
	o = o.withDefaults()
	ix, err := index.Open("", index.Options{Embedder: o.Embedder, Params: o.Params})
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, ix, tools, o); err != nil {
		ix.Close()
		return nil, err
	}
	return ix, nil
}

func fill(ctx context.Context, ix *index.Index, tools []index.Tool, o Options) error {
	byServer := map[string][]index.Tool{}
	for _, t := range tools {
		byServer[t.Server] = append(byServer[t.Server], t)
	}
	if _, err := ix.ReplaceAll(ctx, byServer); err != nil {
		return err
	}
	return ix.Wait(ctx)
}
