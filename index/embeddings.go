package index

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
)

// Embeddings are the catalog's vectors in the spaces of its embedders: they
// are looked up, made where they are missing, and put beside the documents
// that searches see.
type embeddings struct {
	*folder
	catalog vectorized
	current *atomic.Pointer[snapshot.Snapshot]
	working sync.WaitGroup
	put     atomic.Int64 // vectors stored since superfluous ones were looked for

	// The catalog's lock, where both are needed, is taken first.
	mu     sync.Mutex // guards the fields below, what they point to, and writing current
	models models
	saved  map[store.Space]vectorsByText // of the derived file, until the models that the index opens with have taken theirs
}

// vectorized is the catalog of which vectors are made.
type vectorized interface {
	objectFor(ctx context.Context, t *tool.Tool, id string) ([]byte, error)
	version() uint64
	blame(err error) // for a store that cannot be used
}

func (es *embeddings) snapshot() *snapshot.Snapshot { return es.current.Load() }

// show makes another state of the catalog searchable, with the vectors that
// are there, and has the others made.
func (es *embeddings) show(next *snapshot.Snapshot) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.current.Store(es.serve(next))
	es.models.kick()
}

// setParams changes how searches rank.
func (es *embeddings) setParams(p snapshot.Params) {
	es.mu.Lock()
	defer es.mu.Unlock()
	before := es.snapshot().PhraseVectors()
	es.current.Store(es.snapshot().WithParams(p))
	es.publish()
	if before == 0 && p.PhraseVectors > 0 { // their vectors were not made
		es.models.kick()
	}
}

// status describes the models.
func (es *embeddings) status() []ModelStatus {
	es.mu.Lock()
	defer es.mu.Unlock()
	return es.models.status()
}

// unsaved counts the vectors that are not in the derived file, of the model
// that lacks most.
func (es *embeddings) unsaved() (n int) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, m := range es.models.all() {
		if m.ready {
			n = max(n, m.unsaved)
		}
	}
	return n
}

// draft takes in what there is to save, and counts from there.
func (es *embeddings) draft() (models []draftedModel) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, m := range es.models.all() {
		if m.ready && !m.pending() {
			models = append(models, draftedModel{m.space, m.form, maps.Clone(m.known), m.dims})
		}
		m.unsaved = 0
	}
	return models
}

// take keeps saved vectors until the models have taken theirs.
func (es *embeddings) take(saved map[store.Space]vectorsByText) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.saved = saved
}

// inUse are the spaces of the models, and what the store is told of those
// that have vectors.
func (es *embeddings) inUse() (spaces map[store.Space]bool, infos []store.SpaceInfo) {
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

// publish makes the models' state searchable over the current catalog. The
// caller holds embeddings.mu.
func (es *embeddings) publish() {
	es.current.Store(es.serve(es.snapshot()))
	es.models.announce()
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake
	}
}

// makeModels takes over the options' embedders.
func (es *embeddings) makeModels() {
	es.mu.Lock()
	defer es.mu.Unlock()
	if e := es.options.Embedder; e != nil {
		es.models.desired = es.models.modelFor(e)
		if f := es.options.Fallback; f != nil && f.Model() != e.Model() {
			es.models.fallback = es.models.modelFor(f)
		}
	}
}

// startModels takes over the vectors that are stored, and begins to fill what
// is missing.
func (es *embeddings) startModels(ctx context.Context) {
	es.mu.Lock()
	all := es.models.all()
	es.mu.Unlock()
	for _, m := range all {
		es.lookUp(ctx, m)
	}
	es.mu.Lock()
	es.saved = nil // nobody took the rest
	es.mu.Unlock()
	if es.options.Offline {
		for _, m := range all {
			es.readGraphNow(m)
		}
		return
	}
	// Loading the catalog has kicked the fillers already.
	for _, r := range []role{desired, fallback} {
		es.working.Go(func() { es.fillFor(ctx, r) })
	}
	es.working.Go(func() { es.buildGraphs(ctx) })
}

// setEmbedder changes the embedder: its vectors are filled beside those that
// serve, which are replaced once complete. Nil goes back to words alone.
func (es *embeddings) setEmbedder(e Embedder) {
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
}

// rename replaces the model of a role whose embedder goes by another identity
// now, and says whether it did.
func (es *embeddings) rename(ctx context.Context, r role) bool {
	es.mu.Lock()
	m := es.models.of(r)
	if m == nil || m.embedder.Model() == m.identity {
		es.mu.Unlock()
		return false
	}
	next := es.models.modelFor(m.embedder)
	es.log.Info("embedder has another identity", "old", m.identity, "new", next.identity)
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

// learn lets an offline index find out what identity a server goes by, which
// only asking it can tell. Without it the stored vectors cannot be chosen.
func (es *embeddings) learn(ctx context.Context, text string) {
	if !es.options.Offline {
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
		return
	}
	es.rename(ctx, desired)
}

// wait returns when every searchable document has its vectors and graphs are
// built, or with ctx's error or the embedder's. Documents that the embedder
// refuses for good while it takes others are not waited for.
func (es *embeddings) wait(ctx context.Context) error {
	for {
		es.mu.Lock()
		changed := es.models.changed
		done, err := es.models.settled()
		es.mu.Unlock()
		if done || es.options.Offline {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for vectors: %w", ctx.Err())
		}
	}
}

// storeAll stores the vectors of all models anew, in the background.
func (es *embeddings) storeAll(ctx context.Context) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, m := range es.models.all() {
		es.working.Go(func() { es.storeVectors(ctx, m) })
	}
}

// storeVectors stores all vectors that memory has of m.
func (es *embeddings) storeVectors(ctx context.Context, m *model) {
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
		if err := es.store.PutVectors(ctx, info, texts[:n], vectors[:n]); err != nil {
			m.log(es.log).Warn("vectors are not stored anew", "error", err)
			return
		}
		texts, vectors = texts[n:], vectors[n:]
	}
}
