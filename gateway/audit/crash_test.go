package audit

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// writer is the folder that this process, started by a test, is to write until
// it is killed. It prints what is acknowledged.
const writer = "TOOLDEX_TEST_AUDIT"

func TestMain(m *testing.M) {
	folder := os.Getenv(writer)
	if folder == "" {
		os.Exit(m.Run())
	}
	l, err := Open(folder, Options{MaxBytes: 20_000}) // several files
	for i := 1; err == nil; i++ {
		l.Add(Event{Kind: Execute, Tool: strings.Repeat("x", i%1000)})
		if err = l.Sync(context.Background(), Event{Kind: Intent, Count: i}); err == nil {
			fmt.Println(i)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(3)
}

// A process is killed while it writes: what it had acknowledged is there, and
// nothing looks as if somebody had changed it.
func TestKill(t *testing.T) {
	folder := t.TempDir()
	for _, until := range []int{1, 2, 30, 100, 333} {
		acknowledged := killed(t, folder, until)
		var got int
		for _, r := range records(t, folder, Filter{Events: []string{Intent}}) {
			got = r.Count // the last process' last
		}
		if got < acknowledged || acknowledged < until {
			t.Errorf("%d were acknowledged, the last that is there is %d", acknowledged, got)
		}
	}
	found, err := Verify(folder)
	if err != nil {
		t.Fatal(err)
	}
	states := map[State]int{}
	for _, f := range found {
		states[f.State]++
	}
	if states[Damaged]+states[Writing] > 0 || states[Killed] < 4 || states[Whole] == 0 {
		t.Errorf("states %v of %+v", states, found)
	}
}

// killed runs a writer until it has acknowledged so many events, and returns
// how many it has.
func killed(t *testing.T, folder string, until int) (acknowledged int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writer+"="+folder)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if acknowledged == until {
			_ = cmd.Process.Kill() // Wait tells
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() == 3 {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	return acknowledged
}
