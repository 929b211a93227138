package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/schollz/progressbar/v3"

	"github.com/tooldex/tooldex/embed/static"
)

const (
	topK   = 10
	warmUp = 20 // queries before the clock starts
)

// A bench collects the rows of one run.
type bench struct {
	o     options
	bar   *progressbar.ProgressBar
	dir   string // scratch, removed at the end
	model *static.Model
	rows  []row
}

func newBench(o options, bar *progressbar.ProgressBar) (*bench, error) {
	model, err := static.Open()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tooldex-benchmarks-")
	if err != nil {
		return nil, err
	}
	return &bench{o: o, bar: bar, dir: dir, model: model}, nil
}

// step says what is under way; "" ends the bar.
func (b *bench) step(format string, a ...any) {
	if format == "" {
		_ = b.bar.Finish() // a bar that cannot be drawn is no reason to stop
		return
	}
	b.bar.Describe(fmt.Sprintf(format, a...))
	_ = b.bar.Add(1)
}

func (b *bench) add(r row) { b.rows = append(b.rows, r) }

// folder makes an empty folder of its own.
func (b *bench) folder(name string) (string, error) {
	dir := filepath.Join(b.dir, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// catalog measures everything on a catalog of n tools.
func (b *bench) catalog(ctx context.Context, n int) error {
	b.step("%d tools: making the catalog", n)
	c, err := newCorpus(b.o.seed, n, b.o.queries+warmUp)
	if err != nil {
		return err
	}
	answers, err := b.ours(ctx, c)
	if err != nil {
		return err
	}
	if n == b.loadSize() {
		if err := b.load(ctx, filepath.Join(b.dir, fmt.Sprintf("tooldex-%d", n)), c); err != nil {
			return fmt.Errorf("%d clients: %w", loadClients, err)
		}
	}
	runtime.GC()
	d, err := b.data(ctx, c)
	if err != nil {
		return err
	}
	d.keyword = answers
	if err := b.vectors(ctx, d); err != nil {
		return err
	}
	return b.rivals(ctx, d)
}

// loadSize is the catalog that many clients get: the largest of up to
// loadTools, else the first.
func (b *bench) loadSize() int {
	n := 0
	for _, size := range b.o.sizes {
		if size <= loadTools {
			n = max(n, size)
		}
	}
	return cmp.Or(n, b.o.sizes[0])
}

// diskBytes sums the sizes of all files under dir.
func diskBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
