package serve

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
)

// memories are what the surface remembers of each session, until it ends.
type memories struct {
	mu sync.Mutex // guards of
	of map[*mcp.ServerSession]*surface.Session
}

// session gives the memory of a session at the protocol version when it is
// first asked for; nil where the protocol has no sessions.
func (m *memories) session(ss *mcp.ServerSession, protocol string) func() *surface.Session {
	if ss == nil || protocol >= gateway.StatelessEra {
		return nil
	}
	return func() *surface.Session {
		m.mu.Lock()
		defer m.mu.Unlock()
		kept := m.of[ss]
		if kept == nil {
			kept = &surface.Session{}
			if m.of == nil {
				m.of = map[*mcp.ServerSession]*surface.Session{}
			}
			m.of[ss] = kept
			go m.forget(ss)
		}
		return kept
	}
}

// forget drops what is kept of a session when it has ended.
func (m *memories) forget(ss *mcp.ServerSession) {
	_ = ss.Wait() // however it ended
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, ss)
}
