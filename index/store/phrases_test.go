package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// say stores a text as the phrases of each tool.
func say(t testing.TB, s *Store, k Key, ids []ID, text string) Counters {
	t.Helper()
	now, err := s.EditPhrases(t.Context(), refs(k, ids), func(Ref, []byte) Phrased {
		return Phrased{Texts: [][32]byte{{9}}, Body: []byte(text)}
	})
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func refs(k Key, ids []ID) (all []Ref) {
	for _, id := range ids {
		all = append(all, Ref{k, id})
	}
	return all
}

func said(t testing.TB, s *Store, servers ...Key) map[Ref]string {
	t.Helper()
	all := map[Ref]string{}
	if err := s.Phrases(t.Context(), servers, func(ref Ref, body []byte) { all[ref] = string(body) }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPhrases(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	es := entries(3, "")
	k, other := stock(t, s, "a", es), stock(t, s, "b", es)
	if got := said(t, s, k, other); len(got) != 0 {
		t.Errorf("phrases before any: %v", got)
	}
	before := say(t, s, k, []ID{es[0].ID, es[1].ID}, "open")
	say(t, s, other, []ID{es[0].ID}, "close")
	if got := said(t, open(t, dir), k); len(got) != 2 || got[Ref{k, es[1].ID}] != "open" {
		t.Errorf("another process reads %v", got)
	}
	after, err := s.EditPhrases(t.Context(), refs(k, []ID{es[0].ID, es[2].ID}), func(_ Ref, old []byte) Phrased {
		if old == nil {
			return Phrased{}
		}
		return Phrased{Body: append(bytes.Clone(old), " it"...)}
	})
	if err != nil || after.Phrased != before.Phrased+2 || after.Generation != before.Generation {
		t.Errorf("%+v after %+v, %v", after, before, err)
	}
	say(t, s, k, []ID{es[1].ID}, "open")
	if c, err := s.Counters(t.Context()); c != after || err != nil {
		t.Errorf("writing what is there is a change: %+v, %v", c, err)
	}
	if got := said(t, s, k); got[Ref{k, es[0].ID}] != "open it" || len(got) != 2 {
		t.Errorf("%v", got)
	}
	if _, err := s.EditPhrases(t.Context(), refs(k, []ID{es[0].ID}), func(Ref, []byte) Phrased { return Phrased{} }); err != nil {
		t.Fatal(err)
	}
	if got := said(t, s, k); len(got) != 1 {
		t.Errorf("forgotten ones are there: %v", got)
	}
	if err := s.Drop(t.Context(), []Key{k}); err != nil {
		t.Fatal(err)
	}
	if got := said(t, s, k, other); len(got) != 1 {
		t.Errorf("after a server was dropped: %v", got)
	}
	if found, err := Check(dir); len(found) > 0 || err != nil {
		t.Errorf("Check: %q, %v", found, err)
	}
}

// A file that was made without the bucket is as good as one that has it.
func TestPhrasesOfAnOlderFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	k := stock(t, s, "a", entries(3, ""))
	db, err := bbolt.Open(s.Path(), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return errors.Join(tx.DeleteBucket([]byte(phraseBucket)), tx.Bucket([]byte("meta")).Delete([]byte("phrased")))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if got := said(t, s, k); len(got) != 0 || len(s.Notes()) > 0 {
		t.Errorf("%v, notes %q", got, s.Notes())
	}
	if found, err := Check(dir); len(found) > 0 || err != nil {
		t.Errorf("Check: %q, %v", found, err)
	}
	if _, err := s.Collect(t.Context(), 0, nil); err != nil {
		t.Error(err)
	}
	say(t, s, k, []ID{{1}}, "open")
	if got := said(t, s, k); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if err := s.Drop(t.Context(), []Key{k}); err != nil {
		t.Error(err)
	}
}

// Phrases keep their vectors from being collected, and are themselves once
// their tools are gone.
func TestCollectPhrases(t *testing.T) {
	s := open(t, t.TempDir())
	k := stock(t, s, "a", entries(2, ""))
	say(t, s, k, []ID{entries(1, "")[0].ID}, "open")
	x := SpaceInfo{Key: SpaceOf("x", ""), Dims: 1}
	if err := s.PutVectors(t.Context(), x, [][32]byte{{9}, {8}, {7}}, [][]byte{{1}, {1}, {1}}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Collect(t.Context(), 0, func(text [32]byte) bool { return text == [32]byte{8} }); n != 0 || err != nil {
		t.Errorf("collected %d of 1 unneeded beside 2, %v", n, err)
	}
	if n, err := s.Collect(t.Context(), -2, func(text [32]byte) bool { return text == [32]byte{8} }); n != 1 || err != nil {
		t.Errorf("collected %d, %v", n, err)
	}
	say(t, s, k, []ID{{1}, {2}}, "gone")
	if n, err := s.Collect(t.Context(), 0, nil); n != 2 || err != nil {
		t.Errorf("collected %d, %v", n, err)
	}
	if got := said(t, s, k); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestDamagedPhrases(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	es := entries(3, "")
	k := stock(t, s, "a", es)
	say(t, s, k, []ID{es[0].ID, es[1].ID}, "open")
	if flipIn(t, s.Path(), phraseBucket, "") != 2 {
		t.Fatal("nothing was flipped")
	}
	if found, err := Check(dir); len(found) != 2 || err != nil {
		t.Errorf("Check found %q, %v", found, err)
	}
	s = open(t, dir)
	if got := said(t, s, k); len(got) > 0 {
		t.Errorf("damaged phrases read as %v", got)
	}
	if notes := strings.Join(s.Notes(), "\n"); !strings.Contains(notes, "phrases of 2 tools are damaged") {
		t.Errorf("notes %q", notes)
	}
	say(t, s, k, []ID{es[0].ID}, "open")
	if got := said(t, s, k); len(got) != 1 {
		t.Errorf("written again: %v", got)
	}
}

// sayingChild writes other phrases for all of many tools, for ever.
func sayingChild(dir string) int {
	s, err := Open(dir, Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	k := s.Key("a", "source of a")
	for version := 0; ; version++ {
		fmt.Println("version", version)
		body := bytes.Repeat([]byte{'0' + byte(version%10)}, 500)
		_, err := s.EditPhrases(context.Background(), refs(k, idsOf(2000)), func(Ref, []byte) Phrased { return Phrased{Body: body} })
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
}

func idsOf(n int) (ids []ID) {
	for i := range n {
		ids = append(ids, ID{byte(i >> 8), byte(i)})
	}
	return ids
}

// TestCrashWhileSaying kills processes while they write phrases for 2,000
// tools: what is left is sound, and all of one version.
func TestCrashWhileSaying(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	k := stock(t, s, "a", entries(3, ""))
	say(t, s, k, idsOf(2000), strings.Repeat("0", 500))
	for range 4 {
		killWhileSaying(t, dir)
		if found, err := Check(dir); len(found) > 0 || err != nil {
			t.Fatalf("Check: %q, %v", found, err)
		}
		versions := map[string]int{}
		for _, body := range said(t, s, k) {
			versions[body]++
		}
		if len(versions) != 1 {
			t.Fatalf("%d versions are mixed", len(versions))
		}
		for body, n := range versions {
			if n != 2000 || len(body) != 500 {
				t.Fatalf("%d tools have phrases of %d bytes", n, len(body))
			}
		}
	}
}

func killWhileSaying(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "TOOLDEX_STORE_SAYING="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 1 + rand.IntN(3) {
		if !lines.Scan() {
			t.Fatal("the child ended")
		}
	}
	kill := time.AfterFunc(time.Duration(rand.IntN(30))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	for lines.Scan() {
		if _, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "version ")); err != nil {
			t.Error(lines.Text())
		}
	}
	_ = cmd.Wait() // it was killed
}
