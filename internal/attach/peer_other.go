//go:build !linux && !darwin && !windows

package attach

import (
	"errors"
	"net"
)

var errSystem = errors.New("on this system nothing says who is at the other end of a socket")

func checkPeer(*net.UnixConn) error { return errSystem }

func peerPID(*net.UnixConn) int { return 0 }

func checkOwn(string) error { return errSystem }
