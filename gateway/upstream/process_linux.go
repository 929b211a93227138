package upstream

import "syscall"

// dieWithParent has the kernel kill the server when we are killed; closed
// pipes tell all others, and its own children.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
