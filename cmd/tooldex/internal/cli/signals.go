package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Interrupts turn signals into the end of a command: the first cancels it,
// the second ends the process at once, unless it is the first once more. SIGHUP, which a closed terminal sends
// too, does what the command says, else it counts as an interrupt.
type Interrupts struct {
	Exit func(code int) // ends the process

	mu     sync.Mutex // guards hangup
	hangup func()

	first os.Signal // that cancelled the command
	since time.Time // when
}

// repeated is for how long the first signal may come again and still be one:
// timeout and others send it to the process and to its group.
const repeated = 500 * time.Millisecond

// OnHangup makes SIGHUP run f instead of ending the command.
func (i *Interrupts) OnHangup(f func()) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hangup = f
}

// Watch returns a context that the first signal cancels. stop ends watching.
func (i *Interrupts) Watch(ctx context.Context) (watched context.Context, stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	watched, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				i.take(s, watched.Err() != nil, cancel)
			case <-ended:
				return
			}
		}
	}()
	return watched, func() {
		signal.Stop(signals)
		close(ended)
		cancel()
	}
}

// take acts on one signal.
func (i *Interrupts) take(s os.Signal, ending bool, cancel func()) {
	if s == syscall.SIGHUP {
		i.mu.Lock()
		hangup := i.hangup
		i.mu.Unlock()
		if hangup != nil {
			hangup()
			return
		}
	}
	if !ending {
		i.first, i.since = s, time.Now()
		cancel()
		return
	}
	if s == i.first && time.Since(i.since) < repeated {
		return
	}
	code := 1
	if n, ok := s.(syscall.Signal); ok {
		code = 128 + int(n)
	}
	i.Exit(code)
}
