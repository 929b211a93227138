package endpoint

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// A job is some of a call's texts and where their vectors go.
type job struct {
	texts    []string
	out      [][]float32 // as long as texts
	first    int         // index of texts[0] in the caller's list, for messages
	attempts int
	lane     lane
}

func (j job) part(from, to int) job {
	j.texts, j.out, j.first = j.texts[from:to], j.out[from:to], j.first+from
	return j
}

// A textError reports the one text that has no vector; others may have.
type textError struct {
	index int
	err   error
}

func (e *textError) Error() string { return fmt.Sprintf("text %d: %v", e.index, e.err) }
func (e *textError) Unwrap() error { return e.err }

// embedAll sends texts in batches, several at a time. A batch that fails
// altogether stops the rest; single texts that fail do not.
func (e *Endpoint) embedAll(ctx context.Context, texts []string, out [][]float32) error {
	all := job{texts: texts, out: out, attempts: e.opts.Attempts, lane: e.documents}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(e.opts.Parallel)
	var partial partialError
	for from := 0; from < len(texts) && gctx.Err() == nil; {
		to := e.batchEnd(texts, from)
		j := all.part(from, to)
		group.Go(func() error { return partial.keep(e.embed(gctx, j)) })
		from = to
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return partial.err(len(texts))
}

// batchEnd is where the batch that begins at from ends: by number, by bytes,
// at least one text.
func (e *Endpoint) batchEnd(texts []string, from int) int {
	to, size := from, 0
	for to < len(texts) && to-from < e.opts.Batch {
		size += len(texts[to])
		if to > from && size > e.opts.BatchBytes {
			break
		}
		to++
	}
	return to
}

// embed fills j.out. Texts that the server refuses are found by halving the
// batch. The error joins a *textError a text without vector, unless the whole
// server failed.
func (e *Endpoint) embed(ctx context.Context, j job) error {
	vs, bad, err := e.send(ctx, j, e.dims())
	if err == nil {
		return j.take(vs, bad)
	}
	if !e.textsAreToBlame(ctx, err) {
		return err
	}
	j.attempts = min(j.attempts, 2)
	if len(j.texts) == 1 {
		return e.embedShorter(ctx, j, err)
	}
	half := len(j.texts) / 2
	errA := e.embed(ctx, j.part(0, half))
	if errA != nil && !isPartial(errA) {
		return errA
	}
	errB := e.embed(ctx, j.part(half, len(j.texts)))
	if errB != nil && !isPartial(errB) {
		return errB
	}
	return errors.Join(errA, errB)
}

func (j job) take(vs [][]float32, bad []error) error {
	copy(j.out, vs)
	var errs []error
	for i, err := range bad {
		if err != nil {
			errs = append(errs, &textError{j.first + i, err})
		}
	}
	return errors.Join(errs...)
}

// textsAreToBlame decides whether other or shorter texts may pass. When the
// server's words leave it open, the probe text tells: a wrong setting refuses
// that too.
func (e *Endpoint) textsAreToBlame(ctx context.Context, err error) bool {
	switch classify(err) {
	case tooLong:
		return true
	case disputed, busy:
		if ctx.Err() != nil {
			return false
		}
		_, probeErr := e.probe(ctx)
		return probeErr == nil
	}
	return false
}

// shortest is the length in bytes below which a text is not cut further.
const shortest = 64

// embedShorter cuts the job's one text until the server takes it. The lengths
// tried are the same for every text and every history, so that a text always
// gets the same vector.
func (e *Endpoint) embedShorter(ctx context.Context, j job, cause error) error {
	text := j.texts[0]
	for size := e.opts.MaxText; size >= shortest; size = size * 3 / 4 {
		if size >= len(text) {
			continue
		}
		j.texts = []string{cut(text, size)}
		vs, bad, err := e.send(ctx, j, e.dims())
		if err == nil {
			return j.take(vs, bad)
		}
		if k := classify(err); k != tooLong && k != disputed && k != busy || ctx.Err() != nil {
			return err
		}
		cause = err
	}
	return &textError{j.first, cause}
}

// anyLength takes vectors of any length from the server.
const anyLength = 0

func (e *Endpoint) dims() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.identity.Dims
}

// send makes one request with j's texts and checks the reply. bad is nil, or
// as long as the texts with what is wrong with single vectors, which are then
// nil.
func (e *Endpoint) send(ctx context.Context, j job, dims int) (vs [][]float32, bad []error, err error) {
	err = e.request(ctx, j, func(ctx context.Context) error {
		var err error
		if vs, err = e.driver.Embed(ctx, j.texts); err != nil {
			return err
		}
		if len(vs) != len(j.texts) {
			return &ReplyError{fmt.Errorf("%d vectors for %d texts", len(vs), len(j.texts))}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	e.breaker.succeed()
	for i, v := range vs {
		if e.opts.Dimensions > 0 && len(v) > e.opts.Dimensions {
			v = v[:e.opts.Dimensions:e.opts.Dimensions] // as servers do that know the setting
			vs[i] = v
		}
		problem := checkVector(v)
		if problem == "" {
			if err := e.checkLength(len(v), dims); err != nil {
				return nil, nil, err
			}
			continue
		}
		if bad == nil {
			bad = make([]error, len(j.texts))
		}
		vs[i], bad[i] = nil, errors.New("server gave "+problem)
	}
	return vs, bad, nil
}

// checkLength refuses vectors of another length than the identity's: another
// model answers, so the identity is learned again.
func (e *Endpoint) checkLength(got, dims int) error {
	if want := e.opts.Dimensions; want > 0 && got != want {
		return fmt.Errorf("server gave a vector of %d dimensions, embedding.dimensions asks for %d; remove the setting or use a model that has as many", got, want)
	}
	if dims == anyLength || got == dims {
		return nil
	}
	e.distrust()
	return fmt.Errorf("server gave a vector of %d dimensions, the model had %d: another model answers under this name", got, dims)
}

func isPartial(err error) bool {
	var t *textError
	return errors.As(err, &t)
}
