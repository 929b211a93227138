package stored

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

const rounds = 25 // that each other process adds

// child is another process: it adds one to the endpoint "counter" as often as
// rounds, each time over the version that it has read. One that dies does so
// between the writing of a file and its renaming.
func child(f *Folder, dies string) int {
	if dies != "" {
		f.written = func() {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			fmt.Println(err)
			select {} // until the signal arrives
		}
	}
	for range rounds {
		if err := add(f); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

func add(f *Folder) error {
	for {
		e, err := f.Get("counter")
		if err != nil {
			return err
		}
		n, err := count(e)
		if err != nil {
			return err
		}
		if _, err = f.Replace("counter", counter(n+1), e.Tag); !errors.Is(err, ErrChanged) {
			return err
		}
	}
}

func counter(n int) json.RawMessage { return json.RawMessage(`{"n":` + strconv.Itoa(n) + `}`) }

func count(e Entry) (int, error) {
	var v struct{ N int }
	return v.N, errors.Join(e.Problem, json.Unmarshal(e.Definition, &v))
}

func start(t *testing.T, state, dies string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TOOLDEX_STORED_CHILD="+state, "TOOLDEX_STORED_DIES="+dies)
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Several processes that write lose nothing of each other, and who reads
// meanwhile reads whole versions.
func TestTwoProcessesWrite(t *testing.T) {
	state := t.TempDir()
	f := In(state)
	if _, err := f.Create("counter", counter(0)); err != nil {
		t.Fatal(err)
	}
	const processes = 3
	var running sync.WaitGroup
	for range processes {
		cmd := start(t, state, "")
		running.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		e, err := f.Get("counter")
		if _, wrong := count(e); err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
	}
	e, err := f.Get("counter")
	if n, _ := count(e); n != processes*rounds || err != nil {
		t.Errorf("counted %d of %d, %v", n, processes*rounds, err)
	}
}

// A process that is killed between the writing of a file and its renaming
// leaves the version that was there, and no lock; what it has written is swept.
func TestKilledWhileWriting(t *testing.T) {
	state := t.TempDir()
	f := In(state)
	was, err := f.Create("counter", counter(41))
	if err != nil {
		t.Fatal(err)
	}
	if err := start(t, state, "yes").Wait(); err == nil {
		t.Fatal("the process that was to be killed ended by itself")
	}
	halves := func() int {
		found, err := filepath.Glob(filepath.Join(state, "endpoints", "*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if n := halves(); n != 1 {
		t.Errorf("%d files are half written, want 1: was it killed there?", n)
	}
	if e, err := f.Get("counter"); err != nil || e.Tag != was.Tag || len(all(t, f)) != 1 {
		t.Errorf("got %+v, %v, all %v", e, err, all(t, f))
	}
	if err := add(f); err != nil || all(t, f)["counter"] != `{"n":42}` || halves() != 0 {
		t.Errorf("%v, all %v, half written %d", err, all(t, f), halves())
	}
}

// What another process does is told, each kind of change.
func TestWatch(t *testing.T) {
	state := t.TempDir()
	changes := make(chan struct{})
	f, other := In(state), In(state)
	known := f.Look()
	go f.Watch(t.Context(), known, func() { changes <- struct{}{} })
	for _, change := range []func() error{
		func() error { _, err := other.Create("a", counter(1)); return err },
		func() error { _, err := other.Replace("a", counter(2), AnyVersion); return err },
		func() error { return other.Delete("a", AnyVersion) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		<-changes
	}
}
