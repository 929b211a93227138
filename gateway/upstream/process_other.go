//go:build !linux && !windows

package upstream

import "syscall"

// dieWithParent can do nothing here: a server learns from its closed stdin
// that we were killed.
func dieWithParent(*syscall.SysProcAttr) {}
