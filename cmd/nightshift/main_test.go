package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// The terminal goes away: the run ends in order, and a second word of it does not hurry the end.
func TestLostTerminal(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as under nohup")
	}
	seen := make(chan os.Signal, 2) // behind the one under test: both have it when this has it
	soft, hard, stop := signals()
	defer stop()
	signal.Notify(seen, syscall.SIGHUP)
	defer signal.Stop(seen)
	for range 2 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-seen
	}
	select {
	case <-soft.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the run goes on")
	}
	if hard.Err() != nil {
		t.Error("the run was told to quit at once")
	}
}

// Who reads along leaves: a write fails, and the process lives.
func TestReaderThatLeaves(t *testing.T) {
	_, _, stop := signals()
	defer stop()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }() // nothing was written
	keep, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(keep) }() // a copy
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(w.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	_, werr := os.Stderr.WriteString("progress\n")
	if err := syscall.Dup3(keep, 2, 0); err != nil {
		t.Fatal(err)
	}
	if werr == nil {
		t.Error("the write succeeded")
	}
}
