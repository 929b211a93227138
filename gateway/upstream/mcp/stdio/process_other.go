//go:build !linux && !windows

package stdio

import "syscall"

// dieWithParent can do nothing here: a server learns from its closed stdin
// that we were killed.
func dieWithParent(*syscall.SysProcAttr) {}

// strays can do nothing here: a child that has left the group is on its own.
func strays(int) (kill func()) { return func() {} }
