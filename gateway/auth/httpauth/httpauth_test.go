package httpauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/auth/oauth"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A desk is a guard with tokens of a bot and of an admin.
type desk struct {
	*Guard
	state      *State
	bot, admin string
	failures   []string // that the guard told
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{bot: auth.NewSecret(), admin: auth.NewSecret()}
	d.Guard = New(slog.New(slog.DiscardHandler), func(_ *auth.Principal, _, reason string) { d.failures = append(d.failures, reason) })
	labels := func(*index.Tool) view.Labels { return view.Labels{} }
	grants := []auth.Grant{
		{Principals: []string{"token:bot"}, Endpoints: []string{"default"}, Role: auth.Use},
		{Principals: []string{"token:admin"}, Role: auth.Admin},
	}
	d.state = &State{
		Base: "https://tools.example.com", Policy: auth.NewPolicy(grants, labels, auth.Owned{}),
		Tokens: auth.NewTokens(map[string]auth.Token{"bot": {Hash: auth.HashToken(d.bot)}, "admin": {Hash: auth.HashToken(d.admin)}}, nil),
	}
	d.Use(d.state)
	return d
}

// ask sends a request of these headers, and says who the endpoint was told it
// is.
func (d *desk) ask(r *http.Request, endpoint string) (*http.Response, string) {
	who := ""
	w := httptest.NewRecorder()
	d.Enter(w, r, endpoint, func(w http.ResponseWriter, r *http.Request) {
		who = "nobody"
		if p := auth.Of(r.Context()); p != nil {
			who = p.Name
			if info := sdkauth.TokenInfoFromContext(r.Context()); info.UserID != who || info.Extra[auth.InfoKey] != p {
				who = fmt.Sprintf("the SDK was told %+v", info)
			}
			if strings.Contains(fmt.Sprint(r.Header), d.bot) {
				who = "the token went on"
			}
		}
	})
	return w.Result(), who
}

func request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestWhoCalls(t *testing.T) {
	d := newDesk(t)
	d.state.OAuth, d.state.Issuer = oauth.New(oauth.Config{Issuer: "https://id.example.com"}, nil), "https://id.example.com"
	const metadata = `resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"`
	for _, tt := range []struct {
		name    string
		headers []string
		who     string
		status  int
	}{
		{"good", []string{"Authorization", "Bearer " + d.bot}, "token:bot", 200},
		{"any case", []string{"authorization", "bEARER " + d.bot}, "token:bot", 200},
		{"none", nil, "", 401},
		{"another scheme", []string{"Authorization", "Basic " + d.bot}, "", 401},
		{"two", []string{"Authorization", "Bearer " + d.bot, "Authorization", "Bearer " + d.admin}, "", 401},
		{"two in one", []string{"Authorization", "Bearer " + d.bot + " x"}, "", 401},
		{"empty", []string{"Authorization", "Bearer "}, "", 401},
		{"unknown", []string{"Authorization", "Bearer " + auth.NewSecret()}, "", 401},
		{"cut", []string{"Authorization", "Bearer " + d.bot[:20]}, "", 401},
		{"opaque", []string{"Authorization", "Bearer abc"}, "", 401},
		{"huge", []string{"Authorization", "Bearer " + strings.Repeat("x", 20<<10)}, "", 401},
		{"a certificate by header", []string{"X-Client-Cert", "CN=root", "X-Forwarded-Client-Cert", "x"}, "", 401},
		{"as the SDK's word", []string{"Authorization", "Bearer verified"}, "", 401},
	} {
		res, who := d.ask(request(tt.headers...), "default")
		challenge := res.Header.Get("WWW-Authenticate")
		if who != tt.who || res.StatusCode != tt.status || (tt.status == 401) != strings.Contains(challenge, metadata) ||
			(tt.status == 401 && len(bearerOf(tt.headers)) > 0) != strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("%s: %d as %q, challenge %q", tt.name, res.StatusCode, who, challenge)
		}
	}
	r := request()
	r.URL.RawQuery = "access_token=" + d.bot + "&token=" + d.bot
	if res, who := d.ask(r, "default"); who != "" || res.StatusCode != 401 {
		t.Errorf("a token of the query was taken: %q", who)
	}
	for _, f := range d.failures {
		if strings.Contains(f, d.bot[:16]) {
			t.Errorf("a failure tells of a token: %s", f)
		}
	}
	if len(d.failures) < 10 {
		t.Errorf("%d failures were told", len(d.failures))
	}
}

func TestCertificates(t *testing.T) {
	d := newDesk(t)
	spiffe, err := url.Parse("spiffe://example.com/agent")
	if err != nil {
		t.Fatal(err)
	}
	for who, cert := range map[string]*x509.Certificate{
		"cert:spiffe://example.com/agent": {URIs: []*url.URL{spiffe}, DNSNames: []string{"host"}},
		"cert:host":                       {DNSNames: []string{"host", "other"}}, "cert:ada@example.com": {EmailAddresses: []string{"ada@example.com"}}, "": {},
	} {
		r := request()
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{cert}}}
		if _, got := d.ask(r, "default"); got != who {
			t.Errorf("got %q, want %q", got, who)
		}
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}} // that nobody checked
		if _, got := d.ask(r, "default"); got != "" {
			t.Errorf("a certificate that nobody checked made %q", got)
		}
	}
	r := request("Authorization", "Bearer x")
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{DNSNames: []string{"host"}}}}}
	if res, got := d.ask(r, "default"); got != "" || res.StatusCode != 401 {
		t.Errorf("a wrong token beside a certificate made %q", got)
	}
}

func TestFailuresAreLimited(t *testing.T) {
	d := newDesk(t)
	from := func(addr, token string) *http.Request {
		r := request("Authorization", "Bearer "+token, "X-Forwarded-For", "198.51.100.1, 203.0.113.7")
		r.RemoteAddr = addr
		return r
	}
	statuses := map[int]int{}
	for range 60 {
		res, _ := d.ask(from("192.0.2.1:1000", auth.NewSecret()), "default")
		statuses[res.StatusCode]++
		if res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
			t.Fatal("it does not say when to try again")
		}
	}
	if statuses[401] < addressBurst-1 || statuses[401] > addressBurst+1 || statuses[429] != 60-statuses[401] {
		t.Errorf("60 guesses from one address: %v", statuses)
	}
	if _, who := d.ask(from("192.0.2.1:1001", d.bot), "default"); who != "token:bot" {
		t.Error("who guesses from an address locks out who does not")
	}
	if res, _ := d.ask(from("192.0.2.2:1000", auth.NewSecret()), "default"); res.StatusCode != 401 {
		t.Errorf("another address: %d", res.StatusCode)
	}
	statuses = map[int]int{}
	for i := range 20 { // one token from many places
		res, _ := d.ask(from(fmt.Sprintf("192.0.3.%d:1", i), d.admin[:len(d.admin)-1]), "default")
		statuses[res.StatusCode]++
	}
	if statuses[401] != prefixBurst {
		t.Errorf("20 guesses of one token: %v", statuses)
	}
	d.state.BehindProxy = true
	for _, proxied := range []string{"192.0.2.1:1", "192.0.9.9:1"} {
		if got := addressOf(from(proxied, ""), true); got != "203.0.113.7" {
			t.Errorf("behind a proxy it is %s who asks", got)
		}
	}
	if a, b := addressOf(from("[2001:db8::1]:1", ""), false), addressOf(from("[2001:db8::ffff:2]:1", ""), false); a != b {
		t.Errorf("%s and %s are told apart", a, b)
	}
}

func TestAdminArea(t *testing.T) {
	d := newDesk(t)
	for token, want := range map[string]int{d.admin: 200, d.bot: 403, "": 401} {
		r := request()
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if res, _ := d.ask(r, AdminArea); res.StatusCode != want {
			t.Errorf("%q: %d, want %d", token[:min(len(token), 8)], res.StatusCode, want)
		}
	}
	d.Use(nil)
	if res, who := d.ask(request(), AdminArea); res.StatusCode != 200 || who != "nobody" || d.Enabled() {
		t.Errorf("without auth: %d %q", res.StatusCode, who)
	}
}

// A request that is under way ends when its caller may no longer make it.
func TestEnd(t *testing.T) {
	d := newDesk(t)
	entered, ended := make(chan struct{}), make(chan error, 1)
	go d.Enter(httptest.NewRecorder(), request("Authorization", "Bearer "+d.bot), "default", func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		ended <- r.Context().Err()
	})
	<-entered
	d.End(func(who *auth.Principal, endpoint string) bool {
		return who.Name != "token:bot" || endpoint != "default"
	})
	select {
	case <-ended:
		t.Fatal("another's request has ended")
	default:
	}
	d.End(func(who *auth.Principal, _ string) bool { return who.Name == "token:bot" })
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
}

func TestStepUp(t *testing.T) {
	d := newDesk(t)
	for _, tt := range []struct {
		most auth.Role
		name string
		want bool
	}{{auth.Discover, "token:bot", true}, {auth.None, "token:bot", true}, {auth.Use, "token:bot", false}, {auth.Discover, "token:other", false}} {
		w := httptest.NewRecorder()
		r := request()
		got := d.StepUp(w, r.WithContext(auth.With(r.Context(), &auth.Principal{Name: tt.name, Most: tt.most})), "default")
		challenge := w.Header().Get("WWW-Authenticate")
		if got != tt.want || got && (w.Code != 403 || !strings.Contains(challenge, `error="insufficient_scope", scope="tooldex:use"`)) {
			t.Errorf("%+v: %t, %d %q", tt, got, w.Code, challenge)
		}
	}
}

func TestMetadata(t *testing.T) {
	d := newDesk(t)
	w := httptest.NewRecorder()
	if d.Metadata(w, request(), "default"); w.Code != 404 {
		t.Errorf("without an issuer: %d", w.Code)
	}
	d.state.OAuth, d.state.Issuer, d.state.Scopes = oauth.New(oauth.Config{}, nil), "https://id.example.com", []string{"tooldex:use"}
	w = httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	d.Metadata(w, r, "finance")
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got["resource"] != "https://tools.example.com/servers/finance/mcp" || fmt.Sprint(got["authorization_servers"]) != "[https://id.example.com]" ||
		fmt.Sprint(got["scopes_supported"]) != "[tooldex:use]" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%v", got)
	}
}

// bearerOf are the Authorization headers among headers.
func bearerOf(headers []string) (out []string) {
	for i := 0; i < len(headers); i += 2 {
		if strings.EqualFold(headers[i], "Authorization") {
			out = append(out, headers[i+1])
		}
	}
	return out
}
