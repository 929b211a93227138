package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	file := NewTokenFile(filepath.Join(t.TempDir(), "tokens.json"))
	bot, made, old := NewSecret(), NewSecret(), NewSecret()
	tokens := NewTokens(map[string]Token{"bot": {Hash: HashToken(bot), Teams: []string{"ops"}}}, file)
	for name, token := range map[string]Token{"made": {Hash: HashToken(made)}, "old": {Hash: HashToken(old), Expires: time.Now().Add(-time.Second)}} {
		if err := file.Add(name, token); err != nil {
			t.Fatal(err)
		}
	}
	for secret, want := range map[string]string{
		bot: "token:bot [ops]", made: "token:made []", old: "", "": "", NewSecret(): "", HashToken(bot): "", bot + "x": "", bot[1:]: "", strings.ToUpper(bot): "",
	} {
		p, err := tokens.Principal(secret)
		if want == "" {
			if !errors.Is(err, ErrUnknownToken) || p != nil {
				t.Errorf("%q: %+v, %v", secret, p, err)
			}
			continue
		}
		if err != nil || fmt.Sprint(p.Name, " ", p.Teams) != want || p.Most != Admin {
			t.Errorf("%q: %+v, %v; want %s", secret, p, err, want)
		}
	}
	if err := file.Add("made", Token{}); err == nil {
		t.Error("a token of the same name was made")
	}
	if err := file.Revoke("bot"); err == nil {
		t.Error("a token of the configuration was revoked")
	}
}

// A token that another process revoked holds no longer, from then on; nor does
// one in whose place there is another of the same name.
func TestRevoked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	mine, other := NewTokenFile(path), NewTokenFile(path)
	tokens, secret := NewTokens(nil, mine), NewSecret()
	if err := other.Add("bot", Token{Hash: HashToken(secret)}); err != nil {
		t.Fatal(err)
	}
	p, err := tokens.Principal(secret)
	if err != nil || !tokens.Hold(p) {
		t.Fatal(p, err)
	}
	if err := other.Revoke("bot"); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Principal(secret); !errors.Is(err, ErrUnknownToken) || tokens.Hold(p) {
		t.Errorf("a revoked token: %v", err)
	}
	if err := other.Add("bot", Token{Hash: HashToken(NewSecret())}); err != nil {
		t.Fatal(err)
	}
	if tokens.Hold(p) {
		t.Error("a token holds in whose place there is another")
	}
	if !tokens.Hold(&Principal{Name: "oidc:x#y"}) {
		t.Error("who has no static token has lost it")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := tokens.Principal(secret); err == nil || p != nil || tokens.Hold(&Principal{Name: "token:bot", hash: "x"}) {
		t.Errorf("with a broken file: %+v, %v", p, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file is open to others: %v, %v", info.Mode(), err)
	}
}

// Of tokens that many make at once none is lost.
func TestManyMakeTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	var made sync.WaitGroup
	for i := range 20 {
		made.Go(func() {
			if err := NewTokenFile(path).Add(fmt.Sprint(i), Token{Hash: HashToken(NewSecret())}); err != nil {
				t.Error(err)
			}
		})
	}
	made.Wait()
	all, err := NewTokenFile(path).List()
	if err != nil || len(all) != 20 {
		t.Errorf("%d tokens, %v", len(all), err)
	}
	if b, err := json.Marshal(all); err != nil || strings.Contains(string(b), tokenPrefix) {
		t.Errorf("the file has a token itself: %s", b)
	}
}

func TestHashes(t *testing.T) {
	if err := CheckHash(HashToken("x")); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"", "x", "sha256:", "sha256:00", "sha256:" + strings.Repeat("z", 64), strings.Repeat("0", 64)} {
		if CheckHash(wrong) == nil {
			t.Errorf("%q is taken for a hash", wrong)
		}
	}
}
