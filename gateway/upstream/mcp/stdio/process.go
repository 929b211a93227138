package stdio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// How long a server has to leave by itself once its stdin is closed, then
// after being told to, before it is killed.
const (
	leaveGrace = 2 * time.Second
	termGrace  = time.Second
)

// A Process is a running server and everything that it started.
type Process struct {
	cmd    *exec.Cmd
	group  group
	stdin  io.WriteCloser
	stdout io.ReadCloser
	exited chan struct{} // closed once the server itself has ended
	heard  chan struct{} // closed at the end of stderr
	errs   *os.File
	stderr *tail

	stopOnce sync.Once
	wg       sync.WaitGroup
}

// A Command says what to start.
type Command struct {
	Program string            // looked up in PATH
	Args    []string          // its arguments
	Env     map[string]string // added to the environment
	Inherit []string          // variables handed on beside the usual ones; the single word "all" hands on every one
	Dir     string            // working folder; "" means this process's
}

// Start starts a server in a group of its own.
func Start(c Command, log *slog.Logger) (*Process, error) {
	path, err := exec.LookPath(c.Program)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, fmt.Errorf("command %q not found: install it, or set command to its full path", c.Program)
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("working folder %q: not a folder that can be entered: correct cwd", c.Dir)
		}
	}
	p := &Process{exited: make(chan struct{}), heard: make(chan struct{}), stderr: &tail{}}
	p.cmd = exec.Command(path, c.Args...)
	p.cmd.Err = nil // a path relative to this folder is what the operator wrote
	p.cmd.Dir = c.Dir
	p.cmd.Env = c.environ(os.Environ())
	if err := p.start(log); err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Program, err)
	}
	return p, nil
}

// Attach returns a process that was not started here: what is behind stdin and
// stdout closes exited when it ends.
func Attach(stdin io.WriteCloser, stdout io.ReadCloser, exited chan struct{}) *Process {
	p := &Process{cmd: &exec.Cmd{}, exited: exited, heard: make(chan struct{}), stderr: &tail{}, stdin: stdin, stdout: stdout}
	close(p.heard)
	return p
}

// start opens the pipes by hand: those of exec are closed when the process
// ends, whatever of its output is still unread.
func (p *Process) start(log *slog.Logger) (err error) {
	var theirs, ours []*os.File
	pipe := func(write bool) (mine, yours *os.File) {
		r, w, e := os.Pipe()
		if e != nil {
			err = e
			return nil, nil
		}
		if write {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
		return r, w
	}
	var in, out, errs *os.File
	p.stdin, in = pipe(true)
	p.stdout, out = pipe(false)
	p.errs, errs = pipe(false)
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errs
		p.group.prepare(p.cmd)
		err = p.cmd.Start()
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		for _, f := range ours {
			f.Close()
		}
		return err
	}
	if err := p.group.started(p.cmd); err != nil {
		log.Warn("children of the server may outlive it", "error", err)
	}
	p.wg.Go(func() {
		defer close(p.heard)
		p.stderr.copy(p.errs, log)
	})
	p.wg.Go(func() {
		p.cmd.Wait() // its error is in ProcessState
		close(p.exited)
		p.group.kill()
	})
	return nil
}

// stop ends the server and everything that it started, and returns once it
// is gone.
func (p *Process) stop() {
	p.stopOnce.Do(func() {
		kill := func() {}
		if p.cmd.Process != nil {
			kill = strays(p.cmd.Process.Pid)
		}
		p.stdin.Close()
		if !ended(p.exited, leaveGrace) {
			p.group.terminate()
			if !ended(p.exited, termGrace) {
				p.group.kill()
			}
		}
		<-p.exited
		kill()
		p.stdout.Close()
		// A child that left the group may hold stderr open for ever.
		late := time.AfterFunc(termGrace, func() { p.errs.Close() })
		p.wg.Wait()
		late.Stop()
		p.errs.Close()
		p.group.close()
	})
}

// ended waits for ch to be closed, for a time.
func ended(ch <-chan struct{}, within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-ch:
		return true
	case <-t.C:
		return false
	}
}

// end describes how the server ended, with its last words.
func (p *Process) end() error {
	text := "the server closed its stdout"
	select {
	case <-p.exited:
		text = "the server exited (" + p.cmd.ProcessState.String() + ")"
		ended(p.heard, exitGrace)
	default:
	}
	if last := p.stderr.last(); last != "" {
		text += "; its stderr ends: " + last
	}
	return errors.New(text)
}

// A tail logs what a server writes on stderr and keeps the last lines.
type tail struct {
	mu    sync.Mutex // guards lines
	lines []string
}

// tailLines and tailBytes bound what is kept and logged of stderr.
const (
	tailLines = 3
	tailBytes = 600
)

func (t *tail) copy(r io.Reader, log *slog.Logger) {
	buf := bufio.NewReaderSize(r, 4096)
	for {
		part, more, err := buf.ReadLine()
		if err != nil {
			if err != io.EOF && !errors.Is(err, os.ErrClosed) {
				log.Debug("reading stderr", "error", err)
			}
			return
		}
		line := strings.ToValidUTF8(strings.TrimSpace(string(part)), "")
		for more && err == nil {
			_, more, err = buf.ReadLine()
		}
		if line == "" {
			continue
		}
		log.Debug("stderr", "line", line)
		t.mu.Lock()
		t.lines = append(t.lines, line)
		t.lines = slices.Delete(t.lines, 0, max(0, len(t.lines)-tailLines))
		t.mu.Unlock()
	}
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Join(t.lines, " | ")
	if cut := len(text) - tailBytes; cut > 0 {
		text = "…" + strings.ToValidUTF8(text[cut:], "")
	}
	return text
}
