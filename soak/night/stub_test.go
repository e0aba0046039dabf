package night

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nightshift/soak"
	"nightshift/soak/attribute"
	zkclient "nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
	"nightshift/soak/record"
	"nightshift/soak/target"
	"nightshift/soak/verdict"
)

// stubWard is an ensemble of stubs in this process. It is ward, faults.Host and dialer of a run: only what
// would be calls on processes is a double, everything else of the run is real.
type stubWard struct {
	e   *zkstub.Ensemble
	dir string

	mu      sync.Mutex
	pids    map[int]int // node -> pid of its present life
	deadPid int         // a pid for which signals do nothing
	noHeal  bool        // signals that undo do nothing
	slow    bool        // after the restart a server takes its time
	paused  map[int]bool
	later   func(ctx context.Context) // runs beside the run
	lane    soak.Lane                 // runs beside the faults
	out     string                    // run directory; empty: a new one
	said    io.Writer                 // takes progress and warnings

	interrupt time.Duration // ends the run like a signal; 0: never
}

func newStubWard(t *testing.T, o zkstub.Options) *stubWard {
	t.Helper()
	e, err := zkstub.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &stubWard{e: e, dir: o.Dir, pids: map[int]int{}, paused: map[int]bool{}}
	for id := 1; id <= 3; id++ {
		w.pids[id] = 1000 * id
	}
	return w
}

func (w *stubWard) double() *double {
	d := &double{
		ward: func(*targetSpec, string) (ward, error) { return w, nil },
		dial: w.e.Dial, host: w,
		probes: map[string]bool{"zookeeper/files": true},
	}
	if w.lane != nil {
		d.lanes = []soak.Lane{w.lane}
	}
	return d
}

func (w *stubWard) Cluster(context.Context) (target.Cluster, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := target.Cluster{Name: "zk", System: "zookeeper", Lab: true}
	for id := 1; id <= 3; id++ {
		c.Nodes = append(c.Nodes, w.node(id))
	}
	return c, nil
}

// node as it is now; the caller holds mu.
func (w *stubWard) node(id int) target.Node {
	n := target.Node{ID: fmt.Sprintf("n%d", id), System: "zookeeper", Addrs: []string{w.e.Addrs()[id-1]},
		Proc: target.ProcRef{Pid: w.pids[id], Ticks: uint64(w.pids[id]), BootID: "stub"}, Start: target.Start{Owner: "stub"}}
	if w.dir != "" {
		n.DataDirs = []string{filepath.Join(w.dir, n.ID)}
		n.LogDirs = n.DataDirs
	}
	return n
}

func (w *stubWard) Restart(ctx context.Context) error {
	for id := 1; id <= 3; id++ {
		if w.e.Role(id) == "" {
			continue
		}
		if err := w.e.Stop(id); err != nil {
			return err
		}
	}
	if w.slow {
		if err := errors.Join(w.e.Start(1), w.e.Start(2)); err != nil {
			return err
		}
		time.AfterFunc(10*time.Second, func() { _ = w.e.Start(3) })
		return until(ctx, func() bool { return w.e.Leader() != 0 })
	}
	for id := 1; id <= 3; id++ {
		if err := w.e.Start(id); err != nil {
			return err
		}
	}
	return until(ctx, func() bool { return w.e.Leader() != 0 })
}

func until(ctx context.Context, ok func() bool) error {
	for !ok() {
		if !record.Wait(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
	// The elected leader serves a moment later.
	record.Wait(ctx, time.Second)
	return nil
}

func (w *stubWard) Close(context.Context) error { return nil }

func idOf(p target.ProcRef) int { return p.Pid / 1000 }

func (w *stubWard) Signal(p target.ProcRef, sig syscall.Signal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := idOf(p)
	if w.pids[id] != p.Pid {
		return target.ErrGone
	}
	if w.deadPid == id {
		return nil
	}
	switch sig {
	case 0:
		return nil
	case syscall.SIGKILL:
		w.pids[id] = -1
		return w.e.Stop(id)
	case syscall.SIGSTOP:
		w.paused[id] = true
		return w.e.Pause(id)
	case syscall.SIGCONT:
		if w.noHeal {
			return nil
		}
		w.paused[id] = false
		return w.e.Resume(id)
	}
	return fmt.Errorf("signal %v is not doubled", sig)
}

func (w *stubWard) State(p target.ProcRef) (byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch id := idOf(p); {
	case w.pids[id] != p.Pid:
		return 0, target.ErrGone
	case w.paused[id]:
		return 'T', nil
	}
	return 'S', nil
}

func (w *stubWard) Start(_ context.Context, n target.Node) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := idOf(n.Proc)
	if w.pids[id] != -1 {
		return nil
	}
	if w.noHeal {
		return errors.New("planted: it does not start")
	}
	w.pids[id] = n.Proc.Pid + 1
	return w.e.Start(id)
}

func (w *stubWard) Lookup(_ context.Context, n target.Node) (target.Node, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, err := strconv.Atoi(strings.TrimPrefix(n.ID, "n"))
	if err != nil {
		return n, err
	}
	return w.node(id), nil
}

func (w *stubWard) Serving(ctx context.Context, n target.Node) error {
	_, err := zkclient.Words{Dial: w.e.Dial}.Status(ctx, n.Addrs[0])
	return err
}

// judged is what a report is made of.
type judged struct {
	Analysis attribute.Analysis
	Verdict  verdict.Verdict
}

func judge(dir string) (j judged, err error) {
	r, err := record.Open(dir)
	if err != nil {
		return j, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if j.Analysis, err = attribute.Analyse(context.Background(), r); err != nil {
		return j, err
	}
	j.Verdict, err = verdict.Judge(context.Background(), r, j.Analysis)
	return j, err
}

// stubRun runs a plan on the stub and returns its report.
func stubRun(t *testing.T, w *stubWard, plan string, set ...string) judged {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	o := RunOptions{Options: Options{Plan: file}, Out: filepath.Join(dir, "run"), double: w.double()}
	o.Over.Set = set
	var rep judged
	o.Report = func(runDir string) (int, error) {
		var err error
		rep, err = judge(runDir)
		return rep.Verdict.Verdict.ExitCode(), err
	}
	if w.later != nil {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.later(ctx)
	}
	if w.out != "" {
		o.Out = w.out
	}
	o.Progress = w.said
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if w.interrupt > 0 {
		defer time.AfterFunc(w.interrupt, cancel).Stop()
	}
	res, err := Run(ctx, context.Background(), o)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if cerr := w.e.Close(); cerr != nil {
		t.Errorf("stub: %v", cerr)
	}
	if res.Code != rep.Verdict.Verdict.ExitCode() {
		t.Errorf("the run's code is %d, the report says %v", res.Code, rep.Verdict.Verdict)
	}
	return rep
}

// show prints what a run that went wrong says.
func show(t *testing.T, j judged) {
	t.Helper()
	for _, r := range j.Verdict.Reasons {
		t.Logf("%s %s: %s %v", r.Severity, r.Code, r.Text, r.Evidence)
	}
	for _, o := range j.Analysis.Operations {
		t.Logf("%+v", o)
	}
	for _, f := range j.Analysis.Faults {
		t.Logf("%+v", f)
	}
	for _, n := range j.Analysis.Notes {
		t.Logf("%+v", n)
	}
}
