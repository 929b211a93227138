package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/internal/config"
)

func TestPhrasePacks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "more.jsonl")
	line := `{"name":"pay","description":"Pay a bill","phrases":["settle up"]}`
	if err := os.WriteFile(path, []byte(line), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := phrasePacks(config.Phrases{Pack: "off"})
	if p != nil || err != nil {
		t.Errorf("no pack: %v, %v", p, err)
	}
	p, err = phrasePacks(config.Phrases{Pack: "off", Packs: []string{path}})
	if err != nil || len(p.Find("pay", "pay a bill")) != 1 {
		t.Errorf("one of the operator's: %v, %v", p, err)
	}
	if p, err = phrasePacks(config.Phrases{Pack: "on", Packs: []string{path}}); err != nil || len(p.Find("pay", "pay a bill")) != 1 {
		t.Errorf("both: %v", err)
	}
	_, err = phrasePacks(config.Phrases{Packs: []string{path + "x"}})
	if err == nil || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("no file: %v", err)
	}
}
