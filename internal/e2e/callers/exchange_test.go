package callers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/internal/logins/loginstest"
)

// whoami serves a tool that says in which session it is called, and with a
// token in whose place.
func whoami(x *loginstest.Issuer) http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "who", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "ask", Description: "Say who asks", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text := fmt.Sprintf("session %s, %s.", r.Session.ID(), behindOf(x, r.Extra.Header))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// behindOf says in whose place a request's token is.
func behindOf(x *loginstest.Issuer, h http.Header) (text string) {
	_, token, _ := strings.Cut(h.Get("Authorization"), " ")
	x.Set(func() { text = behind(x.For[token]) })
	return text
}

// behind names a caller's token without showing it: what is secret does not
// come back in replies.
func behind(token string) string { return fmt.Sprintf("for %x", sha256.Sum256([]byte(token))) }

// Who is called knows for whom: each caller has a session and a token of its
// own, in place of the one by which it came, which goes to nobody but the
// issuer. Who came without one is told so, and who may not is not let in.
func TestExchange(t *testing.T) {
	for name, how := range map[string]func(x *loginstest.Issuer){
		"bearer":                       func(*loginstest.Issuer) {},
		"bound to a key, with a nonce": func(x *loginstest.Issuer) { x.Bound, x.Nonce = true, "first" },
	} {
		t.Run(name, func(t *testing.T) {
			x := loginstest.New(t)
			how(x)
			e := exchanging(t, x)
			e.knows(t)
			e.refuses(t, x)
		})
	}
}

// An exchange is a world with an MCP server and a REST API behind an issuer, which
// are called with tokens in place of callers'.
type exchange struct {
	*world
	of  func(sub, jti string) string // a token of a caller's
	bot string                       // a static token
}

func exchanging(t *testing.T, x *loginstest.Issuer) exchange {
	t.Helper()
	k := newKey(t, "one")
	i := newIssuer(t, k.public())
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "%q", "session , "+behindOf(x, r.Header)+".")
	})
	tools := whoami(x)
	x.Set(func() {
		x.Behind = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/api/") {
				api(w, r)
				return
			}
			tools.ServeHTTP(w, r)
		})
	})
	bot := newToken()
	auth := fmt.Sprintf("{type: token_exchange, issuer: %q, client_id: tooldex, client_secret: s3cret-of-machine}", x.URL)
	w := begin(t, fmt.Sprintf(`
mcpServers:
  mine: {url: %q, auth: %s}
rest:
  billing: {base_url: %q, auth: %s, tools: {ask: {url: %q, description: "Say who asks"}}}
auth:
  oauth: {issuer: %q, teams_claim: groups}
  tokens: {bot: {hash: %q}}
  grants:
    - {teams: [finance], endpoints: [default], role: use}
    - {principals: ["token:bot"], endpoints: [default], role: use}
`, x.URL+"/mcp", auth, x.URL+"/api", auth, x.URL+"/api/invoices", i.URL, bot.hash))
	w.listed(2)
	of := func(sub, jti string) string {
		return k.sign(t, map[string]any{
			"iss": i.URL, "sub": sub, "jti": jti, "aud": "http://" + w.listen + "/mcp", "exp": 4102444800, "groups": []string{"/finance"},
		})
	}
	return exchange{w, of, bot.secret}
}

// ask runs a tool as somebody.
func (e exchange) ask(token, tool string) string {
	e.Helper()
	return e.as(token).call("/mcp", "execute_tool", map[string]any{"tool_name": tool, "arguments": map[string]any{}}).text()
}

// sessionIn is the session that an answer names.
func sessionIn(text string) string {
	_, text, _ = strings.Cut(text, "session ")
	text, _, _ = strings.Cut(text, ",")
	return text
}

// knows checks that who is called knows for whom.
func (e exchange) knows(t *testing.T) {
	ask, w := e.ask, e.world
	ada, adaLater, eve := e.of("ada", "1"), e.of("ada", "2"), e.of("eve", "1")
	w.until("the keys are fetched", func() bool { return w.as(ada).sees() == "billing/ask mine/ask" })
	seen := map[string]string{}
	for _, token := range []string{ada, eve, ada, adaLater} {
		got := ask(token, "mine/ask")
		if !strings.Contains(got, behind(token)) {
			t.Errorf("asked with %s: %s", token, got)
		}
		seen[sessionIn(got)] = token
		if got := ask(token, "billing/ask"); !strings.Contains(got, behind(token)) {
			t.Errorf("the API, asked with %s: %s", token, got)
		}
	}
	var all sync.WaitGroup // two tokens of one caller at once may give different rights
	for n := range 20 {
		all.Go(func() {
			token := []string{ada, adaLater}[n%2]
			if got := ask(token, "mine/ask"); !strings.Contains(got, behind(token)) {
				t.Errorf("asked at once with %s: %s", token, got)
			}
		})
	}
	all.Wait()
	if len(seen) != 2 {
		t.Errorf("%d sessions for two callers: %v", len(seen), seen)
	}
}

// refuses checks that who has no token, or may not have another, is told so.
func (e exchange) refuses(t *testing.T, x *loginstest.Issuer) {
	ask, w := e.ask, e.world
	for _, tool := range []string{"mine/ask", "billing/ask"} {
		if got := ask(e.bot, tool); !strings.Contains(got, upstream.ErrNoToken.Error()) || !strings.Contains(got, "auth.oauth") {
			t.Errorf("%s without a token of the issuer: %s", tool, got)
		}
	}
	x.Set(func() { x.Refuses = "access_denied" })
	for _, tool := range []string{"mine/ask", "billing/ask"} {
		mallory := e.of("mallory", "1")
		if got := ask(mallory, tool); !strings.Contains(got, "access_denied") || strings.Contains(got, mallory) || strings.Contains(got, "session ") {
			t.Errorf("%s, for a caller who may not: %s", tool, got)
		}
	}
	for _, st := range w.Servers.Status() {
		if want := map[string]int{"mine": 2}[st.Name]; st.Sessions != want {
			t.Errorf("%s: %d sessions, want %d", st.Name, st.Sessions, want)
		}
	}
}
