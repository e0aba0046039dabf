package guardian

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"nightshift/faults"
)

const (
	readyWithin = 10 * time.Second
	closeWithin = 15 * time.Second
	readyFD     = 3 // in the guardian: it writes "ready" there and closes it
)

// Guardian is the handle that the tool has of its guardian.
type Guardian struct {
	pid    int
	path   string // of the journal
	log    string
	lives  *os.File // write end of the pipe; its end tells the guardian that the tool has ended
	exited chan struct{}
	once   sync.Once
	err    error // of its exit; read only after exited is closed
	closed error
}

// Start starts `self args... JOURNAL` as the guardian of a journal and returns when it is on guard. That command has
// to call Serve. The journal need not exist yet. What the guardian does is appended to the file log. self is
// usually /proc/self/exe, which is there even when the binary has been replaced.
func Start(self string, args []string, journal, log string) (*Guardian, error) {
	journal, err := filepath.Abs(journal)
	if err != nil {
		return nil, fmt.Errorf("start guardian: %w", err)
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close() // ours were only for handing over
		}
	}()
	// A file and no pipe or terminal: those may be gone when the guardian has something to say.
	out, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start guardian: %w", err)
	}
	files = append(files, out)
	r, w, err := os.Pipe() // close-on-exec: no other child of ours holds the write end
	if err != nil {
		return nil, fmt.Errorf("start guardian: %w", err)
	}
	files = append(files, r)
	readyR, readyW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start guardian: %w", err), w.Close())
	}
	files = append(files, readyR)
	cmd := exec.Command(self, append(append([]string(nil), args...), journal)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = r, out, out, []*os.File{readyW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = readyW.Close() // only the guardian's copy counts: its end is the end of the guardian
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start guardian: %w", err), w.Close())
	}
	g := &Guardian{pid: cmd.Process.Pid, path: journal, log: log, lives: w, exited: make(chan struct{})}
	go func() {
		defer close(g.exited)
		g.err = cmd.Wait()
	}()
	if err := awaitReady(readyR); err != nil {
		return nil, errors.Join(fmt.Errorf("start guardian: it did not come up (see %s): %w", log, err), g.Close())
	}
	return g, nil
}

// awaitReady reads the guardian's word.
func awaitReady(r *os.File) error {
	if err := r.SetReadDeadline(time.Now().Add(readyWithin)); err != nil {
		return err
	}
	word, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if string(word) != "ready\n" {
		return errors.New("it ended before it was ready")
	}
	return nil
}

// Pid of the guardian's process.
func (g *Guardian) Pid() int { return g.pid }

// Check is nil while the guardian is on guard. Without it no fault may be injected.
func (g *Guardian) Check() error {
	select {
	case <-g.exited:
		if g.err != nil {
			return fmt.Errorf("the guardian has ended: %w; see %s", g.err, g.log)
		}
		return fmt.Errorf("the guardian has ended; see %s", g.log)
	default:
		return nil
	}
}

// Close tells the guardian that the tool ends in order, and waits for its exit. When the journal says that something
// is still in effect, the guardian is left to undo it instead, as if the tool had died. Calling it again returns the
// same.
func (g *Guardian) Close() error {
	g.once.Do(func() { g.closed = g.close() })
	return g.closed
}

func (g *Guardian) close() error {
	r := faults.NewReader(g.path)
	err := r.Refresh()
	if err == nil && len(r.Pending()) == 0 {
		_, err = io.WriteString(g.lives, word+"\n")
		if errors.Is(err, syscall.EPIPE) {
			err = nil // it has ended; its exit says more
		}
	}
	err = errors.Join(err, g.lives.Close())
	t := time.NewTimer(closeWithin)
	defer t.Stop()
	select {
	case <-g.exited:
		if g.err != nil {
			err = errors.Join(err, fmt.Errorf("guardian: %w; see %s", g.err, g.log))
		}
	case <-t.C:
		err = errors.Join(err, fmt.Errorf("guardian: process %d has not ended within %s and goes on by itself; see %s", g.pid, closeWithin, g.log))
	}
	return err
}
