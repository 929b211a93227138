package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/audit"
)

// A ledger is a server whose tool has an effect: it notes an argument.
type ledger struct {
	url string

	mu    sync.Mutex // guards notes
	notes map[string]bool
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{notes: map[string]bool{}}
	s := mcp.NewServer(&mcp.Implementation{Name: "ledger", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "note", Description: "Write a note into the books", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments struct{ Text string }
			if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil {
				return nil, err
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.notes[arguments.Text] = true
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "noted " + arguments.Text}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	l.url = web.URL
	return l
}

// note has a text noted through a gateway: by execute_tool, or by the tool's
// own name. It reports whether that was answered.
func note(t *testing.T, addr, text string, own bool) bool {
	t.Helper()
	name, arguments := "execute_tool", object{"tool_name": "books/note", "arguments": object{"text": text}}
	if own {
		name, arguments = "books__note", object{"text": text}
	}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
		"name": name, "arguments": arguments, "_meta": object{mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientCapabilities: object{}},
	}})
	if err != nil {
		t.Error(err)
		return false
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		t.Error(err)
		return false
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name,
	} {
		r.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false // it was killed
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if err == nil && !strings.Contains(string(reply), "noted "+text) {
		t.Errorf("%s is answered %s", name, reply)
	}
	return err == nil
}

const writers = 8

// noteUntilKilled has clients write notes, each by itself, until so many are
// answered and the gateway is killed; it returns what was answered.
func noteUntilKilled(t *testing.T, addr, round string, until int, kill func()) []string {
	t.Helper()
	answered := make(chan string)
	var clients sync.WaitGroup
	for c := range writers {
		clients.Go(func() {
			for i := 0; ; i++ {
				text := fmt.Sprintf("%s-%d-%d", round, c, i)
				if !note(t, addr, text, i%2 == 1) {
					return
				}
				answered <- text
			}
		})
	}
	go func() {
		clients.Wait()
		close(answered)
	}()
	var all []string
	for text := range answered {
		if all = append(all, text); len(all) == until {
			go kill() // while the clients go on
		}
	}
	if len(all) < until {
		t.Fatalf("round %s: the clients ended at %d answers", round, len(all))
	}
	return all
}

// intents are the notes that the audit says were about to be written.
func intents(t *testing.T, s setup) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	lines := json.NewDecoder(strings.NewReader(output(t, tooldex(t), "audit", "--event", "intent", "--json", "--config", s.config)))
	for lines.More() {
		var r audit.Record
		if err := lines.Decode(&r); err != nil {
			t.Fatal(err)
		}
		var said struct{ Text string }
		if err := json.Unmarshal(r.Values, &said); err != nil || r.Tool != "books/note" {
			t.Fatalf("%+v: %v", r, err)
		}
		all[said.Text] = true
	}
	return all
}

// A gateway whose audit is required is killed while clients call: no tool has
// had an effect, and no call was answered, without its intent in the audit,
// which is sound although nobody closed it.
func TestKilledWithRequiredAudit(t *testing.T) {
	books := newLedger(t)
	s := configureWith(t, object{"books": object{"url": books.url, "start": "eager"}}, object{
		"audit":       object{"enabled": true, "required": true, "arguments": true},
		"meta_server": object{"default": object{"hide_underlying_tools": false}},
	})
	var answered []string
	rounds := []int{1, 40, 150}
	for i, until := range rounds {
		a, kill := process(t, s)
		if i == 0 {
			find(t, connect(t, &mcp.StreamableClientTransport{Endpoint: "http://" + a.addr + "/mcp"}, ""), "write a note into the books", "books/note")
		}
		answered = append(answered, noteUntilKilled(t, a.addr, fmt.Sprint(i), until, kill)...)
	}
	kept := intents(t, s)
	books.mu.Lock()
	defer books.mu.Unlock()
	for _, text := range answered {
		if !books.notes[text] {
			t.Errorf("%s is answered and not noted", text)
		}
	}
	for text := range books.notes {
		if !kept[text] {
			t.Errorf("%s is noted without an intent", text)
		}
	}
	if under := len(kept) - len(books.notes); under > writers*len(rounds) {
		t.Errorf("%d intents beside %d notes: more than were under way", len(kept), len(books.notes))
	}
	soundAfterKills(t, s, len(rounds))
}

// soundAfterKills asserts that all files of the audit are of killed processes,
// and nothing worse.
func soundAfterKills(t *testing.T, s setup, kills int) {
	t.Helper()
	states := map[audit.State]int{}
	var found []audit.Finding
	if err := json.Unmarshal([]byte(output(t, tooldex(t), "audit", "verify", "--json", "--config", s.config)), &found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		states[f.State]++
	}
	if states[audit.Killed] != kills || len(found) != kills {
		t.Errorf("verify says %+v", found)
	}
}
