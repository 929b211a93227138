package mcp

import (
	"encoding/json"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

var (
	allEras = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	fewEras = []string{"2024-11-05", "2025-11-25", "2026-07-28"}
)

// connections are all transports with those of the versions that they have.
func connections(t *testing.T, versions []string, run func(t *testing.T, version string, spec func(r *rawServer) Spec)) {
	for _, version := range versions {
		t.Run("stdio/"+version, func(t *testing.T) {
			run(t, version, func(r *rawServer) Spec { return stdioSpec(t, r) })
		})
		if version != "2024-11-05" {
			for name, stream := range map[string]bool{"json": false, "events": true} {
				t.Run("http/"+name+"/"+version, func(t *testing.T) {
					run(t, version, func(r *rawServer) Spec {
						r.Stream = stream
						spec, _ := serveHTTP(t, r)
						return spec
					})
				})
			}
		}
		if version < wire.Stateless {
			t.Run("sse/"+version, func(t *testing.T) {
				run(t, version, func(r *rawServer) Spec { return serveSSE(t, r) })
			})
		}
	}
}

func TestBytesSurvive(t *testing.T) {
	t.Parallel()
	connections(t, allEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		s := start(t, Options{}, spec(&rawServer{Version: version, Name: "raw"}))
		l, err := s.Refresh(within(t, hangTime), "raw")
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Tools) != len(exactTools) {
			t.Fatalf("got %d tools, want %d; warnings %q", len(l.Tools), len(exactTools), l.Warnings)
		}
		for i, want := range exactTools {
			if string(l.Tools[i]) != want {
				t.Errorf("tool %d\ngot  %s\nwant %s", i, l.Tools[i], want)
			}
		}
		if http := version == wire.Stateless && s.Status()[0].Transport == "http"; l.ParamHeaders != http {
			t.Errorf("arguments in headers: %v, want %v", l.ParamHeaders, http)
		}
		res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact"})
		if err != nil {
			t.Fatal(err)
		}
		if string(res.Raw) != exactResult {
			t.Errorf("result\ngot  %s\nwant %s", res.Raw, exactResult)
		}
		if res.Protocol != version || !res.Sent {
			t.Errorf("got protocol %s, sent %v, want %s, true", res.Protocol, res.Sent, version)
		}
	})
}

func TestArgumentsSurvive(t *testing.T) {
	t.Parallel()
	connections(t, allEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		s := start(t, Options{}, spec(&rawServer{Version: version, Name: "raw"}))
		const want = `{"n":12345678901234567890,"f":1.10,"text":"<&>","z":null,"a":[]}`
		res, err := s.Call(within(t, hangTime), upstream.Request{
			Server: "raw", Tool: "echo", Arguments: json.RawMessage(want),
			Meta: map[string]any{"vendor/key": json.RawMessage(`12345678901234567890`), "progressToken": "theirs",
				"io.modelcontextprotocol/protocolVersion": "1999-01-01", "io.modelcontextprotocol/other": 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(res.Raw, &got); err != nil {
			t.Fatal(err)
		}
		var params struct {
			Arguments json.RawMessage
			Meta      map[string]json.RawMessage `json:"_meta"`
		}
		if err := json.Unmarshal([]byte(got.Content[0].Text), &params); err != nil {
			t.Fatal(err)
		}
		if string(params.Arguments) != want {
			t.Errorf("arguments: got %s, want %s", params.Arguments, want)
		}
		if string(params.Meta["vendor/key"]) != "12345678901234567890" {
			t.Errorf("_meta of the caller: got %s", params.Meta)
		}
		if params.Meta["progressToken"] != nil || params.Meta["io.modelcontextprotocol/other"] != nil {
			t.Errorf("_meta of the protocol was forwarded: %s", params.Meta)
		}
		want2 := `"2026-07-28"`
		if version < wire.Stateless {
			want2 = ""
		}
		if got := string(params.Meta["io.modelcontextprotocol/protocolVersion"]); got != want2 {
			t.Errorf("protocol version in _meta: got %s, want %s", got, want2)
		}
	})
}
