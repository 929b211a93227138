// Package spaces keeps the vectors of a catalog in the space of each embedder:
// it looks up what is stored, has made what is missing, switches from one
// embedder to the next when the next one's vectors are complete, answers with
// the fallback's meanwhile, and builds the graphs over them.
package spaces

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/folder"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
)

// Spaces are the catalog's vectors in the spaces of its embedders: they
// are looked up, made where they are missing, and put beside the documents
// that searches see.
type Spaces struct {
	folder  *folder.Folder
	options Options
	current *atomic.Pointer[snapshot.Snapshot] // written by Show, SetParams and Refresh alone
	working sync.WaitGroup
	put     atomic.Int64 // vectors stored since superfluous ones were looked for

	// The catalog's lock, where both are needed, is taken first.
	mu     sync.Mutex // guards the fields below and what they point to
	models models
	stale  bool                            // the models have changed since searches saw them
	saved  map[store.Space]derived.Vectors // of the derived file, until the models that the index opens with have taken theirs
}

// Options are what New makes Spaces with.
type Options struct {
	Folder       *folder.Folder
	Catalog      Catalog
	Builder      Builder
	Current      *atomic.Pointer[snapshot.Snapshot] // the snapshot that is searched
	Embedder     Embedder                           // nil without
	Fallback     Embedder                           // nil without; its vectors are kept complete
	QueryTimeout time.Duration                      // to learn an embedder's identity; 0 means 2 s
}

// A Catalog has the tools of which vectors are made.
type Catalog interface {
	Object(ctx context.Context, t *tool.Tool, id string) ([]byte, error) // as its upstream sent it
	Version() uint64                                                     // counts its states
	Blame(err error)                                                     // for a store that cannot be used
}

// A Builder is the goroutine that makes snapshots. It alone calls Show,
// SetParams and Refresh of Spaces.
type Builder interface {
	Refresh() // has Spaces.Refresh called soon
	Sync()    // has it called, and waits
}

// New returns the spaces of the options' embedders, without vectors.
func New(o Options) *Spaces {
	es := &Spaces{folder: o.Folder, options: o, current: o.Current, models: newModels()}
	if e := o.Embedder; e != nil {
		es.models.desired = es.models.modelFor(e)
		if f := o.Fallback; f != nil && f.Model() != e.Model() {
			es.models.fallback = es.models.modelFor(f)
		}
	}
	return es
}

// Join waits for the work in the background to end. The context that Start got
// must have ended.
func (es *Spaces) Join() { es.working.Wait() }

// TakeStored says whether at least so many vectors were stored since it last
// said so.
func (es *Spaces) TakeStored(least int64) bool {
	if es.put.Load() < least {
		return false
	}
	es.put.Store(0)
	return true
}

func (es *Spaces) snapshot() *snapshot.Snapshot { return es.current.Load() }

// Show makes another state of the catalog searchable, with the vectors that
// are there, and has the others made.
func (es *Spaces) Show(next *snapshot.Snapshot) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.current.Store(es.serve(next))
	es.models.kick() // after it, so that the fillers find what is new
}

// SetParams changes how searches rank.
func (es *Spaces) SetParams(p snapshot.Params) {
	es.mu.Lock()
	defer es.mu.Unlock()
	before := es.snapshot().PhraseVectors()
	es.current.Store(es.snapshot().WithParams(p))
	es.refreshLocked()
	if before == 0 && p.PhraseVectors > 0 { // their vectors were not made
		es.models.kick()
	}
}

// Status describes the models.
func (es *Spaces) Status() []Status {
	es.mu.Lock()
	defer es.mu.Unlock()
	return es.models.status()
}

// Unsaved counts the vectors that are not in the derived file, of the model
// that lacks most.
func (es *Spaces) Unsaved() (n int) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, m := range es.models.all() {
		if m.ready {
			n = max(n, m.unsaved)
		}
	}
	return n
}

// Draft takes in what there is to save, and counts from there.
func (es *Spaces) Draft() (models []derived.Model) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, m := range es.models.all() {
		if m.ready && !m.pending() {
			models = append(models, derived.Model{Space: m.space, Form: m.form, Known: maps.Clone(m.known), Dims: m.dims})
		}
		m.unsaved = 0
	}
	return models
}

// Take keeps saved vectors until the models have taken theirs.
func (es *Spaces) Take(saved map[store.Space]derived.Vectors) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.saved = saved
}

// InUse are the spaces of the models, and what the store is told of those
// that have vectors.
func (es *Spaces) InUse() (spaces map[store.Space]bool, infos []store.SpaceInfo) {
	es.mu.Lock()
	defer es.mu.Unlock()
	spaces = map[store.Space]bool{}
	for _, m := range es.models.all() {
		spaces[m.space] = true
		if m.dims > 0 {
			infos = append(infos, m.spaceInfo())
		}
	}
	return spaces, infos
}

// publish has the models' state made searchable. The caller holds
// Spaces.mu.
func (es *Spaces) publish() {
	es.stale = true
	es.options.Builder.Refresh()
}

// Refresh makes the models' state searchable over the current catalog, if it has
// changed.
func (es *Spaces) Refresh() {
	es.mu.Lock()
	defer es.mu.Unlock()
	if es.stale {
		es.refreshLocked()
	}
}

func (es *Spaces) refreshLocked() {
	es.current.Store(es.serve(es.snapshot()))
	es.stale = false
	es.models.announce()
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake
	}
}

// Start takes over the vectors that are stored, and begins to fill what
// is missing.
func (es *Spaces) Start(ctx context.Context) {
	es.mu.Lock()
	all := es.models.all()
	es.mu.Unlock()
	for _, m := range all {
		es.lookUp(ctx, m)
	}
	es.mu.Lock()
	es.saved = nil // nobody took the rest
	es.mu.Unlock()
	es.options.Builder.Sync()
	if es.folder.Offline {
		for _, m := range all {
			graphs{es}.readGraphNow(m)
		}
		es.options.Builder.Sync()
		return
	}
	// Loading the catalog has kicked the fillers already.
	for _, r := range []role{desired, fallback} {
		es.working.Go(func() { es.fillFor(ctx, r) })
	}
	es.working.Go(func() { graphs{es}.buildGraphs(ctx) })
}

// SetEmbedder changes the embedder: its vectors are filled beside those that
// serve, which are replaced once complete. Nil goes back to words alone.
func (es *Spaces) SetEmbedder(e Embedder) {
	es.mu.Lock()
	ms := &es.models
	if old := ms.desired; old != nil && old.ready {
		ms.previous = old
	}
	ms.desired = nil
	if e != nil {
		ms.desired = es.models.modelFor(e)
	} else {
		ms.previous = nil
	}
	es.models.settle(es.options.Fallback)
	m := ms.desired
	look := m != nil && !m.looked
	es.publish()
	es.models.kick()
	es.mu.Unlock()
	if look {
		es.lookUp(context.Background(), m)
	}
	es.options.Builder.Sync()
}

// rename replaces the model of a role whose embedder goes by another identity
// now, and says whether it did.
func (es *Spaces) rename(ctx context.Context, r role) bool {
	es.mu.Lock()
	m := es.models.of(r)
	if m == nil || m.embedder.Model() == m.identity {
		es.mu.Unlock()
		return false
	}
	next := es.models.modelFor(m.embedder)
	es.folder.Log.Info("embedder has another identity", "old", m.identity, "new", next.identity)
	if r == desired {
		es.models.desired = next
	} else {
		es.models.fallback = next
	}
	es.models.settle(es.options.Fallback)
	es.publish()
	es.mu.Unlock()
	es.lookUp(ctx, next)
	return true
}

// learnTimeout is how long a search waits to learn an embedder's identity.
const learnTimeout = 2 * time.Second

// Learn lets an offline index find out what identity a server goes by, which
// only asking it can tell. Without it the stored vectors cannot be chosen.
func (es *Spaces) Learn(ctx context.Context, text string) {
	if !es.folder.Offline {
		return
	}
	es.mu.Lock()
	m := es.models.desired
	es.mu.Unlock()
	if m == nil || !m.pending() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(es.options.QueryTimeout, learnTimeout))
	defer cancel()
	if _, err := m.embedder.EmbedQuery(ctx, text); err != nil {
		es.mu.Lock()
		m.fill.err = err
		es.publish()
		es.mu.Unlock()
	} else {
		es.rename(ctx, desired)
	}
	es.options.Builder.Sync()
}

// Wait returns when every searchable document has its vectors and graphs are
// built, or with ctx's error or the embedder's. Documents that the embedder
// refuses for good while it takes others are not waited for.
func (es *Spaces) Wait(ctx context.Context) error {
	for {
		es.mu.Lock()
		changed := es.models.changed
		done, err := es.models.settled()
		done = done && !es.stale
		es.mu.Unlock()
		if done || es.folder.Offline {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for vectors: %w", ctx.Err())
		}
	}
}

// StoreAll stores the vectors of all models anew, in the background.
func (es *Spaces) StoreAll(ctx context.Context) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, m := range es.models.all() {
		es.working.Go(func() { es.storeVectors(ctx, m) })
	}
}

// storeVectors stores all vectors that memory has of m.
func (es *Spaces) storeVectors(ctx context.Context, m *model) {
	es.mu.Lock()
	info := m.spaceInfo()
	m.unsaved = len(m.known)
	texts, vectors := make([][32]byte, 0, len(m.known)), make([][]byte, 0, len(m.known))
	for text, code := range m.known {
		texts, vectors = append(texts, text), append(vectors, code.Append(nil))
	}
	es.mu.Unlock()
	for len(texts) > 0 {
		n := min(len(texts), maxBatch)
		if err := es.folder.Store.PutVectors(ctx, info, texts[:n], vectors[:n]); err != nil {
			m.log(es.folder.Log).Warn("vectors are not stored anew", "error", err)
			return
		}
		texts, vectors = texts[n:], vectors[n:]
	}
}

// remember tells the store what is known of a space. Nothing depends on its
// being written.
func (es *Spaces) remember(ctx context.Context, info store.SpaceInfo) {
	if es.folder.Store == nil || es.folder.ReadOnly() {
		return
	}
	if err := es.folder.Store.UseSpaces(ctx, []store.SpaceInfo{info}); err != nil && ctx.Err() == nil {
		es.folder.Log.Warn("the use of a vector space could not be stored", "model", info.Model, "error", err)
	}
}
