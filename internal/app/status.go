package app

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app/access"
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/config"
)

// A Status is what is configured, what is stored, and who serves it.
type Status struct {
	Version    string            `json:"version"`
	Config     string            `json:"config"`
	Configured []string          `json:"configured"`
	Disabled   []config.Disabled `json:"disabled"`
	Embedding  string            `json:"embedding"`
	WordsOnly  string            `json:"words_only,omitempty"` // why there is no embedding
	TurnedOff  map[string]string `json:"turned_off,omitempty"` // meta-tools, with the setting that says so
	Listen     string            `json:"listen"`
	URL        string            `json:"url,omitempty"`     // scheme and host of its clients; "" when that is http at Listen
	Serving    *Ready            `json:"serving"`           // what answers on Listen; nil when nothing does
	Process    *attach.About     `json:"process,omitempty"` // who serves this configuration; nil when nobody does
	Others     []attach.About    `json:"others,omitempty"`  // who serve other configurations, or are of other versions
	Silent     []Silent          `json:"silent,omitempty"`  // who hold sockets in the state folder and do not answer
	Live       *Live             `json:"live,omitempty"`    // of Process
	Servers    []upstream.Status `json:"servers,omitempty"` // as that process has them
	Virtual    []EndpointStatus  `json:"virtual_servers"`
	Index      Stored            `json:"index"`
	Phrases    Phrased           `json:"phrases"`
	Auto       *Auto             `json:"auto_phrases,omitempty"` // nil unless a model writes some by itself
	Audit      *Audited          `json:"audit,omitempty"`        // nil unless it is kept
	Otel       *Traced           `json:"otel,omitempty"`         // nil unless a collector is told
}

// Stored is the index with what the configuration knows of it.
type Stored struct {
	index.Status
	Servers []StoredServer `json:"servers"`
}

// A StoredServer is one server's part of the index.
type StoredServer struct {
	index.ServerStatus
	Stale bool `json:"stale"` // it should have been listed since
}

// storedStatus says of each server's listing whether it is older than the
// configuration lets it become; a new one is given the time that it may take.
func storedStatus(st index.Status, cfg *config.Config, now time.Time) Stored {
	holds := map[string]time.Duration{}
	for _, s := range cfg.Servers {
		holds[s.Spec.Name] = s.Spec.ListedFor() + relistTimeout
	}
	out := Stored{Status: st, Servers: []StoredServer{}}
	for _, s := range st.Servers {
		out.Servers = append(out.Servers, StoredServer{ServerStatus: s, Stale: now.Sub(s.Listed) > holds[s.Name]})
	}
	return out
}

// Ready is what a serving tooldex says on /readyz.
type Ready struct {
	Ready   bool           `json:"ready"`
	Tools   int            `json:"tools"`
	Problem string         `json:"problem,omitempty"`
	Servers map[string]int `json:"servers,omitempty"` // how many, by state
}

// A Silent is a process that holds a socket and does not answer.
type Silent struct {
	attach.SilentError
	Here bool `json:"here"` // it is the socket of this version and configuration
}

// Status describes the engine. Of one that serves nobody, Beside says who does.
func (e *Engine) Status(version string) Status {
	cfg := e.live.config()
	st := Status{
		Version: version, Config: cfg.Path, Configured: cfg.Names(),
		Disabled: append([]config.Disabled{}, cfg.Disabled...),
		Virtual:  e.Endpoints(), Index: storedStatus(e.Index.Status(), cfg, time.Now()), Phrases: phrased(e.Index), Embedding: embedding(e.Config).Provider, Listen: e.Config.Listen, URL: reached(e.Config),
		WordsOnly: WordsOnly(e.Config), TurnedOff: TurnedOff(cfg), Auto: autoStatus(e.Config), Audit: auditStatus(e), Otel: tracedStatus(e),
	}
	if e.sharing.server == nil { // nobody has attached to this process
		return st
	}
	about, state := e.sharing.about(), e.live.status()
	st.Process, st.Live, st.Servers = &about, &state, e.Servers.Status()
	return st
}

// reached is how clients reach a configuration's endpoints, where that is not
// plain HTTP at the address it listens on.
func reached(cfg *config.Config) string {
	if cfg.PublicURL == "" && cfg.TLS.Cert == "" {
		return ""
	}
	return access.Base(cfg)
}

// Serving asks whether a tooldex answers on addr; nil if none does.
func Serving(ctx context.Context, addr string) *Ready {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		return nil
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var r Ready
	if json.NewDecoder(res.Body).Decode(&r) != nil {
		return nil // another program
	}
	return &r
}
