//go:build unix

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestLoad serves ordinary servers for TOOLDEX_LOAD, first in turns alone and
// beside each hostile server or kind of client, then beside all of them, and
// fails unless what the process holds levels off and the ordinary calls do not
// notice. "make soak-load" runs it. Hostile servers run at the lowest
// priority: what the machine does for them is not what is measured.
func TestLoad(t *testing.T) {
	total, err := time.ParseDuration(need(t, "TOOLDEX_LOAD"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOOLDEX_LOG_LEVEL", "warn")
	l := &load{t: t, babble: filepath.Join(t.TempDir(), "babble")}
	s := configure(t, l.servers(t))
	endpoint := serveHTTP(t, s)
	l.endpoint, l.addr, l.state = endpoint, strings.TrimSuffix(strings.TrimPrefix(endpoint, "http://"), "/mcp"), s.state
	first := connect(t, &mcp.StreamableClientTransport{Endpoint: endpoint}, eras[0])
	for i := range ordinaryServers {
		find(t, first, fmt.Sprintf("ordinary%d %s", i, ordinaryTools[i%len(ordinaryTools)].name), l.tool(i))
	}

	hostile := l.hostile(total)
	alone := l.turns(hostile, total/2)
	for range maxSessions { // which the load would take minutes to reach
		l.openSession(t.Context())
	}
	beside := newTimings()
	l.window(total-total/2, beside, func(ctx context.Context) {
		var wg sync.WaitGroup
		defer wg.Wait()
		for _, h := range hostile {
			wg.Go(func() { h.run(ctx) })
		}
		l.sample(ctx, max(time.Second, total/720))
	})

	l.report()
	t.Logf("the process takes %.0f%% of a processor alone, %.0f%% beside hostile ones", 100*alone.cpu/alone.length, 100*beside.cpu/beside.length)
	for _, kind := range measured {
		a, b := alone.p99(kind), beside.p99(kind)
		t.Logf("%-13s p99 %v alone (%d calls), %v beside hostile ones (%d calls)", kind, a, len(alone.took[kind]), b, len(beside.took[kind]))
		if b > 2*a && b > a+10*time.Millisecond {
			t.Errorf("%s: p99 more than doubled", kind)
		}
	}
	if len(alone.failed)+len(beside.failed) > 0 {
		t.Errorf("%d and %d ordinary calls failed: %.2000s", len(alone.failed), len(beside.failed), strings.Join(append(alone.failed, beside.failed...), "\n"))
	}
	l.checkLevel()
}

const ordinaryServers = 10

// maxSessions is how many sessions the gateway keeps.
const maxSessions = 1000

// measured are the meta-tools whose calls are timed.
var measured = []string{"execute_tool", "search_tools"}

// ordinaryTools are called on one ordinary server each.
var ordinaryTools = []struct {
	group, name, query string
	arguments          object
}{
	{"text", "count_text", "count the words of a text", object{"text": "one two three"}},
	{"text", "sort_lines", "put lines in order", object{"text": "b\na"}},
	{"numbers", "distance_between_points", "how far apart are two places",
		object{"from": object{"latitude": 52.52, "longitude": 13.405}, "to": object{"latitude": 48.857, "longitude": 2.352}}},
}

// servers are ten ordinary servers and those that misbehave.
func (l *load) servers(t *testing.T) object {
	root := t.TempDir()
	servers := object{
		// It babbles while there is a file of this name.
		"babbler": object{"command": "nice", "args": []string{"-n", "19", "sh", "-c",
			"while [ ! -e '" + l.babble + "' ]; do sleep 1; done; while [ -e '" + l.babble + "' ]; do yes babble babble babble | head -c 1000000; done"}},
		"silent": object{"command": "sleep", "args": []string{"100000"}},
		"gone":   object{"command": "false"},
	}
	for i := range ordinaryServers {
		servers[fmt.Sprintf("ordinary%d", i)] = object{"command": tooldex(t),
			"args": []string{"sample-server", "--root", root, "--group", ordinaryTools[i%len(ordinaryTools)].group}}
	}
	for _, name := range []string{"hanging", "dying", "changing", "huge"} {
		servers[name] = object{"command": "nice", "args": []string{"-n", "19", tooldex(t), "sample-server", "--root", root, "--group", "time", "--faults"}}
	}
	return servers
}

// A load is one run.
type load struct {
	t                     *testing.T
	endpoint, addr, state string
	babble                string // see servers
	clients               []*mcp.ClientSession
	samples               []loadSample
}

type loadSample struct {
	at                              time.Duration
	goroutines, fds, rssMB, storeMB float64
}

func (*load) tool(i int) string {
	return fmt.Sprintf("ordinary%d/%s", i, ordinaryTools[i%len(ordinaryTools)].name)
}

// timings are how long the ordinary calls took, by meta-tool.
type timings struct {
	cpu, length float64 // seconds: of the process, and that it was measured for

	mu     sync.Mutex // guards the fields below
	took   map[string][]time.Duration
	failed []string
}

func newTimings() *timings { return &timings{took: map[string][]time.Duration{}} }

func (r *timings) p99(kind string) time.Duration {
	took := slices.Sorted(slices.Values(r.took[kind]))
	if len(took) == 0 {
		return 0
	}
	return took[min(len(took)*99/100, len(took)-1)].Round(10 * time.Microsecond)
}

// ordinary has four clients, two of each era, call and search for a time.
func (l *load) ordinary(ctx context.Context, length time.Duration, r *timings) {
	for len(l.clients) < 4 {
		l.clients = append(l.clients, connect(l.t, &mcp.StreamableClientTransport{Endpoint: l.endpoint}, eras[len(l.clients)%len(eras)]))
	}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var wg sync.WaitGroup
	for client, session := range l.clients {
		wg.Go(func() {
			for i := client; tick(ctx, 50*time.Millisecond); i++ {
				tool := ordinaryTools[i%ordinaryServers%len(ordinaryTools)]
				r.time(ctx, session, "execute_tool", object{"tool_name": l.tool(i % ordinaryServers), "arguments": tool.arguments})
				r.time(ctx, session, "search_tools", object{"query": tool.query, "limit": 5})
			}
		})
	}
	wg.Wait()
}

func (r *timings) time(ctx context.Context, s *mcp.ClientSession, kind string, args object) {
	began := time.Now()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: kind, Arguments: args})
	took := time.Since(began)
	if ctx.Err() != nil {
		return // the time is over
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took[kind] = append(r.took[kind], took)
	switch {
	case err != nil:
		r.failed = append(r.failed, fmt.Sprintf("%s %v: %v", kind, args, err))
	case res.IsError:
		text, _ := json.Marshal(res.Content)
		r.failed = append(r.failed, fmt.Sprintf("%s %v: %s", kind, args, text))
	}
}

// tick waits, and says whether there is time left.
func tick(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// sample reads what the process holds, until ctx ends.
func (l *load) sample(ctx context.Context, every time.Duration) {
	began := time.Now()
	for tick(ctx, every) {
		m := l.metrics()
		l.samples = append(l.samples, loadSample{
			at: time.Since(began), goroutines: m["go_goroutines"], fds: m["process_open_fds"],
			rssMB: m["process_resident_memory_bytes"] / (1 << 20), storeMB: folderSize(l.state) / (1 << 20),
		})
	}
}

func (l *load) metrics() map[string]float64 {
	out := map[string]float64{}
	res, err := http.Get("http://" + l.addr + "/metrics")
	if err != nil {
		l.t.Errorf("metrics: %v", err)
		return out
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && name != "#" {
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				out[name] = v
			}
		}
	}
	return out
}

func folderSize(dir string) float64 {
	size := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // a file that has just gone
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			size += info.Size()
		}
		return nil
	})
	return float64(size)
}

// report writes the samples to TOOLDEX_LOAD_TSV, where that is set, and logs
// a dozen of them.
func (l *load) report() {
	var tsv strings.Builder
	tsv.WriteString("seconds\tgoroutines\tdescriptors\trss_mb\tstore_mb\n")
	var table strings.Builder
	fmt.Fprintf(&table, "%8s %11s %12s %8s %9s\n", "seconds", "goroutines", "descriptors", "RSS MB", "store MB")
	step := max(1, len(l.samples)/12)
	for i, s := range l.samples {
		fmt.Fprintf(&tsv, "%.1f\t%.0f\t%.0f\t%.1f\t%.2f\n", s.at.Seconds(), s.goroutines, s.fds, s.rssMB, s.storeMB)
		if i%step == step-1 {
			fmt.Fprintf(&table, "%8.0f %11.0f %12.0f %8.1f %9.2f\n", s.at.Seconds(), s.goroutines, s.fds, s.rssMB, s.storeMB)
		}
	}
	l.t.Logf("\n%s", table.String())
	if path := os.Getenv("TOOLDEX_LOAD_TSV"); path != "" {
		if err := os.WriteFile(path, []byte(tsv.String()), 0o600); err != nil {
			l.t.Error(err)
		}
	}
}

// checkLevel fails for what still grows in the last third: the median of its
// second half is more than a tenth, and more than noise, above that of its
// first.
func (l *load) checkLevel() {
	last := l.samples[len(l.samples)*2/3:]
	if len(last) < 4 {
		l.t.Fatalf("%d samples are too few", len(l.samples))
	}
	for _, c := range []struct {
		name  string
		noise float64
		of    func(loadSample) float64
	}{
		{"goroutines", 60, func(s loadSample) float64 { return s.goroutines }},
		{"descriptors", 30, func(s loadSample) float64 { return s.fds }},
		{"RSS in MB", 16, func(s loadSample) float64 { return s.rssMB }},
		{"the store's size in MB", 2, func(s loadSample) float64 { return s.storeMB }},
	} {
		half := len(last) / 2
		before, after := median(last[:half], c.of), median(last[half:], c.of)
		if after > before+math.Max(before/10, c.noise) {
			l.t.Errorf("%s still grows at the end: from %.1f to %.1f", c.name, before, after)
		}
	}
}

func median(samples []loadSample, of func(loadSample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
