//go:build !windows

package upstream

import (
	"os/exec"
	"syscall"
)

// A group is the process group that a server leads.
type group struct{ pid int }

func (g *group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

func (g *group) started(cmd *exec.Cmd) error {
	g.pid = cmd.Process.Pid
	return nil
}

// Signalling a group that is gone is no error worth telling.
func (g *group) terminate() { _ = syscall.Kill(-g.pid, syscall.SIGTERM) }
func (g *group) kill()      { _ = syscall.Kill(-g.pid, syscall.SIGKILL) }
func (g *group) close()     {}
