package stored

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// often is how often Watch looks. Looking costs a few system calls, and works on
// folders of which no system tells changes.
const often = 500 * time.Millisecond

// A Look is how the folder looked: two are different when a file is.
type Look string

// Watch calls changed after each change of the folder since it looked as
// known, whoever made it, within a second, until ctx ends.
func (f *Folder) Watch(ctx context.Context, known Look, changed func()) {
	again := time.NewTicker(often)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if now := f.Look(); now != known {
			known = now
			changed()
		}
	}
}

// Look is how the folder looks now.
func (f *Folder) Look() Look {
	files, err := os.ReadDir(f.dir)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, file := range files {
		if _, ok := nameOf(file.Name()); !ok {
			continue
		}
		if info, err := file.Info(); err == nil {
			fmt.Fprintln(&b, file.Name(), info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
	}
	return Look(b.String())
}
