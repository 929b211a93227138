package mcp

import (
	"bufio"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestAllowance(t *testing.T) {
	now := time.Now()
	a := allowance{since: now}
	for range 10000 {
		if now = now.Add(time.Second); !a.take(uselessRate-lineCost, now) {
			t.Fatal("a steady rate within bounds was stopped")
		}
	}
	if !a.take(uselessBurst/2, now) || a.take(uselessBurst, now) {
		t.Error("the burst is not as large as it should be")
	}
	if a.take(0, now.Add(time.Second)) || !a.take(0, now.Add(time.Hour)) {
		t.Error("the allowance does not come back with time")
	}
}

func TestServerThatBabblesInMessages(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, good(t), stdioSpec(t, &rawServer{Version: stateless, Start: "chatter"}))
	// The allowance is used up in seconds, or in a minute by a machine that has
	// much else to do and the race detector on.
	_, err := s.Refresh(within(t, hangTime), "raw")
	wantError(t, err, "the server never stops writing")
	mustCall(t, s, "good", "exact")
}

// TestGarbageIsCheap reads what a server that babbles writes most.
func TestGarbageIsCheap(t *testing.T) {
	l := &stdioLink{tap: newTap(slog.New(slog.DiscardHandler), nil), garbage: func(string) {}}
	line := []byte("babble babble babble")
	if n := testing.AllocsPerRun(100, func() { l.accept(line, nil) }); n > 4 {
		t.Errorf("a line of no use takes %v allocations", n)
	}
}

func TestLongNames(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	o := Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	s := start(t, o, stdioSpec(t, &rawServer{Version: stateless, Name: strings.Repeat("ä", 1<<20), Manual: strings.Repeat("m", 1<<20)}))
	mustCall(t, s, "raw", "exact")
	if st := s.Status()[0]; len(st.Server) > 300 || !strings.HasSuffix(st.Server, "…") {
		t.Errorf("the status has a name of %d bytes", len(st.Server))
	}
	if l, err := s.Refresh(within(t, hangTime), "raw"); err != nil || len(l.Instructions) > 2*longestInstructions {
		t.Errorf("the instructions have %d bytes, %v", len(l.Instructions), err)
	}
	if text := log.String(); len(text) > 20000 {
		t.Errorf("the log has %d bytes", len(text))
	}
}

func TestLineWithoutEnd(t *testing.T) {
	r := lineReader{Reader: bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 2000)), 16), limit: 200}
	if _, _, err := r.next(); err != errEndless {
		t.Errorf("got %v, want errEndless", err)
	}
}
