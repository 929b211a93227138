package attach

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// maxLine bounds one message, in both directions: results are the larger.
	maxLine = 64 << 20
	// lastAnswers bounds the wait for answers when the client has said all.
	lastAnswers = 10 * time.Second
	// lastWrites bounds the wait for the client to read them.
	lastWrites = 2 * time.Second
	// replayTimeout bounds the handshake that is repeated.
	replayTimeout = 30 * time.Second
	listChanged   = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
)

// A Pipe carries an MCP client's session, a message a line, to whoever serves,
// and goes on with another when that one ends: the handshake is repeated,
// calls under way are answered with what happened, and what can be asked again
// is.
type Pipe struct {
	In  io.Reader
	Out io.Writer
	// Connect gives a connection to who serves now; each is closed.
	Connect func(ctx context.Context) (io.ReadWriteCloser, error)
	Logger  *slog.Logger

	writing sync.Mutex // guards Out: lines stay whole

	mu     sync.Mutex         // guards the fields below
	link   io.ReadWriteCloser // nil while there is none
	open   []request          // without an answer, in order
	opened hello
	again  chan struct{} // has a value when open requests wait for a link

	answered chan struct{} // has a value after open has shrunk
	reading  sync.WaitGroup
}

// hello are the messages with which the client began its session, nil before.
type hello struct{ initialize, initialized []byte }

// A request has no answer yet. The line is kept of those that may be asked
// again.
type request struct {
	id        string // as JSON
	method    string
	line      []byte
	stateless bool // the era without a handshake
	unsent    bool // it is on its way to who serves
}

// A message is what of one has to be known.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Request json.RawMessage `json:"requestId"`
		Meta    struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// Run carries the session over link, and over what Connect gives when that
// ends, until In or ctx does.
func (p *Pipe) Run(ctx context.Context, link io.ReadWriteCloser) error {
	p.again, p.answered = make(chan struct{}, 1), make(chan struct{}, 1)
	defer p.awaitReaders()
	defer p.drop()
	p.use(link, bufio.NewReaderSize(link, 64<<10), false)
	lines := make(chan []byte)
	ended := make(chan error, 1)
	stop := make(chan struct{})
	defer close(stop)
	go func() { ended <- readLines(p.In, lines, stop) }() // a read of In cannot be ended
	for {
		select {
		case line := <-lines:
			p.forward(ctx, line)
		case <-p.again:
			if err := p.connect(ctx); err != nil {
				p.refuseAll(err)
			}
		case err := <-ended:
			p.awaitAnswers(ctx)
			return err
		case <-ctx.Done():
			p.awaitAnswers(context.WithoutCancel(ctx))
			return nil
		}
	}
}

// readLines gives the lines of r until it ends.
func readLines(r io.Reader, lines chan<- []byte, stop <-chan struct{}) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		if len(line) > 0 {
			select {
			case lines <- line:
			case <-stop:
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read message: %w", err)
		}
	}
}

// readLine reads one line with its end; the last may have none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
	}
}

// tries bounds how often a message is sent that nobody takes.
const tries = 3

// forward sends a client's line on, to another who serves if need be: what did
// not go out whole cannot have been acted upon.
func (p *Pipe) forward(ctx context.Context, line []byte) {
	if line[len(line)-1] != '\n' {
		line = append(line, '\n')
	}
	p.note(line)
	err := errors.New("those who serve end at once")
	for range tries {
		if cerr := p.connect(ctx); cerr != nil {
			err = cerr
			break
		}
		link := p.linked()
		if link == nil {
			continue
		}
		if _, werr := link.Write(line); werr != nil {
			p.lost(link, werr)
			continue
		}
		p.sent(link)
		return
	}
	p.refuseAll(err)
}

// sent marks what was on its way to link as sent.
func (p *Pipe) sent(link io.Closer) {
	p.mu.Lock()
	for i := range p.open {
		p.open[i].unsent = false
	}
	ended := p.link != link
	p.mu.Unlock()
	if ended { // after it had taken the line
		p.settle()
	}
}

func (p *Pipe) linked() io.ReadWriteCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link
}

// messagesOf are the messages of a line: one, or those of a batch.
func messagesOf(line []byte) []message {
	var many []message
	if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] == '[' {
		if json.Unmarshal(trimmed, &many) != nil {
			return nil // the server answers it
		}
		return many
	}
	var one message
	if json.Unmarshal(line, &one) != nil {
		return nil
	}
	return []message{one}
}

// note keeps what a client's line means for the session.
func (p *Pipe) note(line []byte) {
	messages := messagesOf(line)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range messages {
		switch {
		case m.Method == "notifications/initialized":
			p.opened.initialized = line
		case m.Method == "notifications/cancelled":
			p.close(string(m.Params.Request)) // nobody waits for its answer
		case m.Method == "" || len(m.ID) == 0:
		default:
			if m.Method == "initialize" {
				p.opened = hello{initialize: line}
			}
			r := request{id: string(m.ID), method: m.Method, stateless: m.Params.Meta.Version != "", unsent: true}
			if m.Method != "tools/call" && len(messages) == 1 {
				r.line = line
			}
			p.open = append(p.open, r)
		}
	}
}

// close takes a request off those without an answer. The caller holds mu.
func (p *Pipe) close(id string) {
	p.open = slices.DeleteFunc(p.open, func(r request) bool { return r.id == id })
	wake(p.answered)
}

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// use carries the session over link, whose messages r reads. When it goes on
// there the client is told that what is served may differ.
func (p *Pipe) use(link io.ReadWriteCloser, r *bufio.Reader, goesOn bool) {
	p.mu.Lock()
	p.link = link
	p.mu.Unlock()
	p.reading.Go(func() {
		if goesOn {
			_ = p.write([]byte(listChanged)) // as the next line, when the client has gone
		}
		p.lost(link, p.deliver(r))
	})
}

// deliver hands the server's messages on until the link ends.
func (p *Pipe) deliver(r *bufio.Reader) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return err // half a line is none
		}
		p.mu.Lock()
		for _, id := range responseIDs(line) {
			p.close(id) // before it is written: nothing is answered twice
		}
		p.mu.Unlock()
		if err := p.write(line); err != nil {
			return err
		}
	}
}

func (p *Pipe) write(line []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := p.Out.Write(line)
	return err
}

// responseIDs are the ids of the requests that a server's line answers.
func responseIDs(line []byte) (ids []string) {
	// Results may be large, and servers write the id first.
	if rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`)); ok {
		dec := json.NewDecoder(bytes.NewReader(rest))
		var id json.RawMessage
		if dec.Decode(&id) == nil {
			after := bytes.TrimLeft(rest[dec.InputOffset():], " ")
			if bytes.HasPrefix(after, []byte(`,"result"`)) || bytes.HasPrefix(after, []byte(`,"error"`)) {
				return []string{string(id)}
			}
		}
	}
	for _, m := range messagesOf(line) {
		if m.Method == "" && len(m.ID) > 0 {
			ids = append(ids, string(m.ID))
		}
	}
	return ids
}

// lost gives up a link that has ended: calls that were under way are answered
// with that, and what can be asked again waits for another link.
func (p *Pipe) lost(link io.ReadWriteCloser, err error) {
	p.mu.Lock()
	if p.link != link {
		p.mu.Unlock()
		return // the session is over
	}
	p.link = nil
	p.mu.Unlock()
	if cerr := link.Close(); cerr != nil {
		p.Logger.Debug("link not closed", "error", cerr)
	}
	p.Logger.Info("the tooldex that served this session has ended", "error", err)
	p.settle()
}

// settle answers the calls that were under way on a link that has ended.
func (p *Pipe) settle() {
	p.mu.Lock()
	var over []request
	p.open = slices.DeleteFunc(p.open, func(r request) bool {
		if r.line == nil && !r.unsent {
			over = append(over, r)
			return true
		}
		return false
	})
	waiting := slices.ContainsFunc(p.open, func(r request) bool { return !r.unsent })
	p.mu.Unlock()
	p.refuse(over, "the tooldex that ran this call has ended before its answer; the tool may have run: check before calling it again")
	if waiting {
		wake(p.again)
	}
	wake(p.answered)
}

// refuse answers requests with a text: a call of a tool with a result, which
// models read, anything else with an error.
func (p *Pipe) refuse(requests []request, text string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		return // a text encodes
	}
	for _, r := range requests {
		answer := fmt.Sprintf(`"error":{"code":-32603,"message":%s}`, quoted)
		if r.method == "tools/call" {
			kind := ""
			if r.stateless {
				kind = `"resultType":"complete",`
			}
			answer = fmt.Sprintf(`"result":{%s"content":[{"type":"text","text":%s}],"isError":true}`, kind, quoted)
		}
		if err := p.write(fmt.Appendf(nil, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", r.id, answer)); err != nil {
			p.Logger.Debug("answer not written", "error", err)
		}
	}
}

// refuseAll answers all that waits with the reason why nobody serves.
func (p *Pipe) refuseAll(err error) {
	p.Logger.Error("nobody serves this session", "error", err)
	p.mu.Lock()
	waiting := p.open
	p.open = nil
	p.mu.Unlock()
	p.refuse(waiting, "nobody serves this session any more: "+err.Error())
	wake(p.answered)
}

// connect looks for who serves now and goes on there: the handshake is
// repeated and what has no answer is asked again.
func (p *Pipe) connect(ctx context.Context) error {
	if p.linked() != nil {
		return nil
	}
	link, err := p.Connect(ctx)
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(link, 64<<10)
	p.mu.Lock()
	opened, open := p.opened, slices.Clone(p.open)
	p.mu.Unlock()
	first := slices.ContainsFunc(open, func(r request) bool { return r.method == "initialize" })
	goesOn := opened.initialize != nil && !first
	if goesOn {
		if err := replay(link, r, opened); err != nil {
			return errors.Join(fmt.Errorf("repeat the handshake: %w", err), link.Close())
		}
	}
	p.Logger.Info("the session goes on with another tooldex")
	p.use(link, r, goesOn)
	for _, o := range open {
		if o.unsent {
			continue
		}
		if _, err := link.Write(o.line); err != nil {
			p.lost(link, err)
			break
		}
	}
	return nil
}

// replay repeats a handshake that the client has had the answer to.
func replay(link io.ReadWriteCloser, r *bufio.Reader, opened hello) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(opened.initialize, &m); err != nil {
		return err
	}
	m["id"] = json.RawMessage(`"tooldex-again"`)
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	timeout := time.AfterFunc(replayTimeout, func() { _ = link.Close() }) // reading then ends
	defer timeout.Stop()
	if _, err := link.Write(append(line, '\n')); err != nil {
		return err
	}
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		if !slices.Contains(responseIDs(line), `"tooldex-again"`) {
			continue // nothing else was asked
		}
		var answer struct{ Error *struct{ Message string } }
		if err := json.Unmarshal(line, &answer); err != nil {
			return err
		}
		if answer.Error != nil {
			return errors.New(answer.Error.Message)
		}
		break
	}
	_, err = link.Write(opened.initialized)
	return err
}

// awaitAnswers returns when all requests have their answers, when nobody is
// left to give them, or after a while. Streams that last for ever are not
// waited for.
func (p *Pipe) awaitAnswers(ctx context.Context) {
	timeout := time.NewTimer(lastAnswers)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		waiting := p.link != nil && slices.ContainsFunc(p.open, func(r request) bool { return r.method != "subscriptions/listen" })
		p.mu.Unlock()
		if !waiting {
			return
		}
		select {
		case <-p.answered:
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// awaitReaders waits for the last answers to be written. A write that blocks
// as the client does not read cannot be ended; the process ends beside it.
func (p *Pipe) awaitReaders() {
	ended := make(chan struct{})
	go func() {
		p.reading.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(lastWrites):
		p.Logger.Warn("answers lost: the client does not read them")
	}
}

// drop ends the link of a session that is over.
func (p *Pipe) drop() {
	p.mu.Lock()
	link := p.link
	p.link, p.open = nil, nil
	p.mu.Unlock()
	if link == nil {
		return
	}
	if err := link.Close(); err != nil {
		p.Logger.Debug("link not closed", "error", err)
	}
}
