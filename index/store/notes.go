package store

import (
	"fmt"
	"sync"
)

// notes are what was lost or left undone, for people.
type notes struct {
	mu   sync.Mutex // guards the field below
	list []string
}

// Notes say what was lost and what is damaged, one sentence each, oldest first.
func (n *notes) Notes() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.list...)
}

func (n *notes) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, n := range n.list {
		if n == text {
			return
		}
	}
	n.list = append(n.list, text)
}
