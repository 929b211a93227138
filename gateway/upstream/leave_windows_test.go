package upstream

import "os/exec"

func leave(*exec.Cmd, bool) {}
