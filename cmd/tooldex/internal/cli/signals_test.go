package cli

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestInterrupts(t *testing.T) {
	var codes []int
	i := &Interrupts{Exit: func(code int) { codes = append(codes, code) }}
	cancelled := 0
	cancel := func() { cancelled++ }
	i.take(syscall.SIGHUP, false, cancel)
	i.take(syscall.SIGINT, true, cancel)
	i.take(syscall.SIGTERM, true, cancel)
	hangups := 0
	i.OnHangup(func() { hangups++ })
	i.take(syscall.SIGHUP, false, cancel)
	i.take(syscall.SIGHUP, true, cancel)
	if cancelled != 1 || hangups != 2 || len(codes) != 2 || codes[0] != 130 || codes[1] != 143 {
		t.Errorf("%d cancelled, %d hangups, exits %v", cancelled, hangups, codes)
	}
}

// A signal that is sent to the process and to its group at once is one; when it
// comes again later it is the second.
func TestRepeatedSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var codes []int
		i := &Interrupts{Exit: func(code int) { codes = append(codes, code) }}
		i.take(syscall.SIGINT, false, func() {})
		i.take(syscall.SIGINT, true, nil)
		if len(codes) != 0 {
			t.Errorf("the same signal at once: exits %v", codes)
		}
		time.Sleep(repeated)
		i.take(syscall.SIGINT, true, nil)
		if len(codes) != 1 {
			t.Errorf("a second signal: exits %v", codes)
		}
	})
}
