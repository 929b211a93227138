package spaces

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/vector"
)

const (
	fastBatch    = 250 * time.Millisecond // batches that take less are made larger
	slowBatch    = 2 * time.Second        // and those that take more smaller
	maxBatch     = 1024                   // texts
	publishEvery = time.Second            // while a space that serves is filled
)

var errNoVector = errors.New("the embedder gives a zero vector")

// A filler makes vectors in one pass.
type filler struct {
	es *Spaces
	m  *model

	size      int // texts of the next batch
	embedded  int
	barren    int // batches in a row without one vector
	failed    []want
	reasons   []string
	lengths   map[int]int // how many sound vectors had each length
	started   time.Time
	published time.Time
}

// fill has vectors made, as the only process that does so for this
// space: what one has made the others find in the store.
func (p *filler) fill(ctx context.Context, todo []want) error {
	unlock, todo, err := p.lock(ctx, todo)
	if err != nil || len(todo) == 0 {
		return err
	}
	defer unlock()
	p.started, p.published = time.Now(), time.Now()
	if p.size = 1; p.m.dims > 0 {
		p.size = 32
	}
	return p.run(ctx, todo)
}

// lock takes the lock to fill a space. While another process has it, that
// one's vectors are taken as they come.
func (p *filler) lock(ctx context.Context, todo []want) (unlock func(), left []want, err error) {
	es, m := p.es, p.m
	free := func() {}
	if es.folder.Store == nil || es.folder.ReadOnly() || m.pending() {
		return free, todo, nil
	}
	progress := time.Now()
	for {
		unlock, err := store.TryLock(es.folder.Dir, "fill-"+m.space.String()[:16]+".lock")
		if err != nil {
			es.folder.Log.Warn("filling without a lock", "error", err)
			return free, todo, nil
		}
		if unlock != nil {
			return unlock, es.lookUp(ctx, m), nil
		}
		if time.Since(progress) > lockPatience {
			return free, todo, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(fillRetry / 2):
		}
		before := len(todo)
		if todo = es.lookUp(ctx, m); len(todo) == 0 {
			return free, nil, nil
		}
		if len(todo) < before {
			progress = time.Now()
		}
	}
}

// run embeds todo in batches. Texts that failed before come last, one by one,
// so that they cannot fail others. It gives up when two batches in a row fail
// whole: that is the embedder, not the texts.
func (p *filler) run(ctx context.Context, todo []want) error {
	fresh, tried := p.split(todo)
	var err error
	for err == nil && len(fresh) > 0 {
		n := min(p.size, alike(fresh))
		err = p.batch(ctx, fresh[:n])
		fresh = fresh[n:]
	}
	for err == nil && len(tried) > 0 {
		err = p.batch(ctx, tried[:1])
		tried = tried[1:]
	}
	if errors.Is(err, errRenamed) || ctx.Err() != nil {
		return err
	}
	p.blame()
	return err
}

// alike is how many of the first are documents, or phrases.
func alike(todo []want) int {
	for i, w := range todo {
		if (w.said == 0) != (todo[0].said == 0) {
			return i
		}
	}
	return len(todo)
}

func (p *filler) split(todo []want) (fresh, tried []want) {
	p.es.mu.Lock()
	defer p.es.mu.Unlock()
	for _, w := range todo {
		if p.m.failures[w.text].attempts > 0 {
			tried = append(tried, w)
		} else {
			fresh = append(fresh, w)
		}
	}
	return fresh, tried
}

// blame counts the failed texts' attempts. When nothing at all succeeded only
// those that had failed beside others before are to blame.
func (p *filler) blame() {
	p.es.mu.Lock()
	defer p.es.mu.Unlock()
	for i, w := range p.failed {
		f := p.m.failures[w.text]
		if p.embedded > 0 || f.attempts > 0 {
			f.attempts++
		}
		f.reason = p.reasons[i]
		p.m.failures[w.text] = f
	}
	p.outvote()
}

// outvote starts over when most vectors of the pass have another length than
// the ones before: the odd one out came first. The caller holds Spaces.mu.
func (p *filler) outvote() {
	for n, count := range p.lengths {
		if n != p.m.dims && count > len(p.m.known) {
			p.m.known, p.m.dims, p.m.ready = map[[32]byte]vector.Code{}, n, false
			p.m.failures = map[[32]byte]failure{}
			p.m.changed++
			p.m.fill.due = true
			wake(p.es.models.kicks[desired])
			wake(p.es.models.kicks[fallback])
			return
		}
	}
}

// batch embeds some texts and keeps what is sound. Its error ends the pass.
func (p *filler) batch(ctx context.Context, batch []want) error {
	start := time.Now()
	vectors, err := p.embed(ctx, batch)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.m.embedder.Model() != p.m.identity {
		return errRenamed
	}
	good := p.sort(batch, vectors, err)
	p.resize(time.Since(start), len(batch))
	if len(good) == 0 {
		if p.barren++; p.barren == 2 && err != nil {
			return err
		}
		return nil
	}
	p.barren = 0
	p.keep(ctx, batch, good)
	return nil
}

func (p *filler) resize(took time.Duration, n int) {
	switch {
	case n < p.size:
	case took < fastBatch:
		p.size = min(max(32, 2*p.size), maxBatch)
	case took > slowBatch:
		p.size = max(8, p.size/2)
	}
}

// sort separates the vectors that can be used, at length 1, from the texts
// that have failed.
func (p *filler) sort(batch []want, vectors [][]float32, err error) map[[32]byte][]float32 {
	dims := p.m.dims
	good := make(map[[32]byte][]float32, len(batch))
	for i, w := range batch {
		var v []float32
		if i < len(vectors) {
			v = vectors[i]
		}
		u, why := checked(v, dims, err)
		if _, sound := vector.Unit(v); sound {
			p.lengths[len(v)]++
		}
		switch {
		case why == nil:
			good[w.text] = u
			dims = len(u)
		case errors.Is(why, errNoVector) && p.m.form == tool.AsFields:
			p.refuse(w.text, why) // a model of words that knows none of these
		default:
			p.failed = append(p.failed, w)
			p.reasons = append(p.reasons, why.Error())
		}
	}
	return good
}

func (p *filler) refuse(text [32]byte, why error) {
	p.es.mu.Lock()
	defer p.es.mu.Unlock()
	p.m.failures[text] = failure{attempts: maxAttempts, reason: why.Error()}
}

// checked returns v at length 1, or why it cannot be used.
func checked(v []float32, dims int, err error) ([]float32, error) {
	switch {
	case v == nil && err != nil:
		return nil, err
	case v == nil:
		return nil, errors.New("the embedder gives no vector")
	case dims > 0 && len(v) != dims:
		return nil, fmt.Errorf("the embedder gives %d dimensions instead of %d", len(v), dims)
	}
	if u, ok := vector.Unit(v); ok {
		return u, nil
	}
	for _, x := range v {
		if x != 0 {
			return nil, errors.New("the embedder gives numbers that are not finite")
		}
	}
	return nil, errNoVector
}

// embed calls the embedder for a batch, of documents or of phrases.
func (p *filler) embed(ctx context.Context, batch []want) ([][]float32, error) {
	if batch[0].said > 0 {
		return p.embedPhrases(ctx, batch)
	}
	fields := make([]map[string]string, len(batch))
	texts := make([]string, len(batch))
	for i, w := range batch {
		t := w.doc.Tool
		raw, err := p.es.options.Catalog.Object(ctx, &t, w.doc.ID)
		if err != nil {
			return nil, err
		}
		params := tool.ParametersOf(raw)
		if p.m.form == tool.AsFields {
			fields[i] = tool.EmbeddedFields(&t, params)
		} else {
			texts[i] = tool.EmbeddedText(&t, params)
		}
	}
	if f, ok := p.m.embedder.(FieldEmbedder); ok {
		return f.EmbedFields(ctx, fields)
	}
	return p.m.embedder.EmbedDocuments(ctx, texts)
}

// embedPhrases embeds phrases as what they are: what somebody searches with.
func (p *filler) embedPhrases(ctx context.Context, batch []want) ([][]float32, error) {
	texts := make([]string, len(batch))
	for i, w := range batch {
		texts[i] = w.doc.Phrases()[w.said-1].Text
	}
	if e, ok := p.m.embedder.(QueriesEmbedder); ok {
		return e.EmbedQueries(ctx, texts)
	}
	vectors := make([][]float32, len(batch))
	for i, text := range texts {
		var err error
		if vectors[i], err = p.m.embedder.EmbedQuery(ctx, text); err != nil {
			return vectors, err
		}
	}
	return vectors, nil
}

// keep stores vectors and takes them into memory, where they serve even when
// they cannot be stored.
func (p *filler) keep(ctx context.Context, batch []want, good map[[32]byte][]float32) {
	es, m := p.es, p.m
	codes := make(map[[32]byte]vector.Code, len(good))
	for text, v := range good {
		codes[text] = vector.Encode(v)
	}
	es.mu.Lock()
	for text, code := range codes {
		m.take(text, code)
	}
	p.embedded += len(good)
	m.fill.rate = float64(p.embedded) / max(time.Since(p.started).Seconds(), 1e-3)
	m.unsaved += len(good)
	if batch[0].said > 0 {
		m.fill.silent = max(0, m.fill.silent-len(good))
	} else {
		m.fill.missing = max(0, m.fill.missing-len(good))
	}
	info := m.spaceInfo()
	readOnly := es.folder.ReadOnly()
	if m.ready && time.Since(p.published) > publishEvery {
		p.published = time.Now()
		es.publish()
	}
	es.models.announce()
	es.mu.Unlock()
	if readOnly {
		return
	}
	var texts [][32]byte
	var vectors [][]byte
	for _, w := range batch {
		if code, ok := codes[w.text]; ok {
			texts, vectors = append(texts, w.text), append(vectors, code.Append(nil))
		}
	}
	es.put.Add(int64(len(texts)))
	if err := es.folder.Store.PutVectors(ctx, info, texts, vectors); err != nil && ctx.Err() == nil {
		es.options.Catalog.Blame(err)
	}
}
