package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// Write adds servers to the tooldex configuration at path, whose text is old,
// nil without a file. It returns the path of a copy of old, "" without one.
func Write(path string, old []byte, servers []Server) (backup string, err error) {
	text, err := Append(old, servers)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if old != nil {
		if backup, err = keep(path, old); err != nil {
			return "", err
		}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // people link their settings to another folder
	}
	return backup, atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// keep writes old beside path under the first free name.
func keep(path string, old []byte) (string, error) {
	for n := 0; ; n++ {
		backup := path + ".bak"
		if n > 0 {
			backup = fmt.Sprintf("%s.%d", backup, n)
		}
		f, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(old)
		return backup, errors.Join(err, f.Sync(), f.Close())
	}
}
