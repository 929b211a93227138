package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzMessageReader: whatever a client writes, what is passed on are
// messages, one a line, and so are the answers to the rest.
func FuzzMessageReader(f *testing.F) {
	for _, in := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
		"\n \r\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r\nnonsense\n",
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7]` + "\n[]\n[1]\n[[]]\n",
		`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		passed, err := io.ReadAll(newMessageReader(io.NopCloser(bytes.NewReader(in)), &lockedWriter{w: &out}, &batches{}))
		if err != nil {
			t.Fatalf("reading ended with %v", err)
		}
		for line := range bytes.Lines(passed) {
			if _, err := jsonrpc.DecodeMessage(line); err != nil {
				t.Errorf("passed on %q: %v", line, err)
			}
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("answered %q, which is no JSON", line)
			}
		}
	})
}
