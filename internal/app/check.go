package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/tooldex/tooldex/index/check"
)

// checkTimeout bounds the check of a state folder in a child process.
const checkTimeout = time.Minute

// CheckState verifies the files of a state folder. Damage to the store's pages
// may end the process that looks, so that args, a command line of this program
// that prints what [check.Folder] finds as JSON, look in a child process.
func CheckState(ctx context.Context, dir string, args ...string) ([]check.Problem, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return check.By(ctx, exec.Command(self, args...), dir)
}

// Harmful tells damage from what is left of damage that was mended.
func Harmful(p check.Problem) bool {
	return !strings.HasPrefix(filepath.Base(p.File), "store.damaged-")
}

// Writable makes a folder if need be and tries to write a file into it.
func Writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return PlainCause(err)
	}
	f, err := os.CreateTemp(dir, "doctor-*.tmp")
	if err != nil {
		return PlainCause(err)
	}
	_, err = f.WriteString("writable?")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// WritableByAll tells whether every user of the machine may change a file or
// folder, with its mode. A folder with the sticky bit, such as /tmp, keeps its
// files safe.
func WritableByAll(path string) (mode fs.FileMode, yes bool) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" { // which has no such mode
		return 0, false
	}
	mode = info.Mode()
	return mode.Perm(), mode.Perm()&0o002 != 0 && mode&os.ModeSticky == 0
}

// PlainCause is a file error without operation and path, for where both stand
// already.
func PlainCause(err error) error {
	if pe := new(fs.PathError); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
