package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"nightshift/soak/target"
)

// host is the only address servers listen on.
const host = "127.0.0.1"

// node is one server of a lab: what stays the same over its restarts, and its last process.
type node struct {
	id      string // "n1"
	index   int    // 0 for n1
	dir     string // configuration and logs
	dataDir string
	logDir  string // equals dataDir when together
	cgroup  string // empty when the host allows none
	ports   map[string]int

	op sync.Mutex // held while the node is started or stopped

	mu      sync.Mutex // guards what follows
	proc    *process   // nil before the first start
	logFrom int64      // size of the server log before the last start
}

// process is one life of a server.
type process struct {
	cmd   *exec.Cmd
	ref   target.ProcRef
	asked atomic.Bool   // the lab ended it
	done  chan struct{} // closed once it has been waited for
	state *os.ProcessState
}

// Exit tells how the last process of a node ended.
type Exit struct {
	Node   string
	Code   int    // -1 when a signal ended it; ZooKeeper exits with 0 after a failed write too
	Signal string // "killed"; empty when it exited by itself
	Asked  bool   // by Stop or Down
	Log    string // path of the server log
	Last   string // its last lines
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "was ended by signal: " + e.Signal
	}
	return "exited with code " + strconv.Itoa(e.Code)
}

func (n *node) last() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc
}

// running is the process that lives, or nil.
func (n *node) running() *process {
	if p := n.last(); p != nil && p.ref.Alive() {
		return p
	}
	return nil
}

func (n *node) addr() string { return host + ":" + strconv.Itoa(n.ports["client"]) }

func (n *node) serverLog() string  { return filepath.Join(n.dir, "server.log") }
func (n *node) consoleLog() string { return filepath.Join(n.dir, "console.log") }
func (n *node) gcLog() string      { return filepath.Join(n.dir, "gc.log") }

// start forks the server. It does not wait until it serves. The caller holds n.op.
func (n *node) start(ctx context.Context, sp *spawner, l target.Launch) (note string, err error) {
	if n.running() != nil {
		return "", nil
	}
	if p := n.last(); p != nil {
		select { // it is dead, but files and ports are free only when it has been waited for
		case <-p.done:
		case <-ctx.Done():
			return "", fmt.Errorf("start %s: wait for the end of its last process: %w", n.id, context.Cause(ctx))
		}
	}
	if err := n.keepGCLog(); err != nil {
		return "", err
	}
	out, err := os.OpenFile(n.consoleLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return "", fmt.Errorf("start %s: %w", n.id, err)
	}
	defer func() { _ = out.Close() }() // the server has its own copy
	from := int64(0)
	if fi, err := os.Stat(n.serverLog()); err == nil {
		from = fi.Size()
	}
	cmd, note, err := sp.start(l, n.cgroup, out)
	if err != nil {
		return "", fmt.Errorf("start %s: %w", n.id, err)
	}
	ref, err := target.Resolve(cmd.Process.Pid)
	if err != nil {
		return "", fmt.Errorf("start %s: %w", n.id, errors.Join(err, cmd.Process.Kill(), cmd.Wait()))
	}
	p := &process{cmd: cmd, ref: ref, done: make(chan struct{})}
	go p.wait()
	n.mu.Lock()
	n.proc, n.logFrom = p, from
	n.mu.Unlock()
	if note != "" {
		note = n.id + " " + note
	}
	return note, nil
}

// wait takes the process off the process table when it ends, so that no zombie stays. It is joined through done.
func (p *process) wait() {
	defer close(p.done)
	_ = p.cmd.Wait() // how it ended is in the state
	p.state = p.cmd.ProcessState
}

// killAfter bounds the wait for a process that got SIGKILL: one in uninterruptible sleep (frozen, a hung disk) may stay.
const killAfter = 20 * time.Second

// stop ends the server: SIGTERM, and SIGKILL after grace or when ctx ends first. The caller holds n.op.
func (n *node) stop(ctx context.Context, grace time.Duration) error {
	p := n.last()
	if p == nil {
		return nil
	}
	p.asked.Store(true)
	// SIGCONT lets a stopped server see the SIGTERM. Signals go through the handle of a child that has not been
	// waited for, so they can't reach a stranger.
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop %s: %w", n.id, err)
		}
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.done:
		return nil
	case <-t.C:
	case <-ctx.Done():
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", n.id, err)
	}
	t.Reset(killAfter)
	select {
	case <-p.done:
		return nil
	case <-t.C:
		return fmt.Errorf("stop %s: process %d has not ended %v after SIGKILL; is it frozen, or its disk hung?", n.id, p.ref.Pid, killAfter)
	}
}

// keepGCLog moves the GC log of the last life to gc.N.log: a JVM empties the file it is given.
func (n *node) keepGCLog() error {
	for i := 1; ; i++ {
		kept := filepath.Join(n.dir, fmt.Sprintf("gc.%d.log", i))
		if _, err := os.Lstat(kept); err == nil {
			continue
		}
		if err := os.Rename(n.gcLog(), kept); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keep gc log: %w", err)
		}
		return nil
	}
}

// exit tells how the last process ended; false while it runs and before the first start.
func (n *node) exit() (Exit, bool) {
	p := n.last()
	if p == nil {
		return Exit{}, false
	}
	select {
	case <-p.done:
	default:
		return Exit{}, false
	}
	e := Exit{Node: n.id, Code: p.state.ExitCode(), Asked: p.asked.Load(), Log: n.serverLog(), Last: tail(n.logText(), 10)}
	if ws, ok := p.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal().String()
	}
	if e.Last == "" { // it died before it had a log
		e.Log = n.consoleLog()
		if text, err := readTail(n.consoleLog(), 0); err == nil {
			e.Last = tail(text, 10)
		}
	}
	return e, true
}

// logText is what the last process wrote to its log, in part when that is long. A log that can't be read is empty:
// it only decorates another error.
func (n *node) logText() string {
	n.mu.Lock()
	from := n.logFrom
	n.mu.Unlock()
	text, err := readTail(n.serverLog(), from)
	if err != nil {
		return ""
	}
	return text
}

// readTail is the end of a file, at most 64 KiB and nothing before from.
func readTail(path string, from int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	fi, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	if from > fi.Size() { // rolled since
		from = 0
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(from, fi.Size()-64<<10), 64<<10))
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(b), nil
}
