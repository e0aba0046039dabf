package lab

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nightshift/soak/target"
)

// shell is a system whose servers are shell scripts: what the lab does with processes, without Java. A script is
// given the number of its start and its port, and calls ready.
func shell(dir, script string) recipe {
	return recipe{
		versions:  []string{"1"},
		artifacts: func(string) []artifact { return nil },
		refused:   func(_, _ string) string { return "" },
		ports:     []string{"client"},
		dirs:      func(s Spec, id string) (string, string) { d := s.dataDir(id); return d, d },
		files:     func(Spec, *node, []*node) map[string][]byte { return nil },
		launch: func(_ Spec, n *node, _ java, _ string) target.Launch {
			head := `start=$(($(cat starts 2>/dev/null || echo 0) + 1)); echo $start >starts; port=` + strconv.Itoa(n.ports["client"]) + "; ready() { echo >../ready-$port-$start; }\n"
			return target.Launch{Argv: []string{"/bin/sh", "-c", head + script}, Env: os.Environ(), Dir: n.dir}
		},
		ready: func(_ context.Context, addrs []string) error {
			for _, a := range addrs {
				up, err := filepath.Glob(filepath.Join(dir, "ready-"+strings.TrimPrefix(a, host+":")+"-*"))
				if err != nil || len(up) == 0 {
					return errors.Join(errors.New(a+" is not up"), err)
				}
			}
			return nil
		},
	}
}

func bringShell(t *testing.T, script string) (*Lab, error) {
	t.Helper()
	s := Spec{System: "shell", Version: "1", Nodes: 2, Name: "sh", Dir: t.TempDir(), RunID: "unit-" + strconv.Itoa(os.Getpid())}
	l, err := bring(t.Context(), s, shell(s.Dir, script), java{}, "")
	if err == nil {
		t.Cleanup(func() {
			if err := l.Down(context.Background()); err != nil {
				t.Error(err)
			}
			for _, n := range l.nodes {
				if p := n.last(); p != nil && p.ref.Alive() {
					t.Errorf("%s is left", n.id)
				}
			}
		})
	}
	return l, err
}

func TestPortTakenMeanwhile(t *testing.T) {
	// The first start of n1 fails as a JVM does; the second stays.
	l, err := bringShell(t, `echo $port >>ports; if [ $start-${PWD##*/} = 1-n1 ]; then echo 'java.net.BindException: in use' >>server.log; exit 1; fi; ready; exec sleep 60`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(l.nodes[0].dir, "ports"))
	ports := strings.Fields(string(b))
	if err != nil || len(ports) != 2 || ports[0] == ports[1] {
		t.Errorf("ports of the starts: %v %v", ports, err)
	}
	if !strings.Contains(strings.Join(l.Notes(), " "), "port") {
		t.Errorf("notes are %q", l.Notes())
	}

	_, err = bringShell(t, `echo 'java.net.BindException: in use' >>server.log; exit 1`)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "BindException") {
		t.Errorf("a port that is taken for ever: %v", err)
	}
}

func TestExit(t *testing.T) {
	l, err := bringShell(t, `echo started >>server.log; trap 'echo broken >>server.log; exit 3' USR1; ready; while :; do sleep 0.01; done`)
	if err != nil {
		t.Fatal(err)
	}
	n := l.nodes[0]
	if _, dead := l.Exit("n1"); dead {
		t.Error("an exit of a running node")
	}
	if err := syscall.Kill(n.last().ref.Pid, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-n.last().done
	e, dead := l.Exit("n1")
	if !dead || e.Code != 3 || e.Asked || e.Last != "started\nbroken" || e.String() != "exited with code 3" {
		t.Errorf("%+v %v", e, dead)
	}
	if err := l.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("waiting for a dead node: %v", err)
	}
	if l.Cluster().Nodes[0].Proc.Alive() {
		t.Error("status says alive")
	}
	if err := l.Start(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(n.dir, "starts")); !n.last().ref.Alive() {
		t.Errorf("not started again: %s", got)
	}
	if err := l.Start(t.Context(), "n9"); err == nil {
		t.Error("a node that does not exist was started")
	}
}

// A stopped server gets to see SIGTERM; one that ignores it is killed, at the latest when ctx ends.
func TestStop(t *testing.T) {
	l, err := bringShell(t, `if [ -e ../deaf ]; then trap '' TERM; else trap 'echo bye >said; exit 0' TERM; fi; ready; while :; do sleep 0.01; done`)
	if err != nil {
		t.Fatal(err)
	}
	n := l.nodes[0]
	if err := syscall.Kill(n.last().ref.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := l.Stop(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	if e, _ := l.Exit("n1"); e.Code != 0 || !e.Asked || !exists(filepath.Join(n.dir, "said")) {
		t.Errorf("%+v", e)
	}
	if err := l.Stop(t.Context(), "n1"); err != nil {
		t.Errorf("the second stop: %v", err)
	}

	if err := os.WriteFile(filepath.Join(l.spec.Dir, "deaf"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(l.spec.Dir, "ready-"+strconv.Itoa(n.ports["client"])+"-2")) {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := l.Stop(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	if e, _ := l.Exit("n1"); e.Signal != "killed" || e.String() != "was ended by signal: killed" {
		t.Errorf("%+v", e)
	}
	if n.last().ref.Alive() {
		t.Error("alive")
	}
}

// A server that can't be forked is an error, also one that could not be put into its cgroup.
func TestSpawn(t *testing.T) {
	sp := newSpawner()
	defer sp.close()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	if _, _, err := sp.start(target.Launch{Argv: []string{"/no/such/program"}}, "", out); err == nil {
		t.Error("no error without a program")
	}
	cmd, note, err := sp.start(target.Launch{Argv: []string{"/bin/sleep", "60"}}, t.TempDir(), out)
	if err != nil || note == "" {
		t.Fatalf("outside a cgroup: %q %v", note, err)
	}
	own, _ := syscall.Getpgid(cmd.Process.Pid)
	if own != cmd.Process.Pid {
		t.Errorf("process group %d, want a session of its own, %d", own, cmd.Process.Pid)
	}
	if err := errors.Join(cmd.Process.Kill(), ignoreExit(cmd.Wait())); err != nil {
		t.Error(err)
	}
}

func ignoreExit(err error) error {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return nil
	}
	return err
}
