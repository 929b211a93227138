package spaces

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/vector"
)

const (
	identityEvery = 2 * time.Second  // between two looks at an embedder's identity
	fillRetry     = time.Second      // first wait after a failed pass, doubled each time
	fillRetryMost = time.Minute      // the longest such wait
	lockPatience  = 30 * time.Second // for another process that fills the same space and gets nowhere
)

var errRenamed = errors.New("the embedder changed its identity")

// A want is a text that lacks its vector: what is embedded of a document, or a
// phrase.
type want struct {
	text [32]byte
	doc  *snapshot.Document // whose text or phrase it is
	said int                // number of the phrase, from 1; 0 for the document
}

// fillFor fills what is missing of one role's model, pass after pass, until
// ctx ends.
func (es *Spaces) fillFor(ctx context.Context, r role) {
	look := time.NewTicker(identityEvery)
	defer look.Stop()
	again := newBackoff()
	var last *model
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		case <-es.models.kicks[r]:
		case <-again.wait():
		}
		es.rename(ctx, r)
		es.mu.Lock()
		m := es.models.of(r)
		if m != last {
			last = m
			again.reset()
		}
		due := m != nil && (m.fill.due || m.fill.lacks() && again.over())
		es.mu.Unlock()
		if !due {
			continue
		}
		err := es.pass(ctx, m)
		if again.note(err); errors.Is(err, errRenamed) {
			wake(es.models.kicks[r])
		}
	}
}

// A backoff spaces passes that fail.
type backoff struct {
	next  time.Duration
	until time.Time
	timer <-chan time.Time
}

func newBackoff() *backoff { return &backoff{next: fillRetry} }

func (b *backoff) reset()                 { *b = *newBackoff() }
func (b *backoff) wait() <-chan time.Time { return b.timer }
func (b *backoff) over() bool             { return !time.Now().Before(b.until) }

func (b *backoff) note(err error) {
	if err == nil {
		b.reset()
		return
	}
	wait := b.next/2 + rand.N(b.next/2+1)
	b.until = time.Now().Add(wait)
	b.timer = time.After(wait)
	b.next = min(2*b.next, fillRetryMost)
}

// pass looks the missing vectors up and has the rest made.
func (es *Spaces) pass(ctx context.Context, m *model) error {
	es.mu.Lock()
	m.fill.busy = true
	es.mu.Unlock()
	todo := es.lookUp(ctx, m)
	var err error
	if len(todo) > 0 {
		p := &filler{es: es, m: m, lengths: map[int]int{}}
		err = p.fill(ctx, todo)
	}
	if ctx.Err() != nil || errors.Is(err, errRenamed) {
		return err // nobody needs this model's state any more
	}
	return es.endPass(ctx, m, err)
}

// endPass takes note of how a pass went and switches to a model that is
// complete.
func (es *Spaces) endPass(ctx context.Context, m *model, err error) error {
	es.mu.Lock()
	left := m.missing(es.snapshot())
	m.fill.busy = false
	if err == nil {
		err = m.failing(left)
	}
	if m.fill.err = err; err != nil {
		m.log(es.folder.Log).Warn("embedding tools", "error", err)
	}
	turned := !m.ready && m.fill.missing == 0 && len(m.known) > 0
	m.ready = m.ready || turned
	es.models.settle(es.options.Fallback)
	es.publish()
	info := m.spaceInfo()
	es.mu.Unlock()
	if turned {
		m.log(es.folder.Log).Info("vectors are complete")
		es.remember(ctx, info)
	}
	return err
}

// failing says that some of the texts have failed. Others were not tried yet.
func (m *model) failing(left []want) error {
	tools, phrases, why := 0, 0, ""
	for _, w := range left {
		f, ok := m.failures[w.text]
		switch {
		case !ok:
			continue
		case w.said == 0:
			tools++
		default:
			phrases++
		}
		why = f.reason
	}
	switch {
	case tools > 0:
		return fmt.Errorf("%d tools have no vector: %s", tools, why)
	case phrases > 0:
		return fmt.Errorf("%d phrases have no vector and are left out of those of their tools: %s", phrases, why)
	}
	return nil
}

// lookUp takes what is stored of the missing vectors, and returns the rest.
func (es *Spaces) lookUp(ctx context.Context, m *model) []want {
	es.mu.Lock()
	adopted := m.adopt(es.saved)
	m.fill.due = false
	todo := m.missing(es.snapshot())
	if adopted {
		es.serveMore(m, false)
	}
	es.mu.Unlock()
	if es.folder.Store == nil || m.pending() || len(todo) == 0 {
		return todo
	}
	found, complete := es.stored(ctx, m, todo)
	es.mu.Lock()
	defer es.mu.Unlock()
	if len(m.known) == 0 {
		m.known = make(map[[32]byte]vector.Code, len(todo))
	}
	n := 0
	for i, code := range found {
		if code.Scale == 0 {
			continue
		}
		m.take(todo[i].text, code)
		n++
	}
	m.looked = true
	m.unsaved += n
	m.fill.asked += int64(len(todo))
	m.fill.found += int64(n)
	if n > 0 {
		m.missing(es.snapshot())
		es.serveMore(m, complete)
	}
	return slices.DeleteFunc(todo, func(w want) bool { return m.has(w.text) })
}

// serveMore has the vectors searched that m has got; complete says that these
// were all of some catalog's. The caller holds Spaces.mu.
func (es *Spaces) serveMore(m *model, complete bool) {
	m.ready = m.ready || complete || m.fill.missing == 0
	es.models.settle(es.options.Fallback)
	es.publish()
}

// adopt takes the vectors of the derived file, if m has none yet, and says
// whether it did. The caller holds Spaces.mu.
func (m *model) adopt(all map[store.Space]derived.Vectors) bool {
	saved := all[m.space]
	if len(saved) == 0 || len(m.known) > 0 || m.pending() {
		return false
	}
	delete(all, m.space) // they are the model's now
	for _, code := range saved {
		m.dims = len(code.Numbers)
		break // those of all others are as many
	}
	m.known = saved
	m.changed++
	m.looked = true
	m.fill.asked += int64(len(saved))
	m.fill.found += int64(len(saved))
	return true
}

// has says whether the vector of a text is known. The caller holds Spaces.mu.
func (m *model) has(text [32]byte) bool {
	_, ok := m.known[text]
	return ok
}

// take keeps a vector. The caller holds Spaces.mu.
func (m *model) take(text [32]byte, code vector.Code) {
	if m.dims == 0 {
		m.dims = len(code.Numbers)
	}
	if len(code.Numbers) == m.dims {
		m.known[text] = code
		m.changed++
		delete(m.failures, text)
	}
}

// readVector reads a stored vector. Until format 2 it was 32-bit floats.
func readVector(data []byte, dims int) (vector.Code, bool) {
	if len(data) != 4*dims {
		return vector.DecodeCode(data, dims)
	}
	v := make([]float32, dims)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	v, ok := vector.Unit(v)
	return vector.Encode(v), ok
}

// missing are the texts of the catalog that lack a vector and may still get
// one, those of the tools before the phrases, and counts them. The caller
// holds Spaces.mu.
func (m *model) missing(s *snapshot.Snapshot) (todo []want) {
	most := len(s.Docs())
	for _, d := range s.Docs() {
		most += len(d.PhraseHashes)
	}
	seen := make(map[[32]byte]struct{}, most)
	lacks := func(text [32]byte, refused *int) bool {
		n := len(seen)
		if seen[text] = struct{}{}; len(seen) == n || m.has(text) {
			return false
		}
		if m.hopeless(text) {
			*refused++
			return false
		}
		return true
	}
	m.fill.refused, m.fill.mute = 0, 0
	for _, d := range s.Docs() {
		if text := d.Embedded[m.form]; lacks(text, &m.fill.refused) {
			todo = append(todo, want{text: text, doc: d})
		}
	}
	m.fill.wanted, m.fill.missing = len(seen), len(todo)
	if s.PhraseVectors() > 0 {
		for _, d := range s.Docs() {
			for i, text := range d.PhraseHashes {
				if lacks(text, &m.fill.mute) {
					todo = append(todo, want{text: text, doc: d, said: i + 1})
				}
			}
		}
	}
	m.fill.said, m.fill.silent = len(seen)-m.fill.wanted, len(todo)-m.fill.missing
	return todo
}

// stored returns the vectors of todo by place out of the store, absent where
// there is none; complete says that the space has had all of some catalog's.
// What cannot be read or is not sound is made again.
func (es *Spaces) stored(ctx context.Context, m *model, todo []want) (found []vector.Code, complete bool) {
	found = make([]vector.Code, len(todo))
	texts := make([][32]byte, len(todo))
	for i, w := range todo {
		texts[i] = w.text
	}
	infos, err := es.folder.Store.Spaces(ctx)
	dims := 0
	for _, info := range infos {
		if info.Key == m.space {
			complete, dims = info.Complete, info.Dims
		}
	}
	_, err2 := es.folder.Store.Vectors(ctx, m.space, texts, func(i int, data []byte) {
		if code, ok := readVector(data, dims); ok {
			found[i] = code
		}
	})
	if err := errors.Join(err, err2); err != nil && ctx.Err() == nil {
		m.log(es.folder.Log).Warn("stored vectors could not be read", "error", err)
	}
	return found, complete
}
