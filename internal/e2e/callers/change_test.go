package callers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/admin"
	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/app/access"
)

// Grants, teams and tokens change while a gateway serves: what somebody may do
// is what they say by now, and sessions end that stand on what is gone.
func TestChanges(t *testing.T) {
	books, mail := owning(t, named("ledger", "invoice")), owning(t, named("inbox"))
	bot, ann := newToken(), newToken()
	lines := func(teams, grants string) string {
		return fmt.Sprintf(`
mcpServers:
  books: {url: %q, start: eager}
  mail: {url: %q, start: eager, visibility: team, teams: [post]}
auth:
  tokens:
    bot: {hash: %q, teams: [%s]}
    ann: {hash: %q}
  grants:
    - {anyone: true, endpoints: [default], scope: {include_servers: [mail]}, role: discover}
%s`, books.url, mail.url, bot.hash, teams, ann.hash, grants)
	}
	const all = `    - {principals: ["token:bot"], endpoints: ["*"], role: use}`
	w := begin(t, lines("post", all))
	w.listed(3)
	b, a := w.as(bot.secret), w.as(ann.secret)
	const whole = "books/invoice books/ledger mail/inbox"
	if got := b.sees(); got != whole {
		t.Fatalf("bot sees %s", got)
	}
	if got := a.sees(); got != "" {
		t.Fatalf("ann sees %s", got)
	}

	ofBot, ofAnn := b.initialize("/mcp"), a.initialize("/mcp")
	ended := ofBot.stream("/mcp")
	w.write(lines("", all)) // a team is removed between two calls
	w.until("the team is gone", func() bool { return b.sees() == "books/invoice books/ledger" })
	if got := ofBot.ask("/mcp", listRequest); got.status != http.StatusOK { // no grant names the team
		t.Errorf("a session that stands on no team: %s", got.text())
	}

	w.write(lines("", `    - {principals: ["token:bot"], endpoints: ["*"], role: discover}`))
	w.waits("the stream of the session ends", ended)
	run := func() answer {
		return b.call("/mcp", "execute_tool", map[string]any{"tool_name": "books/ledger", "arguments": map[string]any{}})
	}
	if got := run(); !strings.Contains(got.body, "not run") || books.runs["ledger"].Load() != 0 {
		t.Errorf("a tool that may not be run any more: %s", got.text())
	}
	w.until("the session of who has lost something is closed", func() bool { // beside the streams
		return ofBot.ask("/mcp", listRequest).status == http.StatusNotFound
	})
	if got := ofAnn.ask("/mcp", listRequest); got.status != http.StatusOK {
		t.Errorf("another's session: %s", got.text())
	}

	w.write(strings.ReplaceAll(lines("", all), "bot: ", "robot: "))
	w.until("the token of the file is gone by its name", func() bool { return b.sees() == "" })
	w.write(strings.Replace(lines("", all), "bot: {hash: \""+bot.hash+"\", teams: []}", "", 1))
	w.until("the token is gone", func() bool { return strings.HasPrefix(b.sees(), "401") })
}

// Who may see more than before is told to list the tools again.
func TestToldOfGrants(t *testing.T) {
	books, bot := owning(t, named("ledger", "invoice")), newToken()
	before := fmt.Sprintf(`
mcpServers: {books: {url: %q, start: eager}}
virtual_servers: {plain: {surface: direct}}
auth:
  tokens: {bot: {hash: %q}}
  grants:
    - {anyone: true, endpoints: [plain], scope: {name_patterns: ["^ledger"]}, role: use}
`, books.url, bot.hash)
	w := begin(t, before)
	w.listed(2)
	of := w.as(bot.secret).initialize("/servers/plain/mcp")
	if got := of.ask("/servers/plain/mcp", listRequest); !strings.Contains(got.body, "ledger") || strings.Contains(got.body, "invoice") {
		t.Fatalf("before: %s", got.text())
	}
	sent := of.stream("/servers/plain/mcp")
	w.write(before + `    - {principals: ["token:bot"], endpoints: [plain], role: use}`)
	for { // the list that a server's start has changed may be told late, too
		if got := next(w, "a list with the other tool is told", sent); !strings.Contains(got, "notifications/tools/list_changed") {
			t.Fatalf("told: %s", got)
		}
		if got := of.ask("/servers/plain/mcp", listRequest); strings.Contains(got.body, "invoice") {
			return
		}
	}
}

// A token that is revoked in the middle of a session is refused at once, and
// its session and streams end.
func TestRevokedInSession(t *testing.T) {
	books := owning(t, named("ledger"))
	w := begin(t, fmt.Sprintf(`
mcpServers: {books: {url: %q, start: eager}}
auth: {grants: [{anyone: true, endpoints: ["*"], role: use}]}
`, books.url))
	w.listed(1)
	file, err := access.TokenFile(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	gone, stays := newToken(), newToken()
	for name, x := range map[string]token{"gone": gone, "stays": stays} {
		if err := file.Add(name, auth.Token{Hash: x.hash}); err != nil {
			t.Fatal(err)
		}
	}
	revoked, kept := w.as(gone.secret).initialize("/mcp"), w.as(stays.secret).initialize("/mcp")
	ended := revoked.stream("/mcp")
	if err := file.Revoke("gone"); err != nil {
		t.Fatal(err)
	}
	if got := revoked.ask("/mcp", listRequest); got.status != http.StatusUnauthorized {
		t.Errorf("right after: %s", got.text())
	}
	w.waits("the stream ends", ended)
	// Another token of the same name is another's, who has no session.
	again := newToken()
	if err := file.Add("gone", auth.Token{Hash: again.hash}); err != nil {
		t.Fatal(err)
	}
	if got := (session{w.as(again.secret), revoked.id}).ask("/mcp", listRequest); got.status != http.StatusNotFound {
		t.Errorf("the session with a new token of the name: %s", got.text())
	}
	if got := kept.ask("/mcp", listRequest); got.status != http.StatusOK {
		t.Errorf("another's session: %s", got.text())
	}
}

// A session is its principal's: to others it does not exist, whatever they ask
// of it.
func TestStolenSession(t *testing.T) {
	books := owning(t, named("ledger"))
	ann, eve := newToken(), newToken()
	w := begin(t, fmt.Sprintf(`
mcpServers: {books: {url: %q, start: eager}}
auth:
  tokens: {ann: {hash: %q}, eve: {hash: %q}}
  grants: [{anyone: true, endpoints: ["*"], role: use}]
virtual_servers: {other: {}}
`, books.url, ann.hash, eve.hash))
	w.listed(1)
	mine := w.as(ann.secret).initialize("/mcp")
	theirs, none := session{w.as(eve.secret), mine.id}, session{w.as(eve.secret), strings.Repeat("A", len(mine.id))}
	for _, ask := range []func(session) answer{
		func(s session) answer { return s.ask("/mcp", listRequest) },
		func(s session) answer {
			return s.ask("/mcp", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"books/ledger"}}}`)
		},
		func(s session) answer {
			return s.ask("/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		},
		func(s session) answer {
			return s.ask("/mcp", `{"jsonrpc":"2.0","id":8,"method":"initialize","params":{}}`)
		},
		func(s session) answer { return s.ask("/mcp", `not JSON`) },
		func(s session) answer {
			return s.send(http.MethodGet, "/mcp", "", "Mcp-Session-Id", s.id, "Mcp-Protocol-Version", older)
		},
		func(s session) answer {
			return s.send(http.MethodDelete, "/mcp", "", "Mcp-Session-Id", s.id, "Mcp-Protocol-Version", older)
		},
		func(s session) answer { return s.ask("/servers/other/mcp", listRequest) },
	} {
		if got, want := ask(theirs), ask(none); got.text() != want.text() {
			t.Errorf("another's session: %s\nnone at all:       %s", got.text(), want.text())
		}
	}
	if n := books.runs["ledger"].Load(); n != 0 {
		t.Errorf("the tool ran %d times", n)
	}
	if got := theirs.ask("/mcp", listRequest); got.status != http.StatusNotFound {
		t.Errorf("another's session: %s", got.text())
	}
	if got := (session{w.as(""), mine.id}).ask("/mcp", listRequest); got.status != http.StatusUnauthorized {
		t.Errorf("without a token: %s", got.text())
	}
	if got := mine.ask("/mcp", listRequest); got.status != http.StatusOK {
		t.Errorf("its own: %s", got.text())
	}
	if got := mine.ask("/servers/other/mcp", listRequest); got.status != http.StatusNotFound {
		t.Errorf("at another endpoint: %s", got.text())
	}
}

// The API is for administrators: who has the key of the state folder, as its
// user, and principals of role admin. What they change, and who may not, is
// kept in the audit.
func TestAdministrators(t *testing.T) {
	books := owning(t, named("ledger"))
	ann, eve := newToken(), newToken()
	w := begin(t, fmt.Sprintf(`
mcpServers: {books: {url: %q, start: eager}}
audit: {enabled: true}
auth:
  tokens: {ann: {hash: %q}, eve: {hash: %q}}
  grants:
    - {principals: ["token:ann"], role: admin}
    - {anyone: true, endpoints: ["*"], role: use}
`, books.url, ann.hash, eve.hash))
	w.listed(1)
	key, err := admin.Key(w.state())
	if err != nil {
		t.Fatal(err)
	}
	make := func(c caller, name string) int {
		return c.send(http.MethodPost, "/servers", fmt.Sprintf(`{"name":%q}`, name)).status
	}
	for name, tt := range map[string]struct {
		as   caller
		want int
	}{
		"an admin": {w.as(ann.secret), http.StatusCreated}, "the user": {w.as(key), http.StatusCreated},
		"another": {w.as(eve.secret), http.StatusForbidden}, "nobody": {w.as(""), http.StatusUnauthorized}, "a guess": {w.as("guess"), http.StatusUnauthorized},
	} {
		if got := make(tt.as, strings.ReplaceAll(name, " ", "-")); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if got := w.as("").send(http.MethodGet, "/openapi.json", ""); got.status != http.StatusOK {
		t.Errorf("the document, which is open: %s", got.text())
	}
	var kept []string
	w.until("it is audited", func() bool {
		kept = nil
		for r, err := range audit.Records(t.Context(), app.AuditFolder(w.Config), audit.Filter{Events: []string{audit.Admin, audit.Denied, audit.AuthFailed}}, false) {
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, r.Kind+" "+r.Principal+" "+r.Endpoint)
		}
		return len(kept) == 5
	})
	slices.Sort(kept)
	want := []string{"admin " + auth.Local().Name + " the-user", "admin token:ann an-admin", "auth_failed  ", "auth_failed  ", "denied token:eve "}
	if !slices.Equal(kept, want) {
		t.Errorf("kept is %q, want %q", kept, want)
	}
}
