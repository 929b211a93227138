//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/internal/enrich"
)

// said are the phrases of a source by tool, as the command lists them.
func (s setup) said(t *testing.T, source string) map[string][]string {
	t.Helper()
	var lines []struct{ Tool, Text string }
	if err := json.Unmarshal([]byte(output(t, tooldex(t), "phrases", "list", "--source", source, "--json", "--config", s.config)), &lines); err != nil {
		t.Fatal(err)
	}
	byTool := map[string][]string{}
	for _, l := range lines {
		byTool[l.Tool] = append(byTool[l.Tool], l.Text)
	}
	return byTool
}

// listedSample is a sample server whose tools are in the catalog.
func listedSample(t *testing.T) setup {
	t.Helper()
	s := sampleSetup(t)
	output(t, tooldex(t), "reindex", "--config", s.config)
	return s
}

// A patient chat model says six phrases of each tool, and at the request
// numbered stuck nothing at all.
type patient struct {
	asked atomic.Int64
	stuck atomic.Int64
	waits chan struct{} // closed when somebody waits for it
}

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Messages []struct{ Content string }
	}
	var tool struct{ Name string }
	if json.NewDecoder(r.Body).Decode(&question) != nil || json.Unmarshal([]byte(question.Messages[1].Content), &tool) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if p.asked.Add(1) == p.stuck.Load() {
		close(p.waits)
		<-r.Context().Done()
		return
	}
	word, _, _ := strings.Cut(tool.Name, "_")
	answer, _ := json.Marshal(object{"can": "do what " + word + " does for me", "ask": "could somebody " + word + " it today",
		"ask2": "zyzzyva " + word, "goal": "get " + word + " work done", "words": word + " sums", "local": "bitte " + word + " jetzt"})
	_ = json.NewEncoder(w).Encode(object{"message": object{"content": string(answer)}}) // whoever asked may be killed
}

// What a killed enrich has stored is whole and stays, and the next one goes on
// with the rest.
func TestEnrichKilled(t *testing.T) {
	model := &patient{waits: make(chan struct{})}
	model.stuck.Store(5)
	web := httptest.NewServer(model)
	defer web.Close()
	s := listedSample(t)
	s.set(t, "phrases", object{"pack": "off", "model": object{"provider": "ollama", "model": "patient", "url": web.URL}})
	cmd := exec.Command(tooldex(t), "enrich", "--config", s.config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-model.waits:
	case <-time.After(time.Minute):
		t.Fatal("the model is not asked")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	before := s.said(t, "model")
	for tool, texts := range before {
		if len(texts) != 6 {
			t.Errorf("%s has %q", tool, texts)
		}
	}
	if len(before) != 4 {
		t.Errorf("%d tools have phrases after 4 answers: %v", len(before), before)
	}
	model.asked.Store(100)
	output(t, tooldex(t), "enrich", "--config", s.config)
	after := s.said(t, "model")
	if asked := int(model.asked.Load()) - 100; asked != len(after)-len(before) || len(after) < 10 {
		t.Errorf("%d tools have phrases, the model was asked for %d more", len(after), asked)
	}
	for tool, texts := range before {
		if fmt.Sprint(after[tool]) != fmt.Sprint(texts) {
			t.Errorf("%s had %q and has %q", tool, texts, after[tool])
		}
	}
	output(t, tooldex(t), "index", "check", "--config", s.config)
}

// An import that is killed has taken all of its file or nothing, all if it has
// said so, and is taken whole by the next one.
func TestImportKilled(t *testing.T) {
	s := listedSample(t)
	var file strings.Builder
	tools := 0
	for line := range strings.Lines(output(t, tooldex(t), "phrases", "export", "--missing", "--config", s.config)) {
		var tool struct{ Tool string }
		if json.Unmarshal([]byte(line), &tool) != nil || tool.Tool == "" {
			t.Fatalf("exported %s", line)
		}
		for i := range 12 {
			fmt.Fprintf(&file, "%s\tsay it the way number %d\n", tool.Tool, i)
		}
		tools++
	}
	path := filepath.Join(t.TempDir(), "all.tsv")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	output(t, tooldex(t), "phrases", "import", path, "--config", s.config)
	whole := time.Since(began)
	for range 8 {
		output(t, tooldex(t), "phrases", "forget", "--all", "--config", s.config)
		cmd := exec.Command(tooldex(t), "phrases", "import", path, "--config", s.config)
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(whole), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it was killed
		kill.Stop()
		n := 0
		for _, texts := range s.said(t, "import") {
			n += len(texts)
		}
		if n != 0 && n != 12*tools || n == 0 && out.Len() > 0 {
			t.Errorf("killed, and %d of %d phrases are there; it has said %q", n, 12*tools, out.String())
		}
	}
	output(t, tooldex(t), "phrases", "import", path, "--config", s.config)
	if n := len(s.said(t, "import")); n != tools {
		t.Errorf("%d of %d tools have phrases", n, tools)
	}
}

// What is imported counts when the live catalog is measured.
func TestImportMeasured(t *testing.T) {
	s := listedSample(t)
	s.set(t, "phrases", object{"pack": "off"})
	var tool struct{ Tool string }
	line, _, _ := strings.Cut(output(t, tooldex(t), "phrases", "export", "--missing", "--config", s.config), "\n")
	if err := json.Unmarshal([]byte(line), &tool); err != nil {
		t.Fatalf("exported %s: %v", line, err)
	}
	server, name, _ := strings.Cut(tool.Tool, "/")
	set := t.TempDir()
	for name, text := range map[string]string{
		"tools.jsonl":   fmt.Sprintf("{\"id\":%q,\"server\":%q,\"name\":%q}\n", tool.Tool, server, name),
		"queries.jsonl": `{"id":"1","text":"zyzzyva quux"}` + "\n",
		"qrels.tsv":     "1\t" + tool.Tool + "\t1\n",
		"all.tsv":       tool.Tool + "\tquux the zyzzyva\n",
	} {
		if err := os.WriteFile(filepath.Join(set, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	measured := func() (hit float64, phrases int) {
		var r struct {
			Sets []struct {
				Phrases struct{ Phrases int }
				Metrics map[string]float64
			}
		}
		out := output(t, tooldex(t), "eval", "run", set, "--catalog", "--mode", "keyword", "--embedder", "none", "--json", "--config", s.config)
		if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Sets) != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		return r.Sets[0].Metrics["hit@1"], r.Sets[0].Phrases.Phrases
	}
	if hit, n := measured(); hit != 0 || n != 0 {
		t.Errorf("without phrases: hit@1 %v with %d phrases", hit, n)
	}
	output(t, tooldex(t), "phrases", "import", filepath.Join(set, "all.tsv"), "--config", s.config)
	if hit, n := measured(); hit != 1 || n != 1 {
		t.Errorf("imported: hit@1 %v with %d phrases", hit, n)
	}
}

// TestRealModelEnrich has a real chat model write phrases that knows no
// language: every tool is asked for, and what is stored of its answers, if
// anything is, obeys the rules. llama-server fails itself at some of them.
func TestRealModelEnrich(t *testing.T) {
	for name, start := range map[string]func(*testing.T) object{embed.Ollama: ollamaChat, embed.OpenAI: llamaChat} {
		t.Run(name, func(t *testing.T) {
			s := listedSample(t)
			s.set(t, "phrases", object{"pack": "off", "model": start(t)})
			cmd := exec.Command(tooldex(t), "enrich", "--max-tools", "3", "--json", "--config", s.config)
			out, err := cmd.Output()
			var r enrich.Result
			if json.Unmarshal(out, &r) != nil {
				t.Fatalf("%s, %v", out, err)
			}
			t.Logf("%+v", r)
			if r.Tools != 3 || r.Written+len(r.Failed) != 3 {
				t.Errorf("%+v", r)
			}
			for _, f := range r.Failed {
				if !strings.HasPrefix(f.Error, enrich.ErrAnswer.Error()) && !strings.Contains(f.Error, "answered 500") {
					t.Errorf("%s: %s", f.Tool, f.Error)
				}
			}
			stored := s.said(t, "model")
			if len(stored) != r.Written {
				t.Errorf("%d of %d tools have phrases", len(stored), r.Written)
			}
			for tool, texts := range stored {
				for _, text := range texts {
					if clean, err := phrase.Clean(text); err != nil || clean != text || strings.Contains(text, "://") {
						t.Errorf("%s: stored %q, %v", tool, text, err)
					}
				}
			}
		})
	}
}
