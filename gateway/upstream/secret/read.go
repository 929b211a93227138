package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
)

const (
	longest     = 64 << 10         // of a secret, in bytes
	commandTime = 30 * time.Second // for a command to print it
	keyringTime = 30 * time.Second // for the keyring, which may ask its owner
	lingering   = time.Second      // after which a command's children are left behind
)

var (
	errEmpty = errors.New("it is empty")
	errLong  = fmt.Errorf("it is longer than %d KiB", longest>>10)
)

// plain is a secret without the end of its line.
func plain(data []byte) (string, error) {
	v := strings.TrimRight(string(data), "\r\n")
	switch {
	case v == "":
		return "", errEmpty
	case len(v) > longest:
		return "", errLong
	}
	return v, nil
}

func file(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file") // a pipe would be waited for
	}
	if err != nil {
		return "", withoutPath(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", withoutPath(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longest+3))
	if err != nil {
		return "", withoutPath(err)
	}
	return plain(data)
}

func withoutPath(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// fromKeyring asks the system's keyring, which knows no deadline.
func fromKeyring(ctx context.Context, name string) (string, error) {
	service, user := keyringItem(name)
	type answer struct {
		value string
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		v, err := keyring.Get(service, user)
		got <- answer{v, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, keyringTime)
	defer cancel()
	select {
	case a := <-got:
		switch {
		case errors.Is(a.err, keyring.ErrNotFound):
			return "", errors.New("the keyring has no such item")
		case a.err != nil:
			return "", fmt.Errorf("the keyring cannot be read: %w", a.err)
		}
		return plain([]byte(a.value))
	case <-ctx.Done():
		return "", errors.New("the keyring does not answer; unlock it")
	}
}

// command is what a command prints. What it writes on stderr is dropped, as it
// may hold the secret.
func command(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], line)
	cmd.WaitDelay = lingering
	var out bytes.Buffer
	cmd.Stdout = &limited{&out}
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("the command did not end within %v", commandTime)
	case out.Len() > longest:
		return "", errLong
	case err != nil:
		return "", fmt.Errorf("the command failed (%w); run it in a terminal to see why", err)
	}
	return plain(out.Bytes())
}

// A limited takes no more than a secret may be long.
type limited struct{ to *bytes.Buffer }

func (w *limited) Write(p []byte) (int, error) {
	if room := longest + 3 - w.to.Len(); room < len(p) {
		w.to.Write(p[:max(0, room)])
		return len(p), nil
	}
	return w.to.Write(p)
}
