package index

import "sync"

// watchers are told when other tools can be searched.
type watchers struct {
	mu sync.Mutex // guards of
	of map[*func()]bool
}

func (w *watchers) add(changed func()) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[*func()]bool{}
	}
	w.of[&changed] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.of, &changed)
	}
}

func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for changed := range w.of {
		(*changed)()
	}
}

// Watch has changed called whenever the catalog that searches see may have
// become another one, until stop. It must return at once and must not call
// stop.
func (ix *Index) Watch(changed func()) (stop func()) { return ix.builder.watchers.add(changed) }
