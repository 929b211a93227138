package secret

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	keyring.MockInit()
	if err := keyring.Set("tracker/eu", "me", "from the keyring"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "token")
	write(t, path, "first\r\n")
	var r Resolver
	for text, want := range map[string]string{
		"plain":                             "plain",
		"Bearer ${file:" + path + "}":       "Bearer first",
		"${keyring:tracker/eu/me}":          "from the keyring",
		"a ${cmd:echo printed} b":           "a printed b",
		"${file:" + path + "}${cmd:echo 2}": "first2",
	} {
		got, values, err := r.Resolve(t.Context(), text)
		if err != nil || got != want || In(text) != (len(values) > 0) {
			t.Errorf("%s: got %q, %q, %v, want %q", text, got, values, err, want)
		}
	}
	write(t, path, "second")
	if got, _, err := r.Resolve(t.Context(), "${file:"+path+"}"); got != "second" || err != nil {
		t.Errorf("after the file has changed: %q, %v", got, err)
	}
}

// A command is run once for many, and again when its value is not taken.
func TestKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is written for sh")
	}
	path := filepath.Join(t.TempDir(), "runs")
	ref := "${cmd:echo run >> " + path + "; wc -l < " + path + "}"
	var r Resolver
	if r.Forget(ref) {
		t.Error("something was kept before it was read")
	}
	for i, want := range []string{"1", "1", "2"} {
		if i == 2 && !r.Forget("x "+ref) {
			t.Error("nothing was kept")
		}
		got, _, err := r.Resolve(t.Context(), ref)
		if err != nil || strings.TrimSpace(got) != want {
			t.Errorf("got %q, %v, want %s", got, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	keyring.MockInit()
	dir := t.TempDir()
	empty, long := filepath.Join(dir, "empty"), filepath.Join(dir, "long")
	write(t, empty, "\n")
	write(t, long, strings.Repeat("x", longest+1))
	var r Resolver
	for text, want := range map[string]string{
		"${file:" + dir + "/none}":   "secret ${file:" + dir + "/none}: no such file or directory",
		"${file:" + empty + "}":      "it is empty",
		"${file:" + long + "}":       "it is longer than 64 KiB",
		"${file:" + dir + "}":        "it is no file",
		"${keyring:a/b}":             "the keyring has no such item",
		"${cmd:echo hidden; exit 3}": "the command failed (exit status 3); run it in a terminal",
		"${cmd:true}":                "it is empty",
	} {
		if runtime.GOOS == "windows" && strings.HasPrefix(text, "${cmd") {
			continue // they are written for sh
		}
		got, _, err := r.Resolve(t.Context(), "x "+text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ": hidden") {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"${file:}", "${keyring:user}", "${keyring:/u}", "${keyring:s/}", "${cmd: }"} {
		if Check(text) == nil {
			t.Errorf("%s passes", text)
		}
	}
	if Check("${keyring:a/b} ${file:x} ${cmd:y} ${VAR}") != nil || !Commands("${cmd:y}") || Commands("${file:cmd}") {
		t.Error("good references do not pass")
	}
}
