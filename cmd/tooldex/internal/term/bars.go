package term

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// Bars show one bar at a time on standard error, and none when that is
// not a terminal.
type Bars struct {
	w io.Writer // nil shows nothing

	mu    sync.Mutex // guards the fields below
	stage string
	bar   *progressbar.ProgressBar
}

func NewBars(w io.Writer, quiet bool) *Bars {
	f, ok := under(w).(*os.File)
	if quiet || !ok || !isatty.IsTerminal(f.Fd()) && !isatty.IsCygwinTerminal(f.Fd()) {
		return &Bars{}
	}
	return &Bars{w: f} // a bar moves the cursor
}

func (b *Bars) Tick(stage string, done, total int) {
	if b.w == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil || stage != b.stage || total != b.bar.GetMax() {
		b.finishLocked()
		b.stage = stage
		b.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription(Flat(stage)),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	if done > int(b.bar.State().CurrentNum) {
		_ = b.bar.Set(done) // a bar that cannot be drawn must not end the work
	}
}

func (b *Bars) finishLocked() {
	if b.bar != nil {
		_ = b.bar.Finish() // see tick
		b.bar = nil
	}
}

func (b *Bars) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finishLocked()
}
