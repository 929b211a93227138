package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkDecodeLargeMessage reads a result of 4 MB from the wire.
func BenchmarkDecodeLargeMessage(b *testing.B) {
	text, err := json.Marshal(strings.Repeat("2026-11-22 21:14:06 level=info msg=\"a line of a log\" path=/var/lib/x\n", 1<<16))
	if err != nil {
		b.Fatal(err)
	}
	line := []byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":` + string(text) + `}]}}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeMessage(line); err != nil {
			b.Fatal(err)
		}
	}
}
