//go:build !windows

package mcp

import (
	"os/exec"
	"syscall"
)

// leave has a child begin a session of its own.
func leave(cmd *exec.Cmd, away bool) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: away} }
