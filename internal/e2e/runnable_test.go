package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/tool"
)

// counted are figures of runs.
var counted = regexp.MustCompile(`\\?"metrics\\?":\{[^}]*\},?`)

// A tool that is seen and may not be run does not run, through no surface, and
// the caller is told so; all else is answered as if everything might run.
func TestWhatIsSeenOnly(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	ran, denied := 0, 0
	for round := 0; round < 40 && (round < 4 || ran < 100 || denied < 100); round++ {
		l := newLab(r)
		free, shows := l.serveAll(t)
		some := newLab(r)
		l.runs = &some.rule
		var last atomic.Pointer[upstream.Request]
		l.ran = func(r upstream.Request) { last.Store(&r) }
		bound, may := l.serveAll(t)
		for _, c := range calls(l) {
			if strings.Contains(c[1], "execution_count") {
				continue // is ranked by the runs, which differ
			}
			for _, name := range slices.Sorted(maps.Keys(bound)) {
				last.Store(nil)
				x, y := counted.ReplaceAllString(reply(t, bound[name], c), ""), counted.ReplaceAllString(reply(t, free[name], c), "")
				switch r := last.Load(); {
				case strings.Contains(x, "may see this tool but not run it"):
					if denied++; r != nil || !strings.Contains(y, "done") && !strings.Contains(y, "did not run: its effect") {
						t.Fatalf("%s: %v: ran %v, and where all may run: %.2000s", name, c, r, y)
					}
				case x != y:
					t.Fatalf("%s: %v\nwhere some may run: %.2000s\nwhere all may:       %.2000s", name, c, x, y)
				case r != nil:
					if ran++; !may.Runs(l.stored(r.Server, r.Tool)) || !shows.Runs(l.stored(r.Server, r.Tool)) {
						t.Fatalf("%s: %v ran %s/%s, which may not run", name, c, r.Server, r.Tool)
					}
				}
			}
		}
	}
	t.Logf("%d runs, %d denied", ran, denied)
	if ran == 0 || denied == 0 {
		t.Error("nothing is shown by this")
	}
}

// stored is a tool as the catalog has it, as far as rules read it.
func (l *lab) stored(server, name string) *index.Tool {
	for _, m := range l.tools[server] {
		if m.name() == name {
			says := l.servers[server]
			return &index.Tool{
				Server: server, Name: name, Tags: append(slices.Clone(m.tags), says.Tags...), Visibility: says.Visibility, Effect: tool.EffectOf(m.raw()),
			}
		}
	}
	panic(fmt.Sprintf("%s/%s is not in the lab", server, name))
}
