//go:build unix

package store

import (
	"os"
	"syscall"
)

// unlock gives up the lock that bbolt took on f.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
