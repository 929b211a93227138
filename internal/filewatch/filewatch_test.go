package filewatch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// Other files that change without a pause keep nothing from being seen, and a
// file that is being written is not taken before it is whole.
func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, errs := make(chan int), make(chan error)
		whole := func(b ...byte) Text { return Text{sum: [32]byte(append(b, make([]byte, 32-len(b))...))} }
		now, changes := whole(1), 0
		go settled(events, errs, now, func() Text { return now }, func() { changes++ })
		step := func(want int, what string) {
			t.Helper()
			for range 100 { // for 1 s
				events <- 0
				time.Sleep(10 * time.Millisecond)
			}
			synctest.Wait()
			if changes != want {
				t.Errorf("%s: %d changes, want %d", what, changes, want)
			}
		}
		step(0, "others change")
		now = whole(2)
		step(1, "the file changes")
		step(1, "others change")
		for i := range byte(20) { // is written for 2 s
			now = whole(3, i)
			events <- 0
			time.Sleep(100 * time.Millisecond)
			synctest.Wait() // it may be looking at this very moment
		}
		synctest.Wait()
		if changes != 1 {
			t.Errorf("a file that is being written was taken")
		}
		step(2, "it is written")
		now = whole(4)
		errs <- nil
		time.Sleep(time.Second)
		synctest.Wait()
		if changes != 3 {
			t.Error("not seen after too many events")
		}
		now = Text{open: true} // as while the rest of the file is awaited
		events <- 0
		time.Sleep(Settle + Settle/2)
		now = whole(5)
		time.Sleep(time.Second)
		synctest.Wait()
		if changes != 4 {
			t.Errorf("a half-written file was taken: %d changes", changes)
		}
		now.open = true // nothing comes after it
		events <- 0
		time.Sleep(time.Second)
		synctest.Wait()
		if changes != 5 {
			t.Error("a text without an end of its last line is never taken")
		}
		close(events)
	})
}

// A file is written, renamed over and linked to in the ways that editors and
// clusters do it.
func TestWatch(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "c.yaml")
	write(path, "0")
	if runtime.GOOS != "windows" { // a link to a file in a folder to which a link leads
		for _, v := range []string{"v1", "v2"} {
			if err := os.Mkdir(filepath.Join(dir, v), 0o700); err != nil {
				t.Fatal(err)
			}
			write(filepath.Join(dir, v, "c.yaml"), v)
		}
	}
	changed := make(chan struct{}, 10)
	stop, err := Watch(path, func() { changed <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	link := func(from, to string) {
		t.Helper()
		if err := os.Symlink(to, from+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(from+".new", from); err != nil {
			t.Fatal(err)
		}
	}
	steps := []func(){
		func() { write(path, "written") },
		func() { write(path+".tmp", "renamed over"); os.Rename(path+".tmp", path) },
		func() { os.Remove(path); write(path, "removed and written") },
	}
	if runtime.GOOS != "windows" {
		data := filepath.Join(dir, "data")
		steps = append(steps,
			func() { link(data, "v1"); link(path, filepath.Join("data", "c.yaml")) },
			func() { link(data, "v2") },
			func() { write(filepath.Join(dir, "v2", "c.yaml"), "written behind the link") },
		)
	}
	for i, step := range steps {
		step()
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal(fmt.Sprint("step ", i, " was not seen"))
		}
	}
}
