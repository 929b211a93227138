package attach

import "net"

// checkPeer trusts the folder's rights: the system does not say who is at the
// other end of a unix socket.
func checkPeer(*net.UnixConn) error { return nil }

// peerPID is not known.
func peerPID(*net.UnixConn) int { return 0 }

// checkOwn trusts that the folder inherits the rights of the user's own, in
// which it lies.
func checkOwn(string) error { return nil }
