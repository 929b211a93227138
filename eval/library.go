package eval

import (
	"context"
	"fmt"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/index"
)

// A library keeps the indexes of the sets, one for each catalog: the splits
// of a set share theirs.
type library struct {
	o     Options
	byTop map[*index.Tool]*index.Index
}

func newLibrary(o Options) *library {
	return &library{o: o, byTop: map[*index.Tool]*index.Index{}}
}

func (l *library) open(ctx context.Context, s *labels.Set) (*index.Index, error) {
	if len(s.Tools) == 0 {
		return nil, fmt.Errorf("index set %s: it has no tools", s.Title())
	}
	top := &s.Tools[0]
	if ix := l.byTop[top]; ix != nil {
		return ix, nil
	}
	ix, err := Open(ctx, s.Tools, l.o)
	if err != nil {
		return nil, fmt.Errorf("index set %s: %w", s.Title(), err)
	}
	l.byTop[top] = ix
	return ix, nil
}

func (l *library) close() {
	for _, ix := range l.byTop {
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
