package cli

import (
	"syscall"
	"testing"
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
