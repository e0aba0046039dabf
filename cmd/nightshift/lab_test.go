package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/soak/lab"
	"nightshift/soak/target"
)

// These tests run the real binary on real servers: what they prove is about processes, and a test process
// that plays the tool would prove it about itself.

// realNight is the quickstart, shorter.
const realNight = `
nightshift: 1
for: 90s
warmup: 8s
targets:
  zk: {system: zookeeper, lab: {nodes: 3, settings: {snapCount: 500, preAllocSize: 1024}}}
workloads:
  - {kind: zookeeper/ephemeral, target: zk, connections: 4, paths: 3, size: 1024, rate: 40/s}
  - {kind: zookeeper/pubsub, target: zk, publishers: 2, paths: 5, size: 512, rate: 10/s, get_after_notify: true}
  - {kind: zookeeper/setdata, target: zk, connections: 4, paths: 3, size: 1024, rate: 40/s}
faults:
  schedule: {first: 5s, every: 30s, jitter: 0%}
  mix:
    - {kind: kill, nodes: leader, hold: 3s, recover: 40s}
    - {kind: pause, nodes: follower, hold: 3s, recover: 40s}
janitor:
  - {target: zk, keep: 3, every: 15s}
`

// pauseNight does nothing but pause a follower, for long.
const pauseNight = `
nightshift: 1
for: 90s
warmup: 2s
targets:
  zk: {system: zookeeper, lab: {nodes: 3}}
workloads:
  - {kind: zookeeper/setdata, target: zk, connections: 3, paths: 2, size: 256, rate: 10/s}
faults:
  schedule: {first: 6s, every: 70s, jitter: 0%}
  mix: [{kind: pause, nodes: follower, hold: 40s}]
`

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "nightshift-test")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, "nightshift")
	out, err := exec.Command("go", "build", "-o", exe, ".").CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return exe, nil
})

// binary is nightshift itself, with state of its own and the user's cache of servers.
func binary(t *testing.T) func(args ...string) *exec.Cmd {
	t.Helper()
	lab.Require(t)
	exe, err := build()
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	return func(args ...string) *exec.Cmd {
		cmd := exec.Command(exe, args...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
		return cmd
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// exit runs a command to its end and returns its exit code and output.
func exit(t *testing.T, cmd *exec.Cmd) (int, string) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func TestLabNight(t *testing.T) {
	nightshift, dir := binary(t), filepath.Join(t.TempDir(), "run")
	code, out := exit(t, nightshift("run", write(t, "night.yaml", realNight), "--out", dir))
	pids := serverPids(out)
	if code != exitPass || len(pids) < 3 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for _, p := range pids {
		if p.Alive() {
			t.Errorf("server process %d is left", p.Pid)
		}
	}
	cmd := nightshift("report", "--json", dir)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var rep struct {
		Faults []struct{ Bit, Healed bool }
		Purges []struct {
			Removed    int
			Restorable bool
		}
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatal(err)
	}
	worked := 0
	for _, p := range rep.Purges {
		if p.Removed > 0 && p.Restorable {
			worked++
		}
	}
	if len(rep.Faults) != 2 || !rep.Faults[0].Bit || !rep.Faults[1].Healed || worked < 3 {
		t.Errorf("faults %+v, %d purges that removed something", rep.Faults, worked)
	}
	if !strings.Contains(out, "phase   restart") || strings.Contains(out, "restart-failed") {
		t.Errorf("the servers were not restarted on what was kept:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "traces.otlp.jsonl")); err != nil {
		t.Error(err)
	}
}

var pidLine = regexp.MustCompile(`node +n\d .* pid (\d+)`)

// serverPids are the server processes that live progress names. Those that are gone are left out.
func serverPids(out string) map[int]target.ProcRef {
	pids := map[int]target.ProcRef{}
	for _, m := range pidLine.FindAllStringSubmatch(out, -1) {
		pid, _ := strconv.Atoi(m[1]) // the pattern is digits
		pids[pid] = target.ProcRef{Pid: pid}
		if p, err := target.Resolve(pid); err == nil {
			pids[pid] = p
		}
	}
	return pids
}

// begin starts a run and reads its progress until a line holds word; what it read so far is returned.
func begin(t *testing.T, cmd *exec.Cmd, word string) string {
	t.Helper()
	r, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed early
	limit := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var seen strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), word) {
			go func() { _, _ = io.Copy(io.Discard, r) }() // so that it never waits for a reader
			return seen.String()
		}
	}
	t.Fatalf("the run never said %q:\n%s", word, seen.String())
	return ""
}

// soon waits for a state that must come within 5 s of the tool's death.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("after 5s still not: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestLabKilledTool: kill -9 of nightshift while a server of its lab is stopped leaves no server, and a run that can be reported.
func TestLabKilledTool(t *testing.T) {
	nightshift, dir := binary(t), filepath.Join(t.TempDir(), "run")
	cmd := nightshift("run", write(t, "night.yaml", pauseNight), "--out", dir)
	seen := begin(t, cmd, "in effect")
	pids := serverPids(seen)
	if len(pids) != 3 {
		t.Fatalf("%d servers in\n%s", len(pids), seen)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	soon(t, "all servers are gone", func() bool {
		for _, p := range pids {
			if p.Alive() {
				return false
			}
		}
		return true
	})
	code, out := exit(t, nightshift("report", dir, "--exit-code"))
	if code != exitAborted || !strings.Contains(out, "setdata") {
		t.Errorf("report of a killed run: exit code %d\n%s", code, out)
	}
	if code, out := exit(t, nightshift("heal", dir)); code != exitPass {
		t.Errorf("heal: exit code %d\n%s", code, out)
	}
	if code, out := exit(t, nightshift("heal", dir)); code != exitPass {
		t.Errorf("heal again: exit code %d\n%s", code, out)
	}
}

// TestLabKilledToolOnOthersServers: kill -9 of nightshift while a server that is not its child is stopped leaves
// that server running.
func TestLabKilledToolOnOthersServers(t *testing.T) {
	nightshift, dir := binary(t), filepath.Join(t.TempDir(), "run")
	up, err := nightshift("lab", "up", "--detach", "--json").Output()
	if err != nil {
		t.Fatalf("lab up: %v %s", err, up)
	}
	defer func() {
		if code, out := exit(t, nightshift("lab", "down")); code != exitPass {
			t.Errorf("lab down: exit code %d\n%s", code, out)
		}
	}()
	var c target.Cluster
	if err := json.Unmarshal(up, &c); err != nil {
		t.Fatal(err)
	}
	addrs := ""
	for _, n := range c.Nodes {
		addrs += "," + n.Addrs[0]
	}
	cmd := nightshift("run", write(t, "night.yaml", pauseNight), "--out", dir, "--target", "zookeeper="+addrs[1:], "--allow", "faults")
	begin(t, cmd, "in effect")
	stopped := 0
	for _, n := range c.Nodes {
		if s, err := n.Proc.State(); err == nil && s == 'T' {
			stopped++
		}
	}
	if stopped != 1 {
		t.Fatalf("%d servers are stopped, want 1", stopped)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	soon(t, "every server runs", func() bool {
		for _, n := range c.Nodes {
			if s, err := n.Proc.State(); err != nil || s == 'T' {
				return false
			}
		}
		return true
	})
	if code, out := exit(t, nightshift("heal", dir)); code != exitPass || !strings.Contains(out, "removed") {
		t.Errorf("heal: exit code %d\n%s", code, out)
	}
}
