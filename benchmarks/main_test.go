package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// The benchmarks start themselves for what needs a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-child" {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A small run has every row, ours find what is there, and nothing is left
// behind. Times are not looked at.
func TestRun(t *testing.T) {
	scratch := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, scratch)
	}
	var out, log bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-sizes", "300", "-queries", "30", "-json"}, nil, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	var rows []row
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	seen := map[string]row{}
	for _, r := range rows {
		seen[r.System+" "+r.Name] = r
		if r.System == "tooldex" && r.Recall != nil && *r.Recall < .98 {
			t.Errorf("%s: recall %.3f", r.Name, *r.Recall)
		}
		if !strings.HasPrefix(r.Name, "memory") && r.P50 <= 0 {
			t.Errorf("%s of %s: no time, but %q", r.Name, r.System, r.Note)
		}
	}
	for _, name := range strings.Fields(`build open similar replace memory vector/scan vector/graph vector/graph/10%
		search/keyword search/keyword/10% search/semantic search/semantic/1% search/hybrid search/hybrid/1% execute/http execute/stdio
		load/execute/http/2025-11-25 load/execute/http/2026-07-28 load/execute/stdio/2025-11-25 load/execute/stdio/2026-07-28
		load/search/2025-11-25 load/search/2026-07-28 memory/load/2025-11-25 memory/load/2026-07-28`) {
		if _, ok := seen["tooldex "+name]; !ok {
			t.Errorf("no row %s", name)
		}
	}
	if seen["tooldex memory"].Bytes <= 0 || seen["tooldex build"].Bytes <= 0 || seen["tooldex execute/http"].Ratio <= 0 {
		t.Errorf("empty rows: %+v", rows)
	}
	if r := seen["tooldex load/search/2026-07-28"]; r.Rate <= 0 || r.Ratio <= 0 || r.P95 < r.P50 || r.Garbage <= 0 {
		t.Errorf("empty row: %+v", r)
	}
	if seen["tooldex search/keyword"].Recall == nil {
		t.Error("keyword answers were not checked")
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left %v behind (%v)", left, err)
	}
}

// A client is measured alone and beside a serve.
func TestClients(t *testing.T) {
	b, err := newBench(options{}, newBar(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(b.dir)
	if err := clients(t.Context(), b, 2); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"initialize/alone", "initialize/attached"} {
		if r := b.rows[i]; r.Name != name || r.P50 <= 0 {
			t.Errorf("got %+v, want %s", r, name)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-child nothing", `unknown child "nothing"`},
		{"-sizes 0", "want numbers of tools"},
	} {
		err := run(t.Context(), strings.Fields(test.args), nil, &bytes.Buffer{}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %s", test.args, err, test.want)
		}
	}
}
