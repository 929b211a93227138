package queue

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
)

// A line is a queue with one place, which is taken, and the calls that wait,
// in the order in which they came.
type line struct {
	*Queue
	free  func()
	ended chan string // names of calls, with what became of them
}

func newLine(t *testing.T, most int) *line {
	t.Helper()
	l := &line{Queue: New(1, most), ended: make(chan string)}
	free, err := l.Enter(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	l.free = free
	return l
}

// wait has a call wait; it leaves when it had its turn.
func (l *line) wait(ctx context.Context, caller, name string) {
	lined := l.lined()
	go func() {
		leave, err := l.Enter(ctx, caller)
		if err != nil {
			l.ended <- fmt.Sprintf("%s: %v", name, err)
			return
		}
		l.ended <- name
		leave()
	}()
	for l.lined() == lined { // it is not in yet
	}
}

// lined is how often calls have lined up so far, less those that have ended.
func (l *line) lined() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.waiting, l.of)
}

func (l *line) next(n int) (names []string) {
	for range n {
		names = append(names, <-l.ended)
	}
	return names
}

func TestCallersTakeTurns(t *testing.T) {
	l := newLine(t, 10)
	for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "c1", "b2"} {
		l.wait(t.Context(), name[:1], name)
	}
	l.free()
	if got, want := l.next(7), []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}; !reflect.DeepEqual(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
}

func TestFullQueueTakesFromWhoHasMost(t *testing.T) {
	l := newLine(t, 4)
	for i := range 4 {
		l.wait(t.Context(), "a", fmt.Sprint("a", i))
	}
	if _, err := l.Enter(t.Context(), "a"); !errors.Is(err, ErrFull) {
		t.Errorf("error %v of the one who has all, want that it is full", err)
	}
	gone := make(chan string, 2)
	go func() { gone <- <-l.ended; gone <- <-l.ended }()
	l.wait(t.Context(), "b", "b0")
	l.wait(t.Context(), "b", "b1")
	if got := []string{<-gone, <-gone}; !reflect.DeepEqual(got, []string{"a3: queue full", "a2: queue full"}) {
		t.Errorf("sent away %v", got)
	}
	if _, err := l.Enter(t.Context(), "b"); !errors.Is(err, ErrFull) {
		t.Errorf("error %v of one of two who have as many, want that it is full", err)
	}
	l.free()
	if got, want := l.next(4), []string{"a0", "b0", "a1", "b1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
}

func TestCallThatGivesUp(t *testing.T) {
	l := newLine(t, 10)
	ctx, cancel := context.WithCancelCause(t.Context())
	l.wait(ctx, "a", "a1")
	l.wait(t.Context(), "a", "a2")
	cancel(errors.New("enough"))
	if got := l.next(1); got[0] != "a1: enough" {
		t.Errorf("ended %v", got)
	}
	l.free()
	if got := l.next(1); got[0] != "a2" {
		t.Errorf("ended %v", got)
	}
}

func TestClose(t *testing.T) {
	l := newLine(t, 10)
	l.wait(t.Context(), "a", "a1")
	l.wait(t.Context(), "b", "b1")
	l.Close()
	got := l.next(2)
	slices.Sort(got)
	if want := []string{"a1: queue closed", "b1: queue closed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("ended %v, want %v", got, want)
	}
	if _, err := l.Enter(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want that it is closed", err)
	}
	l.free()
	if _, err := l.Enter(t.Context(), "a"); err != nil {
		t.Errorf("error %v although a place is free", err)
	}
}

// However calls come, give up and end, no place is lost and none is given
// twice.
func TestPlacesAreKept(t *testing.T) {
	const places = 3
	q := New(places, 20)
	var under counter
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+j)%3 == 0 {
					go cancel()
				}
				leave, err := q.Enter(ctx, fmt.Sprint(i%5))
				if err == nil {
					if n := under.add(1); n > places {
						t.Errorf("%d calls in %d places", n, places)
					}
					under.add(-1)
					leave()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if q.Taken() != 0 || q.Waiting() != 0 {
		t.Errorf("%d places are taken and %d calls wait at the end", q.Taken(), q.Waiting())
	}
}

type counter struct {
	mu sync.Mutex // guards n
	n  int
}

func (c *counter) add(d int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += d
	return c.n
}
