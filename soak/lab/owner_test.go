package lab_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nightshift/soak/lab"
	"nightshift/soak/target"
)

// waitGone fails when a process of c lives on. The limit is what is promised for a killed owner, and some more.
func waitGone(t *testing.T, c target.Cluster) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for _, n := range c.Nodes {
		for n.Proc.Alive() {
			if time.Now().After(deadline) {
				t.Errorf("%s, process %d, lives on without its owner", n.ID, n.Proc.Pid)
				_ = syscall.Kill(n.Proc.Pid, syscall.SIGKILL) // ours, by its start time
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// A killed owner takes its servers along, also one that is stopped, and what it leaves is removed by name.
func TestOwnerKilled(t *testing.T) {
	lab.Require(t)
	dir := t.TempDir()
	spec, err := json.Marshal(lab.Spec{Nodes: 3, Dir: dir, Name: "zk", RunID: "test-" + randomID(t)})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+string(spec))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var c target.Cluster
	if err == nil {
		err = json.Unmarshal(line, &c)
	}
	if err == nil && len(c.Nodes) != 3 {
		err = errors.New("not three nodes: " + string(line))
	}
	if err != nil {
		t.Fatal(errors.Join(err, cmd.Process.Kill(), cmd.Wait()))
	}
	if _, err := lab.RemoveLeftovers(dir); err == nil {
		t.Error("leftovers of a living owner were removed")
	}
	if err := syscall.Kill(c.Nodes[1].Proc.Pid, syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	waitGone(t, c)
	if _, err := target.Ask(t.Context(), c.Nodes[0].Start.Owner, target.Request{Op: "status"}); !errors.Is(err, target.ErrNoOwner) {
		t.Errorf("asking a killed owner gives %v, want ErrNoOwner", err)
	}

	removed, err := lab.RemoveLeftovers(dir)
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(strings.Join(removed, " "), "owner.sock") {
		t.Errorf("removed only %q", removed)
	}
	nothingLeft(t, c)
	if removed, err := lab.RemoveLeftovers(dir); err != nil || removed != nil {
		t.Errorf("the second removal gives %q, %v", removed, err)
	}
	if !exists(filepath.Join(dir, "n1", "data", "myid")) {
		t.Error("data is gone")
	}
}

func TestDetach(t *testing.T) {
	lab.Require(t)
	dir := t.TempDir()
	s := lab.Spec{Nodes: 1, Dir: dir, Name: "zk", RunID: "test-" + randomID(t)}
	if _, err := lab.Status(t.Context(), dir); !errors.Is(err, lab.ErrUnavailable) {
		t.Errorf("status without a lab: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := lab.Detach(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lab.Down(ctx, dir); err != nil {
			t.Error(err)
		}
		waitGone(t, c)
		nothingLeft(t, c)
		if _, err := lab.Status(ctx, dir); !errors.Is(err, lab.ErrUnavailable) {
			t.Errorf("status after down: %v", err)
		}
	}()
	if !c.Detached || len(c.Nodes) != 1 {
		t.Fatalf("%+v", c)
	}
	if _, err := lab.Detach(ctx, s); err == nil {
		t.Error("a second lab in the same directory was accepted")
	}
	mustWrite(t, c, "/kept", "1")

	ask := func(op string) target.Cluster {
		t.Helper()
		a, err := target.Ask(ctx, c.Nodes[0].Start.Owner, target.Request{Op: op, Node: "n1"})
		if err != nil {
			t.Fatal(op, err)
		}
		return a.Cluster
	}
	if got := ask("start").Nodes[0].Proc; got != c.Nodes[0].Proc {
		t.Errorf("start of a running node made process %+v of %+v", got, c.Nodes[0].Proc)
	}
	if ask("stop").Nodes[0].Proc.Alive() {
		t.Error("alive after stop")
	}
	n := ask("start").Nodes[0]
	if !n.Proc.Alive() || n.Proc == c.Nodes[0].Proc || n.Addrs[0] != c.Nodes[0].Addrs[0] {
		t.Errorf("after restart: %+v", n)
	}
	mustRead(t, c, "/kept", "1")
	if _, err := target.Ask(ctx, c.Nodes[0].Start.Owner, target.Request{Op: "dance"}); err == nil {
		t.Error("an unknown request was accepted")
	}
	c, err = lab.Status(ctx, dir)
	if err != nil {
		t.Error(err)
	}
}

// A start that fails in the supervisor is told with its log, and leaves nothing.
func TestDetachFails(t *testing.T) {
	lab.Require(t)
	dir := t.TempDir()
	_, err := lab.Detach(t.Context(), lab.Spec{Nodes: 1, Dir: dir, Settings: map[string]string{"serverCnxnFactory": "no.such.Factory"}})
	var e *lab.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "no.such.Factory") || !exists(e.Path) {
		t.Fatalf("error is %v", err)
	}
	if _, err := lab.Status(t.Context(), dir); !errors.Is(err, lab.ErrUnavailable) {
		t.Errorf("status after a failed start: %v", err)
	}
}
