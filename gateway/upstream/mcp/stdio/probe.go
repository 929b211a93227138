package stdio

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// guessID is the id of an initialize that is sent while server/discover may
// still be answered. The session that asks may be given up and another begin
// on the same process, with ids of its own from 1 on.
var guessID = func() jsonrpc.ID {
	id, err := jsonrpc.MakeID(float64(900000001))
	if err != nil {
		panic("upstream: a number that is no id: " + err.Error())
	}
	return id
}()

// A probe finds out which era a process speaks. Older servers may simply
// ignore server/discover, slow ones answer it late, and modern ones refuse
// initialize once they have seen it. So once the process has spoken and still
// not answered for a while, the SDK is told that it does not know the method,
// which makes it send initialize; an answer that comes later wins.
type probe struct {
	patience time.Duration         // 0 waits for the answer alone
	give     func(jsonrpc.Message) // hands the SDK an answer that is not the server's

	mu     sync.Mutex // guards the fields below
	spoke  bool       // the process has written something
	ids    probeIDs
	answer *jsonrpc.Response // to server/discover, when it came late
	known  bool              // server/discover was refused by the server itself
	fatal  error             // why initialize must not be tried
}

// probeIDs are those of the SDK's requests, not valid while there is none.
type probeIDs struct {
	asked jsonrpc.ID // server/discover, unanswered
	given jsonrpc.ID // server/discover that we answered ourselves
	guess jsonrpc.ID // initialize sent meanwhile, unanswered
}

// outgoing returns what to write in place of a request of the SDK, or the
// answer to it, which is known already.
func (p *probe) outgoing(r *jsonrpc.Request) (out *jsonrpc.Request, reply *jsonrpc.Response, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.Method == "server/discover" && p.answer != nil:
		return nil, &jsonrpc.Response{ID: r.ID, Result: p.answer.Result}, nil
	case r.Method == "server/discover":
		p.ids.asked = r.ID
		p.count()
	case r.Method == "initialize" && p.fatal != nil:
		return nil, nil, p.fatal
	case r.Method == "initialize" && p.ids.given.IsValid():
		p.ids.guess = r.ID
		guess := *r
		guess.ID = guessID
		return &guess, nil, nil
	}
	return r, nil, nil
}

// heard notes that the process has written something.
func (p *probe) heard() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoke = true
	p.count()
}

// count starts the clock once there is a question and a sign of life.
func (p *probe) count() {
	id := p.ids.asked
	if !p.spoke || !id.IsValid() || p.patience <= 0 {
		return
	}
	time.AfterFunc(p.patience, func() {
		p.mu.Lock()
		late := p.ids.asked == id
		if late {
			p.ids.asked, p.ids.given = jsonrpc.ID{}, id
		}
		p.mu.Unlock()
		if late {
			p.give(wire.NotSupported(id))
		}
	})
}

// incoming returns what the SDK shall see of an answer, nil for nothing.
func (p *probe) incoming(r *jsonrpc.Response) jsonrpc.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ids := &p.ids; {
	case !r.ID.IsValid():
		return r
	case r.ID == ids.asked:
		ids.asked = jsonrpc.ID{}
		p.known, p.fatal = r.Error != nil, wire.NoCommonVersion(r)
	case r.ID == ids.given:
		ids.given = jsonrpc.ID{}
		if r.Error != nil {
			return nil
		}
		p.answer = r
		if !ids.guess.IsValid() {
			return nil
		}
		r = wire.ErrorResponse(ids.guess, "server/discover was answered after all")
		ids.guess = jsonrpc.ID{}
	case r.ID == guessID:
		if !ids.guess.IsValid() {
			return nil
		}
		r.ID = ids.guess
		ids.guess = jsonrpc.ID{}
	}
	return r
}

// late reports whether server/discover was answered after we had given up on
// it, as a server does that is slow to start.
func (p *probe) late() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answer != nil
}

// silent reports whether server/discover is unanswered and nothing else was
// tried.
func (p *probe) silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids.asked.IsValid()
}

// classify adds to the error of an attempt which era to try next.
func (p *probe) classify(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.fatal != nil:
		return p.fatal
	case !p.known && wire.RefusesHandshake(err):
		return &wire.OtherEraError{Err: err, Version: wire.Stateless}
	}
	return err
}
