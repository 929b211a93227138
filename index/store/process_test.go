package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// child is another process on the same folder: it replaces and counts, and
// says so on stdout after each round.
func child(dir string) int {
	s, err := Open(dir, Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	ctx := context.Background()
	k := s.Key("shared", "")
	for i := range 20 {
		es := entries(5, fmt.Sprint(os.Getpid(), "-", i))
		_, _, err := s.Replace(ctx, whole(Server{Key: k, Name: "shared", Seen: day}, es))
		err = errors.Join(err, s.AddMetrics(ctx, map[Ref]Metrics{{k, es[0].ID}: {Total: 1}}))
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println("round", i)
	}
	return 0
}

// TestManyProcesses lets processes write to one folder while this one reads:
// every state read is one that one writer left, and no count is lost.
func TestManyProcesses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const children = 3
	var wg sync.WaitGroup
	for range children {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "TOOLDEX_STORE_CHILD="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "error") {
					t.Error(lines.Text())
				}
				oneState(t, s)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	k := s.Key("shared", "")
	m, err := s.Metrics(t.Context(), []Key{k})
	if got := m[Ref{k, entries(5, "")[0].ID}].Total; got != children*20 || err != nil {
		t.Errorf("%d executions counted, want %d (%v)", got, children*20, err)
	}
	if found, err := Check(dir); len(found) > 0 || err != nil {
		t.Errorf("Check: %q, %v", found, err)
	}
}

// oneState asserts that all tools that are read are of one version.
func oneState(t *testing.T, s *Store) {
	all, _, err := s.Load(t.Context(), nil, nil)
	if err != nil {
		t.Error(err)
		return
	}
	for _, sv := range all {
		versions := make(map[string]bool)
		for _, e := range sv.Tools {
			versions[strings.SplitAfterN(e.Head, "-", 2)[1][4:]] = true
		}
		if len(versions) != 1 || len(sv.Tools) != 5 {
			t.Errorf("%d tools of versions %v", len(sv.Tools), versions)
		}
	}
}

func TestDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("needs root on linux to mount a small tmpfs")
	}
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).Run(); err != nil {
		t.Skipf("cannot mount a tmpfs here: %v", err)
	}
	defer func() { _ = exec.Command("umount", "-l", dir).Run() }()
	s := open(t, dir)
	es := entries(5, "")
	k := stock(t, s, "a", es)
	big := entries(50, "big")
	for i := range big {
		big[i].Raw = make([]byte, 100<<10)
	}
	_, _, err := s.Replace(t.Context(), whole(Server{Key: k, Name: "a"}, big))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), s.Path()) {
		t.Fatalf("Replace on a full disk = %v, want ENOSPC with the file's name", err)
	}
	if got := load(t, s, k); len(got.Tools) != 5 {
		t.Errorf("%d tools after the failure, want the 5 from before", len(got.Tools))
	}
	stock(t, s, "a", entries(4, "small"))
	if got := load(t, s, k); len(got.Tools) != 4 {
		t.Errorf("%d tools, want 4: a small change must still fit", len(got.Tools))
	}
}
