package index

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/index/catalog"
	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/folder"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/spaces"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/usage"
)

// An Index is one state folder's catalog, ready to be searched. All methods
// are safe for concurrent use.
type Index struct {
	folder  *folder.Folder
	catalog *catalog.Catalog
	spaces  *spaces.Spaces
	meter   *usage.Meter
	builder *builder
	keeper  *keeper
	options Options

	current atomic.Pointer[snapshot.Snapshot]
	stop    context.CancelFunc
	tending sync.WaitGroup
	closed  atomic.Bool
}

// Open opens the state folder dir, creating it if need be, and serves what it
// holds at once. An empty dir keeps everything in memory.
//
// A store of a newer format is left alone and one that cannot be written is
// only read: the catalog then lives in memory, and [Status] says why.
func Open(dir string, o Options) (*Index, error) {
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	fd, err := folder.Open(dir, folder.Options{Sources: o.Sources, Offline: o.Offline, Log: log})
	if err != nil {
		return nil, err
	}
	ix := &Index{folder: fd, meter: usage.NewMeter(), builder: newBuilder(&o), options: o}
	ix.catalog = catalog.New(catalog.Options{
		Folder: fd, Meter: ix.meter, Pack: o.Pack, Confirmers: o.Confirmers, Current: &ix.current, Show: ix.builder.show, Relist: o.Relist,
		Remade: func(ctx context.Context) { ix.spaces.StoreAll(ctx) },
	})
	ix.spaces = spaces.New(spaces.Options{
		Folder: fd, Catalog: ix.catalog, Builder: ix.builder, Current: &ix.current,
		Embedder: o.Embedder, Fallback: o.Fallback, QueryTimeout: o.QueryTimeout,
	})
	ix.keeper = &keeper{folder: fd, catalog: ix.catalog, spaces: ix.spaces, current: &ix.current}
	go ix.builder.run(ix.spaces)
	ctx, stop := context.WithCancel(context.Background())
	ix.stop = stop
	var d derived.State
	if fd.Store != nil {
		d = ix.keeper.readDerived()
	}
	ix.spaces.Take(d.Vectors)
	ix.catalog.Load(ctx, d)
	ix.spaces.Start(ctx)
	if !o.Offline && fd.Store != nil {
		ix.tending.Go(func() { ix.keeper.tend(ctx) })
	}
	return ix, nil
}

// Close writes what is pending, stops all background work and waits for it.
func (ix *Index) Close() error {
	if ix.closed.Swap(true) {
		return nil
	}
	ix.stop()
	ix.tending.Wait()
	ix.spaces.Join()
	err := ix.keeper.finish()
	ix.builder.end()
	return err
}

func (ix *Index) snapshot() *snapshot.Snapshot { return ix.current.Load() }

// Replace stores tools as all the tools of server, atomically, and makes them
// searchable; vectors follow in the background. An error in writing is
// returned when the tools are searchable already; the write is tried again.
// While another process has the store locked the change waits, which is no
// error.
func (ix *Index) Replace(ctx context.Context, server string, tools []Tool) (Diff, error) {
	diffs, err := ix.catalog.Replace(ctx, map[string][]Tool{server: tools})
	return diffs[server], err
}

// ReplaceAll is Replace for several servers at once, as one change: the work
// that depends on the size of the catalog is done once.
func (ix *Index) ReplaceAll(ctx context.Context, tools map[string][]Tool) (map[string]Diff, error) {
	return ix.catalog.Replace(ctx, tools)
}

// Relabel is Replace for tools made anew from the objects that the server sent
// the last time, as other things are said of them now: when it was listed
// stays, and what the listing itself has told. A server that was never listed
// stays so.
func (ix *Index) Relabel(ctx context.Context, server string, tools []Tool) (Diff, error) {
	return ix.catalog.Relabel(ctx, server, tools)
}

// SetSources changes which servers are shown, and from which connections, as
// Options.Sources says. Those that were not named before are loaded as far as
// they are stored; those not named any more leave the catalog and stay stored.
func (ix *Index) SetSources(ctx context.Context, sources map[string]string) error {
	return ix.catalog.SetSources(ctx, sources)
}

// Prune forgets the stored servers that Options.Sources, or SetSources after
// it, does not name, and returns their names. Those named in keep stay,
// whatever their connection.
func (ix *Index) Prune(ctx context.Context, keep ...string) ([]string, error) {
	return ix.catalog.Prune(ctx, keep)
}

// SetEmbedder changes the embedder: its vectors are filled beside those that
// serve, which are replaced once complete. Nil goes back to words alone.
func (ix *Index) SetEmbedder(e Embedder) { ix.spaces.SetEmbedder(e) }

// SetParams changes the ranking's parameters for the searches that follow.
func (ix *Index) SetParams(p Params) error {
	if err := p.Check(); err != nil {
		return err
	}
	<-ix.builder.setParams(p)
	return nil
}

// Wait returns when every searchable document has its vectors and graphs are
// built, or with ctx's error or the embedder's. Documents that the embedder
// refuses for good while it takes others are not waited for.
func (ix *Index) Wait(ctx context.Context) error { return ix.spaces.Wait(ctx) }

// Phrases are what people say when they need the tools of this index.
func (ix *Index) Phrases() *Phrases { return ix.catalog.Phrases() }

// Record counts one execution of the tool id. It is written within 5 s and by
// Close.
func (ix *Index) Record(id string, ok bool, took time.Duration) {
	d := Metrics{Total: 1, Time: took, Last: time.Now().UTC()}
	if !ok {
		d.Failed = 1
	}
	server, _ := ix.snapshot().ServerOf(id)
	ix.meter.Record(server, id, d)
}

// Metrics returns what was recorded for the tool id by all processes.
func (ix *Index) Metrics(id string) Metrics { return ix.meter.Of(id) }

// Status describes the index.
func (ix *Index) Status() Status {
	c := ix.catalog.Status()
	st := Status{
		Dir: ix.folder.Dir, Format: store.Format, Bytes: folderBytes(ix.folder.Dir), Generation: ix.snapshot().Generation(),
		Pending: c.Pending, Servers: c.Servers, Models: ix.spaces.Status(),
	}
	problems := c.Problems
	if ix.folder.Store != nil {
		problems = append(ix.folder.Store.Notes(), problems...)
	}
	st.Problem = strings.Join(problems, "; ")
	problem, _ := ix.folder.Faults()
	st.Unwritten = problem != ""
	for _, sv := range c.Servers {
		st.Tools += sv.Tools
		st.Hidden += sv.Hidden
	}
	return st
}

// folderBytes is the size of the files of the state folder; what cannot be
// read counts as nothing.
func folderBytes(dir string) (n int64) {
	if dir == "" {
		return 0
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, f := range files {
		if info, err := os.Stat(filepath.Join(dir, f.Name())); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}
