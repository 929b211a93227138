//go:build !windows

package stdio

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

func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }
func (g *group) close()     {}

// signal signals a group that was started: 0 would be our own. That it is
// gone is no error worth telling.
func (g *group) signal(s syscall.Signal) {
	if g.pid > 0 {
		_ = syscall.Kill(-g.pid, s)
	}
}
