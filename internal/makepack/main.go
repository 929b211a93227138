// Command makepack writes the phrases that come with the binary,
// index/pack/pack.bin: from phrases for tools of real servers and from a set
// of labelled requests. The tools' descriptions are needed to recognise the
// tools; only hashes of them are written.
//
//	go run ./internal/makepack --real DIR/real.jsonl --catalog DIR --written DIR
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/pack"
	"github.com/tooldex/tooldex/index/phrase"
)

func main() {
	real := flag.String("real", "", "phrases for tools of real servers, JSON lines")
	catalog := flag.String("catalog", "", "folder with these servers' tools, SERVER.json each")
	written := flag.String("written", "", "folder of labelled requests: tools.jsonl, queries.*.jsonl, qrels.*.tsv")
	out := flag.String("out", "index/pack/pack.bin", "file to write")
	flag.Parse()
	if err := run(*real, *catalog, *written, *out); err != nil {
		fmt.Fprintln(os.Stderr, "makepack:", err)
		os.Exit(1)
	}
}

func run(real, catalog, written, out string) error {
	first, err := ofReal(real, catalog)
	if err != nil {
		return err
	}
	second, err := ofWritten(written)
	if err != nil {
		return err
	}
	provenance := fmt.Sprintf("phrases for %d tools of real servers and %d tools of mcp_written; both written for this project, under its licence; made by internal/makepack",
		len(first), len(second))
	var b bytes.Buffer
	if err := pack.Write(&b, provenance, append(first, second...)); err != nil {
		return err
	}
	p, err := pack.Open(b.Bytes())
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d tools, %d bytes\n", out, p.Len(), b.Len())
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// lines decodes every line of a file.
func lines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(out)+1, err)
		}
		out = append(out, v)
	}
	return out, sc.Err()
}

// ofReal reads phrases whose tools are known by server, name and a hash of the
// description; one whose description is not in the catalog is an error.
func ofReal(path, catalog string) ([]pack.Entry, error) {
	type line struct {
		Server, Name string
		Sum          string `json:"description_sha256"`
		Phrases      []phrase.Phrase
	}
	all, err := lines[line](path)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.Server, b.Server) })
	descriptions := map[string]map[string]string{} // by server, name
	var out []pack.Entry
	for _, l := range all {
		if descriptions[l.Server] == nil {
			if descriptions[l.Server], err = listed(filepath.Join(catalog, l.Server+".json")); err != nil {
				return nil, err
			}
		}
		text := descriptions[l.Server][l.Name]
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != l.Sum {
			return nil, fmt.Errorf("%s: %s/%s has another description in %s", path, l.Server, l.Name, catalog)
		}
		out = append(out, pack.Entry{Name: l.Name, Description: text, Phrases: l.Phrases})
	}
	return out, nil
}

// listed are the descriptions of a tools/list result, by name.
func listed(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type tool struct{ Name, Description string }
	var tools []tool
	if err := json.Unmarshal(text, &tools); err != nil {
		var result struct{ Tools []tool }
		if err := json.Unmarshal(text, &result); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tools = result.Tools
	}
	out := map[string]string{}
	for _, t := range tools {
		out[t.Name] = t.Description
	}
	return out, nil
}

// kinds are what the set's kinds of requests are among phrases.
var kinds = map[string]string{"agent": "can", "user": "ask", "terse": "ask2", "other": "goal"}

// ofWritten takes the requests of all splits as phrases of their tools.
func ofWritten(dir string) ([]pack.Entry, error) {
	type tool struct{ ID, Server, Name, Description string }
	tools, err := lines[tool](filepath.Join(dir, "tools.jsonl"))
	if err != nil {
		return nil, err
	}
	requests := map[string][]phrase.Phrase{} // by id of the tool
	for _, split := range []string{"train", "dev"} {
		if err := requested(dir, split, requests); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(tools, func(a, b tool) int { return cmp.Compare(a.Server, b.Server) })
	var out []pack.Entry
	for _, t := range tools {
		if ps := requests[t.ID]; ps != nil {
			out = append(out, pack.Entry{Name: t.Name, Description: t.Description, Phrases: ps})
		}
	}
	return out, nil
}

func requested(dir, split string, requests map[string][]phrase.Phrase) error {
	type query struct{ ID, Text, Kind string }
	queries, err := lines[query](filepath.Join(dir, "queries."+split+".jsonl"))
	if err != nil {
		return err
	}
	byID := map[string]query{}
	for _, q := range queries {
		byID[q.ID] = q
	}
	qrels, err := os.ReadFile(filepath.Join(dir, "qrels."+split+".tsv"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(qrels)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 3 {
			return fmt.Errorf("qrels.%s.tsv: %q: want query, tool and grade", split, line)
		}
		if q, ok := byID[f[0]]; ok && f[2] != "0" {
			requests[f[1]] = append(requests[f[1]], phrase.Phrase{Text: q.Text, Kind: kinds[q.Kind]})
		}
	}
	return nil
}
