//go:build linux || darwin

package attach

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// checkPeer refuses a peer that is another user's process.
func checkPeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var uid uint32
	var asked error
	if err := raw.Control(func(fd uintptr) { uid, asked = peerUser(int(fd)) }); err != nil {
		return err
	}
	if asked != nil {
		return fmt.Errorf("ask who is at the other end of the socket: %w", asked)
	}
	if int(uid) != os.Geteuid() {
		return fmt.Errorf("user %d is at the other end of the socket, want %d", uid, os.Geteuid())
	}
	return nil
}

// peerPID is the process at the other end, 0 when the system does not say.
func peerPID(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	if err := raw.Control(func(fd uintptr) { pid, err = peerProcess(int(fd)) }); err != nil {
		return 0
	}
	return pid
}

// checkOwn refuses a folder that others may enter, or that is another's.
func checkOwn(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir() || !ok:
		return fmt.Errorf("%s is no folder", dir)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("folder %s belongs to user %d, want %d", dir, st.Uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("folder %s is open to other users (mode %o); make it 0700", dir, info.Mode().Perm())
	}
	return nil
}
