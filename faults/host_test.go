package faults_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nightshift/faults"
	"nightshift/faults/faulttest"
	"nightshift/soak/target"
)

// A pid that belongs to another process by now is never signalled.
func TestSignalOnlyThatProcess(t *testing.T) {
	p := faulttest.NewPatient(t)
	h := faults.NewHost()
	for name, change := range map[string]func(*target.ProcRef){
		"start time": func(r *target.ProcRef) { r.Ticks++ },
		"boot":       func(r *target.ProcRef) { r.BootID = "another" },
	} {
		ref := p.Node().Proc
		change(&ref)
		if err := h.Signal(ref, syscall.SIGKILL); !errors.Is(err, target.ErrGone) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	for _, pid := range []int{-1, 0, 1, os.Getpid()} {
		ref := p.Node().Proc
		ref.Pid = pid
		if err := h.Signal(ref, syscall.SIGCONT); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("pid %d: %v", pid, err)
		}
	}
	if !p.Node().Proc.Alive() {
		t.Error("it was hit")
	}
	ref := p.Node().Proc
	p.Kill()
	if err := h.Signal(ref, syscall.SIGKILL); !errors.Is(err, target.ErrGone) {
		t.Errorf("dead: %v", err)
	}
}

func TestStartByCommand(t *testing.T) {
	h, dir := faults.NewHost(), t.TempDir()
	n := target.Node{ID: "n1", System: "zookeeper", Addrs: []string{"127.0.0.1:1"}}
	if err := h.Start(t.Context(), n); err == nil || !strings.Contains(err.Error(), "names no way") {
		t.Errorf("without a way: %v", err)
	}
	n.Start.Argv = []string{"/bin/sh", "-c", "echo started > " + filepath.Join(dir, "f")}
	if err := h.Start(t.Context(), n); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(b) != "started\n" {
		t.Errorf("%q: %v", b, err)
	}
	n.Start.Argv = []string{"/bin/sh", "-c", "echo no such cluster >&2; exit 7"}
	if err := h.Start(t.Context(), n); err == nil || !strings.Contains(err.Error(), "ended with 7: no such cluster") {
		t.Errorf("failing: %v", err)
	}
	n.Start.Argv = []string{filepath.Join(dir, "missing")}
	if err := h.Start(t.Context(), n); err == nil {
		t.Error("missing: no error")
	}
}

// A start command is never killed: it may be the server.
func TestStartCommandIsLeftRunning(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	n := target.Node{ID: "n1", System: "zookeeper", Addrs: []string{"127.0.0.1:1"},
		Start: target.Start{Argv: []string{"/bin/sh", "-c", "read x < " + fifo + " && echo $x > " + filepath.Join(dir, "f")}}}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := faults.NewHost().Start(ctx, n); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "left running") {
		t.Errorf("%v", err)
	}
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for its reader, which must be there
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("on\n"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(filepath.Join(dir, "f")); err == nil && string(b) == "on\n" {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it was killed")
		}
	}
}

// Only an owner may start what it owns.
func TestStartWithoutOwner(t *testing.T) {
	h := faults.NewHost()
	n := target.Node{ID: "n1", Start: target.Start{Owner: filepath.Join(t.TempDir(), "nobody")}}
	if err := h.Start(t.Context(), n); !errors.Is(err, target.ErrNoOwner) {
		t.Errorf("start: %v", err)
	}
	if _, err := h.Lookup(t.Context(), n); !errors.Is(err, target.ErrNoOwner) {
		t.Errorf("look up: %v", err)
	}
}
