package app

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/config"
)

// A Status is what is configured, what is stored, and who serves it.
type Status struct {
	Version    string            `json:"version"`
	Config     string            `json:"config"`
	Configured []string          `json:"configured"`
	Disabled   []config.Disabled `json:"disabled"`
	Unbuilt    []string          `json:"unbuilt,omitempty"`
	Embedding  string            `json:"embedding"`
	WordsOnly  string            `json:"words_only,omitempty"` // why there is no embedding
	TurnedOff  map[string]string `json:"turned_off,omitempty"` // meta-tools, with the setting that says so
	Listen     string            `json:"listen"`
	Serving    *Ready            `json:"serving"`           // what answers on Listen; nil when nothing does
	Process    *attach.About     `json:"process,omitempty"` // who serves this configuration; nil when nobody does
	Others     []attach.About    `json:"others,omitempty"`  // who serve other configurations, or are of other versions
	Live       *Live             `json:"live,omitempty"`    // of Process
	Servers    []upstream.Status `json:"servers,omitempty"` // as that process has them
	Index      index.Status      `json:"index"`
	Phrases    Phrased           `json:"phrases"`
}

// Ready is what a serving tooldex says on /readyz.
type Ready struct {
	Ready   bool           `json:"ready"`
	Tools   int            `json:"tools"`
	Problem string         `json:"problem,omitempty"`
	Servers map[string]int `json:"servers,omitempty"` // how many, by state
}

// Status describes the engine. One that serves nobody asks who serves on the
// configured address.
func (e *Engine) Status(ctx context.Context, version string) Status {
	cfg := e.live.config()
	st := Status{
		Version: version, Config: cfg.Path, Configured: cfg.Names(),
		Disabled: append([]config.Disabled{}, cfg.Disabled...), Unbuilt: cfg.Unbuilt,
		Index: e.Index.Status(), Phrases: phrased(e.Index), Embedding: embedding(e.Config).Provider, Listen: e.Config.Listen,
		WordsOnly: WordsOnly(e.Config), TurnedOff: TurnedOff(e.Config),
	}
	if e.sharing.server == nil { // nobody has attached to this process
		st.Serving, st.Others = Serving(ctx, cfg.Listen), Others(ctx, cfg, version)
		return st
	}
	about, state := e.sharing.about(), e.live.status()
	st.Process, st.Live, st.Servers = &about, &state, e.Servers.Status()
	return st
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
