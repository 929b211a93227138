package endpoint

import (
	"fmt"
	"sync"
)

// A partialError gathers the texts without vector of parallel batches.
type partialError struct {
	mu    sync.Mutex // guards the fields below
	count int
	first error
}

// keep takes err in if it is about single texts, and returns it otherwise.
func (p *partialError) keep(err error) error {
	if err == nil || !isPartial(err) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count += leaves(err)
	if p.first == nil {
		p.first = err
	}
	return nil
}

func leaves(err error) int {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return 1
	}
	n := 0
	for _, e := range joined.Unwrap() {
		n += leaves(e)
	}
	return n
}

// firstLeaf is the first of joined errors, which would otherwise print a
// line each.
func firstLeaf(err error) error {
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return err
		}
		err = joined.Unwrap()[0]
	}
}

func (p *partialError) err(texts int) error {
	if p.first == nil {
		return nil
	}
	return fmt.Errorf("%d of %d texts have no vector: %w", p.count, texts, firstLeaf(p.first))
}
