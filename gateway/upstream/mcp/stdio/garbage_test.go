package stdio

import (
	"log/slog"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// TestGarbageIsCheap reads what a server that babbles writes most.
func TestGarbageIsCheap(t *testing.T) {
	l := &Link{tap: wire.NewTap(t.Context(), slog.New(slog.DiscardHandler), mask.Masker{}, nil, nil), garbage: func(string) {}}
	line := []byte("babble babble babble")
	if n := testing.AllocsPerRun(100, func() { l.accept(line, nil) }); n > 4 {
		t.Errorf("a line of no use takes %v allocations", n)
	}
}
