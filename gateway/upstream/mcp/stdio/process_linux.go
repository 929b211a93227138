package stdio

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent has the kernel kill the server when we are killed; closed
// pipes tell all others, and its own children.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// strays returns what kills the processes that descend from pid now, those
// included that have left its group, which die with nobody else.
func strays(pid int) (kill func()) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	children, born := map[int][]int{}, map[int]string{}
	for _, file := range files {
		id, _ := strconv.Atoi(strings.Split(file, "/")[2])
		if parent, start := lineage(id); start != "" {
			children[parent] = append(children[parent], id)
			born[id] = start
		}
	}
	var found []int
	for next := children[pid]; len(next) > 0; {
		id := next[0]
		found = append(found, id)
		next = append(next[1:], children[id]...)
		delete(children, id)
	}
	return func() {
		for _, id := range found {
			if _, start := lineage(id); start == born[id] {
				_ = syscall.Kill(id, syscall.SIGKILL) // it may have ended meanwhile
			}
		}
	}
}

// lineage is the parent of a process and when it was started, "" if it is
// gone: the id of one that ended may be another's.
func lineage(id int) (parent int, start string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0, ""
	}
	// The name in parentheses may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return 0, ""
	}
	parent, _ = strconv.Atoi(fields[1]) // 0 is nobody's child
	return parent, fields[19]
}
