package surface

import "sync"

// maxRemembered bounds what one session makes a surface remember.
const maxRemembered = 1000

// A Session is what a surface remembers of one client's session. Its zero
// value is ready to use.
type Session struct {
	mu   sync.Mutex // guards said
	said map[string]bool
}

// Remember keeps a word for the rest of the session; it is false when there
// are too many.
func (s *Session) Remember(word string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil {
		s.said = map[string]bool{}
	}
	if len(s.said) >= maxRemembered && !s.said[word] {
		return false
	}
	s.said[word] = true
	return true
}

// Remembers says whether the word was kept.
func (s *Session) Remembers(word string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said[word]
}
