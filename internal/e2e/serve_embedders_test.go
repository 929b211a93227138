//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// embedding is the configuration's section for an endpoint.
func (e *endpoint) embedding() object {
	return object{"provider": e.config.Provider, "model": e.config.Model, "url": e.config.URL}
}

// set writes a section into a configuration.
func (s setup) set(t *testing.T, key string, section object) {
	t.Helper()
	var c object
	data, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	c[key] = section
	if data, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.config, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// searchedBy calls search_tools until a model whose identity begins with
// prefix answers, and returns the answer's metadata.
func searchedBy(t *testing.T, s *mcp.ClientSession, prefix string) object {
	t.Helper()
	var meta object
	deadline := time.Now().Add(90 * time.Second)
	for n := 0; time.Now().Before(deadline); n++ {
		out, res := call(t, s, "search_tools", object{"query": "count the words of a text" + strings.Repeat("!", n%50)})
		if res.IsError {
			t.Fatalf("search_tools: %v", out)
		}
		meta, _ = out["search_metadata"].(object)
		if model, _ := meta["query_embedding_model"].(string); strings.HasPrefix(model, prefix) {
			return meta
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no model %s…; the last answer's metadata is %v", prefix, meta)
	return nil
}

// TestRealEmbedderServe goes the whole path: a real MCP server's tools,
// "tooldex serve", and search_tools answering with each endpoint's vectors
// from one state folder, also after the endpoint was killed.
func TestRealEmbedderServe(t *testing.T) {
	s := sampleSetup(t)
	eachEndpoint(t, func(t *testing.T, e *endpoint) {
		s.set(t, "embedding", e.embedding())
		address := serveHTTP(t, s)
		session := connect(t, &mcp.StreamableClientTransport{Endpoint: address}, "")
		find(t, session, "count the words of a text", "sample/count_text")
		searchedBy(t, session, e.config.Provider+"/tiny@")
		e.kill()
		searchedBy(t, session, "builtin/static-v1@")
		e.start()
		meta := searchedBy(t, session, e.config.Provider+"/tiny@")
		if meta["degraded"] != nil {
			t.Errorf("after recovery: %v", meta)
		}
	})
}
