package index

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs root on linux to mount a small tmpfs")
	}
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).Run(); err != nil {
		t.Skipf("cannot mount a tmpfs here: %v", err)
	}
	defer func() { _ = exec.Command("umount", "-l", dir).Run() }()
	ix := openDir(t, dir, Options{})
	replace(t, ix, "s", rawTool("a", "first"))
	big := Tool{Name: "big", Description: "large", Raw: json.RawMessage(`{"name":"big","x":"` + strings.Repeat("x", 2<<20) + `"}`)}
	_, err := ix.Replace(t.Context(), "s", []Tool{big})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "store.db") {
		t.Errorf("Replace on a full disk = %v", err)
	}
	if st := ix.Status(); len(st.Pending) != 1 || !strings.Contains(st.Problem, "no space left") {
		t.Errorf("status %+v", st)
	}
	if raw, err := ix.Raw(firstHit(ix).ID); err != nil || len(raw) < 2<<20 {
		t.Errorf("Raw of %d bytes, %v", len(raw), err)
	}
	other := openDir(t, dir, Options{Offline: true})
	if got := ids(other); len(got) != 1 || got["s/a"] == "" {
		t.Errorf("on disk are %v, want what was there before", got)
	}
	replace(t, ix, "s", rawTool("b", "small again"))
	if st := ix.Status(); len(st.Pending) > 0 || st.Problem != "" {
		t.Errorf("status %+v", st)
	}
}

// TestReadOnlyFolder serves what a folder on a read-only file system holds.
func TestReadOnlyFolder(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs root on linux to mount a tmpfs")
	}
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir).Run(); err != nil {
		t.Skipf("cannot mount a tmpfs here: %v", err)
	}
	defer func() { _ = exec.Command("umount", "-l", dir).Run() }()
	ix := openDir(t, dir, Options{})
	replace(t, ix, "s", rawTool("a", "first"))
	closeIndex(t, ix)
	if err := exec.Command("mount", "-o", "remount,ro", dir).Run(); err != nil {
		t.Fatalf("cannot remount: %v", err)
	}
	ix = openDir(t, dir, Options{})
	if n := len(ids(ix)); n != 1 {
		t.Errorf("%d tools", n)
	}
	replace(t, ix, "s", rawTool("a", "first"), rawTool("b", "second"))
	for name, id := range ids(ix) {
		if raw, err := ix.Raw(id); err != nil || len(raw) == 0 {
			t.Errorf("Raw(%s): %v", name, err)
		}
	}
	if p := ix.Status().Problem; !strings.Contains(p, "read-only") || !strings.Contains(p, dir) {
		t.Errorf("problem %q", p)
	}
}
