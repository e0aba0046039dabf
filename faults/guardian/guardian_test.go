package guardian_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nightshift/faults"
	"nightshift/faults/faulttest"
	"nightshift/faults/guardian"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

const (
	self     = "/proc/self/exe"
	asGuard  = "as-guardian"
	asTool   = "as-tool"
	liveness = 5 * time.Second // a server must run again this long after the tool's death
)

// TestMain lets this binary be the stand-in, the guardian and the tool too.
func TestMain(m *testing.M) {
	faulttest.StandIn()
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case asGuard:
			err = guardian.Serve(os.Args[2])
		case asTool:
			err = tool(os.Args[2], os.Args[3], os.Args[4])
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tool injects one fault with a guardian and a hold that does not end, and prints the guardian's pid when it bites.
func tool(dir, kind, node string) error {
	journal := filepath.Join(dir, faults.JournalName)
	g, err := guardian.Start(self, []string{asGuard}, journal, filepath.Join(dir, "guardian.log"))
	if err != nil {
		return err
	}
	j, err := faults.OpenJournal(journal)
	if err != nil {
		return err
	}
	info, err := faults.Find(kind)
	if err != nil {
		return err
	}
	c := faults.Case{ID: "zk-1-" + kind, Info: info, Hold: time.Hour, Recover: time.Minute, Scope: faults.Scope{Target: "zk", System: "zookeeper"}}
	if err := json.Unmarshal([]byte(node), &c.Scope.Node); err != nil {
		return err
	}
	life := faults.Life{Host: faults.NewHost(), Journal: j, Clock: record.NewClock(), Guard: g.Check}
	r, err := life.Run(context.Background(), c, func(e record.Event) {
		if f, ok := e.(record.Fault); ok && f.Step == record.StepBit {
			fmt.Println(g.Pid())
		}
	})
	return fmt.Errorf("the life ended: %+v: %w", r, err)
}

// night is a tool with a fault in effect on a patient that is not its child.
type night struct {
	*testing.T
	patient *faulttest.Patient
	dir     string
	tool    *exec.Cmd
	guard   target.ProcRef
}

func newNight(t *testing.T, kind string) *night {
	t.Helper()
	n := &night{T: t, patient: faulttest.NewPatient(t), dir: t.TempDir()}
	node, err := json.Marshal(n.patient.Node())
	n.must(err)
	n.tool = exec.Command(self, asTool, n.dir, kind, string(node))
	n.tool.Stderr = os.Stderr
	n.tool.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := n.tool.StdoutPipe()
	n.must(err)
	n.must(n.tool.Start())
	t.Cleanup(func() { _ = n.tool.Process.Kill(); _ = n.tool.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	n.must(err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	n.must(err)
	n.guard, err = target.Resolve(pid)
	n.must(err)
	return n
}

func (n *night) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

func (n *night) journal() string { return filepath.Join(n.dir, faults.JournalName) }

func (n *night) log() string {
	b, err := os.ReadFile(filepath.Join(n.dir, "guardian.log"))
	n.must(err)
	return string(b)
}

// killTool ends the tool as kill -9 does, with its whole group.
func (n *night) killTool() {
	n.Helper()
	n.must(syscall.Kill(-n.tool.Process.Pid, syscall.SIGKILL))
	_ = n.tool.Wait() // it was killed
}

func (n *night) runs() bool {
	st, err := n.patient.Node().Proc.State()
	return err == nil && st != 'T'
}

// until polls until look is true.
func until(t *testing.T, within time.Duration, what string, look func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !look(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func pending(t *testing.T, path string) []faults.Pending {
	t.Helper()
	r := faults.NewReader(path)
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	return r.Pending()
}

// kill -9 of the tool while a server that is not its child is stopped, or killed: it runs again.
func TestToolKilled(t *testing.T) {
	for _, kind := range []string{"pause", "kill"} {
		n := newNight(t, kind)
		if n.runs() {
			t.Fatalf("%s does not bite", kind)
		}
		n.killTool()
		until(t, liveness, kind+": the server runs again", n.runs)
		until(t, 20*time.Second, "the guardian ends", func() bool { return !n.guard.Alive() })
		if len(pending(t, n.journal())) != 0 {
			t.Errorf("%s: still in the journal", kind)
		}
		for _, want := range []string{"the tool has ended without a word", "zk-1-" + kind + " (" + kind + " on n1): "} {
			if !strings.Contains(n.log(), want) {
				t.Errorf("%s: log lacks %q:\n%s", kind, want, n.log())
			}
		}
	}
}

// The server died with the tool, as in a foreground lab: nothing is started, and the guardian ends.
func TestToolKilledWithItsServers(t *testing.T) {
	n := newNight(t, "pause")
	n.patient.CloseOwner()
	n.patient.Kill()
	n.killTool()
	until(t, 20*time.Second, "the guardian ends", func() bool { return !n.guard.Alive() })
	if n.patient.Starts() != 1 || len(pending(t, n.journal())) != 0 || !strings.Contains(n.log(), "the owner is gone") {
		t.Errorf("%d starts, log:\n%s", n.patient.Starts(), n.log())
	}
}

// Tool and guardian are both killed: heal does it.
func TestBothKilled(t *testing.T) {
	n := newNight(t, "pause")
	n.must(syscall.Kill(n.guard.Pid, syscall.SIGKILL))
	n.killTool()
	until(t, 10*time.Second, "the guardian is dead", func() bool { return !n.guard.Alive() })
	if n.runs() {
		t.Fatal("the server runs already: who did that?")
	}
	n.must(faults.Heal(t.Context(), n.journal(), faults.NewHost(), func(string) {}))
	if !n.runs() || len(pending(t, n.journal())) != 0 {
		t.Error("not healed")
	}
}

// watch is a guardian in this process.
type watch struct {
	journal *faults.Journal
	path    string
	stdin   *io.PipeWriter
	ended   chan error
	mu      sync.Mutex
	log     bytes.Buffer
}

func (w *watch) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{path: filepath.Join(t.TempDir(), faults.JournalName), ended: make(chan error, 1)}
	j, err := faults.OpenJournal(w.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	w.journal = j
	r, in := io.Pipe()
	w.stdin = in
	go func() {
		w.ended <- guardian.Run(r, guardian.Options{Journal: w.path, Host: faults.NewHost(), Log: w, Poll: 10 * time.Millisecond, Limit: 20 * time.Second})
	}()
	return w
}

// paused is a patient with a pause in effect and in the journal.
func (w *watch) paused(t *testing.T, id string, life time.Duration) *faulttest.Patient {
	t.Helper()
	p := faulttest.NewPatient(t)
	info, err := faults.Find("pause")
	if err != nil {
		t.Fatal(err)
	}
	u, err := info.New(faults.NewHost()).Prepare(t.Context(), faults.Scope{Target: "zk", System: "zookeeper", Node: p.Node()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	u.ID, u.MaxLife = id, life
	if err := faults.NewHost().Signal(p.Node().Proc, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, 10*time.Second, "stopped", func() bool { return state(p) == 'T' })
	for _, err := range []error{w.journal.Prepared(u), w.journal.Mark(id, faults.MarkInjected, "")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func state(p *faulttest.Patient) byte {
	st, err := p.Node().Proc.State()
	if err != nil {
		return 0
	}
	return st
}

// The tool lives and hangs: what has outlived its life is reverted, and stays in the journal until the tool's end,
// because the tool may wake up and inject once more.
func TestMaxLife(t *testing.T) {
	w := newWatch(t)
	p := w.paused(t, "a", time.Millisecond)
	for range 2 {
		until(t, 10*time.Second, "resumed", func() bool { return state(p) != 'T' })
		until(t, 10*time.Second, "reverted in the journal", func() bool {
			ps := pending(t, w.path)
			return len(ps) == 1 && ps[0].Mark == faults.MarkReverted
		})
		if err := faults.NewHost().Signal(p.Node().Proc, syscall.SIGSTOP); err != nil { // the tool wakes up
			t.Fatal(err)
		}
		until(t, 10*time.Second, "stopped", func() bool { return state(p) == 'T' })
		if err := w.journal.Mark("a", faults.MarkInjected, ""); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.stdin.Close()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	if state(p) == 'T' || len(pending(t, w.path)) != 0 {
		t.Errorf("state %c, log:\n%s", state(p), w.log.String())
	}
}

// A fault whose life is not over is the tool's.
func TestWithinMaxLife(t *testing.T) {
	w := newWatch(t)
	p := w.paused(t, "b", time.Hour)
	w.paused(t, "a", time.Millisecond)
	until(t, 10*time.Second, "the overdue one is reverted", func() bool {
		for _, e := range pending(t, w.path) {
			if e.Undo.ID == "a" && e.Mark == faults.MarkReverted {
				return true
			}
		}
		return false
	})
	if state(p) != 'T' {
		t.Error("the other one was reverted too")
	}
	_ = w.stdin.Close()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
}

// A clean end: the guardian does nothing.
func TestDone(t *testing.T) {
	w := newWatch(t)
	p := w.paused(t, "a", time.Hour)
	if _, err := io.WriteString(w.stdin, "done\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	if state(p) != 'T' || len(pending(t, w.path)) != 1 {
		t.Error("it acted")
	}
}

func start(t *testing.T) *guardian.Guardian {
	t.Helper()
	dir := t.TempDir()
	g, err := guardian.Start(self, []string{asGuard}, filepath.Join(dir, faults.JournalName), filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// The tool ends in order and has not undone a fault: the guardian does.
func TestCloseWithAFaultInEffect(t *testing.T) {
	w := newWatch(t) // only for its journal
	if _, err := io.WriteString(w.stdin, "done\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-w.ended; err != nil {
		t.Fatal(err)
	}
	p := w.paused(t, "a", time.Hour)
	g, err := guardian.Start(self, []string{asGuard}, w.path, filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if state(p) == 'T' || len(pending(t, w.path)) != 0 {
		t.Errorf("state %c", state(p))
	}
}

// What ends a terminal's processes does not end the guardian.
func TestSignalsDoNotEndIt(t *testing.T) {
	g := start(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(g.Pid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := syscall.Kill(g.Pid(), 0); err == nil {
		t.Error("it still runs")
	}
}

// It is in a session of its own.
func TestSession(t *testing.T) {
	g := start(t)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if f[3] != strconv.Itoa(g.Pid()) {
		t.Errorf("session is %s, pid %d", f[3], g.Pid())
	}
}

// A guardian that has gone is noticed before the next fault.
func TestCheck(t *testing.T) {
	g := start(t)
	if err := syscall.Kill(g.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, 10*time.Second, "noticed", func() bool { return g.Check() != nil })
	if g.Close() == nil {
		t.Error("close says nothing")
	}
}

func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	for _, bad := range []string{"/bin/false", filepath.Join(dir, "missing")} {
		if _, err := guardian.Start(bad, nil, filepath.Join(dir, "j"), filepath.Join(dir, "log")); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
