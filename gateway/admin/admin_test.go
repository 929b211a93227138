package admin

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The examples of RFC 7396, of those whose target and patch are objects or stand
// in one.
func TestMerge(t *testing.T) {
	for _, tt := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":"<é\u2028"}`, `{"b":"\ud83d\ude00"}`, `{"a":"<é\u2028","b":"\ud83d\ude00"}`},
	} {
		if got, err := merge([]byte(tt.target), []byte(tt.patch)); string(got) != tt.want || err != nil {
			t.Errorf("%s with %s is %s, %v, want %s", tt.target, tt.patch, got, err, tt.want)
		}
	}
}

// Processes that start at once agree on the key.
func TestKeyIsOne(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	var mu sync.Mutex
	keys := map[string]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			key, err := Key(state)
			mu.Lock()
			defer mu.Unlock()
			if keys[key] = true; err != nil || len(key) < 32 {
				t.Errorf("key %q, %v", key, err)
			}
		})
	}
	all.Wait()
	if len(keys) != 1 {
		t.Errorf("there are %d keys", len(keys))
	}
	if info, err := os.Stat(filepath.Join(state, keyFile)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
}

func TestKeyThatIsNoSecret(t *testing.T) {
	state := t.TempDir()
	path := filepath.Join(state, keyFile)
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Key(state); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Errorf("a short key: %v", err)
	}
	if runtime.GOOS == "windows" {
		return // no such modes
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("k", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if key, err := Key(state); err == nil || key != "" || !strings.Contains(err.Error(), path) {
		t.Errorf("a key that others can read: %q, %v", key, err)
	}
}

func TestByKey(t *testing.T) {
	allow := ByKey("secret")
	for header, want := range map[string]bool{
		"Bearer secret": true, "bearer  secret ": true, "Bearer secre": false, "Bearer secrets": false, "Basic secret": false, "secret": false, "": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		if got := allow(r); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer ")
	if ByKey("")(r) {
		t.Error("no key opens what has none")
	}
}
