package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// crashChild replaces a large server by version after version, counts, and
// compacts, for ever.
func crashChild(dir string) int {
	s, err := Open(dir, Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	ctx := context.Background()
	k := s.Key("big", "")
	for version := 0; ; version++ {
		fmt.Println("version", version)
		_, _, err := s.Replace(ctx, whole(Server{Key: k, Name: "big", Seen: day}, large(strconv.Itoa(version%10))))
		if err == nil {
			_, err = s.Compact(ctx)
		}
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
}

// TestCrashInPieces kills processes while they write a change in pieces: what
// is left is sound, no tool is missing, each is of one version, and where
// versions are mixed the record says so.
func TestCrashInPieces(t *testing.T) {
	runs := 4
	if s := os.Getenv("TOOLDEX_CRASH_RUNS"); s != "" {
		var err error
		if runs, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	s := open(t, dir)
	k := s.Key("big", "")
	partial := 0
	for range runs {
		crashOnce(t, dir)
		if found, err := Check(dir); len(found) > 0 || err != nil {
			t.Fatalf("Check: %q, %v", found, err)
		}
		all, _, err := s.Load(t.Context(), nil, nil)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d servers, %v", len(all), err)
		}
		versions := map[byte]bool{}
		for _, e := range all[0].Tools {
			raw, err := s.Raw(t.Context(), k, e.ID)
			version := e.Head[len(e.Head)-1]
			if err != nil || len(raw) == 0 || !bytes.Equal(raw, bytes.Repeat([]byte{version}, len(raw))) {
				t.Fatalf("head %q beside object %.5q…, %v", e.Head, raw, err)
			}
			versions[version] = true
		}
		if len(all[0].Tools) < 50 {
			t.Fatalf("%d tools are left", len(all[0].Tools))
		}
		if all[0].Partial {
			partial++
		} else if len(versions) != 1 {
			t.Fatalf("%d tools of %d versions", len(all[0].Tools), len(versions))
		}
	}
	t.Logf("%d of %d kills left a partial server", partial, runs)
}

// crashOnce starts a child and kills it within 200 ms of one of its changes.
func crashOnce(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "TOOLDEX_STORE_CRASH="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 2 + rand.IntN(3) { // the first change is whole then
		if !lines.Scan() {
			t.Fatal("the child ended")
		}
	}
	kill := time.AfterFunc(time.Duration(rand.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte("error")) {
			t.Error(lines.Text())
		}
	}
	_ = cmd.Wait() // it was killed
}
