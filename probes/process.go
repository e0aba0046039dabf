package probes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

func processInfo() Info {
	return Info{
		Kind:    "process",
		Purpose: "memory, processor time, open files, threads, disk bytes and state of each server process, and of nightshift itself",
		Cost:    "three small files of /proc and one directory of open files a process: about 0.3 ms with 100 open files",
		Every:   time.Second,
	}
}

// ticksPerSecond is USER_HZ, which Linux fixes at 100 for all that /proc says.
const ticksPerSecond = 100

// process looks at server processes on this host. A process that has ended is looked up again: after a
// restart the node has another pid. A server that is down is a reading (process.up 0), not a gap.
type process struct {
	name   string
	env    Env
	nodes  *clusters
	before map[string]usage // node, or "" for nightshift
}

func newProcess(s Spec, env Env, _ none) (Probe, error) {
	cs, err := clustersOf(env, s.Target)
	return &process{name: named(s.Kind, s.Target), env: env, nodes: cs, before: map[string]usage{}}, err
}

// Name implements Probe.
func (p *process) Name() string { return p.name }

// usage is what one look at a process gave.
type usage struct {
	at      time.Duration
	state   byte
	ticks   uint64 // start time in clock ticks since boot
	cpu     time.Duration
	threads int
	rss     int64
	fds     int // -1: not permitted
	read    int64
	written int64 // -1: not permitted
}

// is says whether the very process was looked at, and still runs.
func (u usage) is(ref target.ProcRef) bool {
	return u.ticks == ref.Ticks && u.state != 'Z' && u.state != 'X'
}

// Sample implements Probe.
func (p *process) Sample(ctx context.Context) ([]Reading, error) {
	rs, errSelf := p.self()
	nodes, err := p.nodes.nodes(ctx, "", 10*time.Second)
	for _, n := range nodes {
		if local(n.Node) && n.Proc.Pid > 0 && !p.runs(n) {
			nodes, err = p.nodes.nodes(ctx, "", time.Second)
			break
		}
	}
	errs := []error{errSelf, err}
	for _, n := range nodes {
		r, err := p.node(n)
		if err != nil {
			errs = append(errs, Gap{Node: n.ID, Err: err})
		}
		rs = append(rs, r...)
	}
	return rs, errors.Join(errs...)
}

func (p *process) runs(n member) bool {
	u, err := readUsage(p.env, n.Proc.Pid, 0)
	return err == nil && u.is(n.Proc)
}

func (p *process) node(n member) ([]Reading, error) {
	if !local(n.Node) {
		return nil, unavailable("the node runs on host %s; its process can't be seen from here", n.Host)
	}
	if n.Proc.Pid <= 0 {
		return nil, unavailable("its process is not known; say in the plan how to find it")
	}
	at := p.env.Clock.Now()
	up := func(v float64) Reading {
		return record.Series{Stamp: record.Stamp{At: at}, Name: "process.up", Node: n.ID, Unit: "1", Value: v}
	}
	u, err := readUsage(p.env, n.Proc.Pid, at)
	if errors.Is(err, os.ErrNotExist) || err == nil && !u.is(n.Proc) {
		delete(p.before, n.ID)
		return []Reading{up(0)}, nil
	}
	if err != nil {
		return nil, err
	}
	rs := append([]Reading{up(1)}, u.series("process", n.ID)...)
	if was, ok := p.before[n.ID]; ok && was.ticks == u.ticks {
		rs = append(rs, u.since(was, "process", n.ID)...)
	}
	p.before[n.ID] = u
	return rs, nil
}

func (p *process) self() ([]Reading, error) {
	u, err := readUsage(p.env, os.Getpid(), p.env.Clock.Now())
	if err != nil {
		return nil, err
	}
	u.read, u.written = threadIO(p.env, strconv.Itoa(os.Getpid()))
	rs := u.series("self", "")
	if was, ok := p.before[""]; ok {
		rs = append(rs, u.since(was, "self", "")...)
	}
	p.before[""] = u
	return rs, nil
}

func (u usage) series(prefix, node string) []Reading {
	var rs []Reading
	one := func(name, unit string, v float64) {
		rs = append(rs, record.Series{Stamp: record.Stamp{At: u.at}, Name: prefix + "." + name, Node: node, Unit: unit, Value: v})
	}
	one("rss", "By", float64(u.rss))
	one("cpu.time", "s", u.cpu.Seconds()) // since the process began
	one("threads", "1", float64(u.threads))
	stopped := 0.0
	if u.state == 'T' || u.state == 't' {
		stopped = 1
	}
	one("stopped", "1", stopped)
	if u.fds >= 0 {
		one("fds", "1", float64(u.fds))
	}
	if u.written >= 0 { // since the process began, as it reached the disk
		one("read", "By", float64(u.read))
		one("written", "By", float64(u.written))
	}
	return rs
}

func (u usage) since(was usage, prefix, node string) []Reading {
	span := u.at - was.at
	if span <= 0 {
		return nil
	}
	return []Reading{record.Series{ // 100 % is one core
		Stamp: record.Stamp{At: u.at}, Name: prefix + ".cpu", Node: node, Unit: "%",
		Value: 100 * max(0, (u.cpu-was.cpu).Seconds()) / span.Seconds(),
	}}
}

// readUsage reads a process. It is os.ErrNotExist when there is none of that pid.
func readUsage(env Env, pid int, at time.Duration) (usage, error) {
	dir := strconv.Itoa(pid)
	b, err := os.ReadFile(env.proc(dir, "stat"))
	if err != nil {
		if strings.Contains(err.Error(), "no such process") { // it ended between open and read
			err = os.ErrNotExist
		}
		return usage{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	u, err := parseStat(b)
	if err != nil {
		return usage{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	u.at, u.fds, u.read, u.written = at, -1, -1, -1
	if n, err := countEntries(env.proc(dir, "fd")); err == nil {
		u.fds = n
	} // else another user's process: left out
	if b, err := os.ReadFile(env.proc(dir, "io")); err == nil {
		u.read, u.written = parseIO(b)
	}
	return u, nil
}

// parseStat reads /proc/PID/stat, see proc_pid_stat(5).
func parseStat(b []byte) (usage, error) {
	// The command name may hold blanks and parentheses: fields start after the last ")".
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return usage{}, errors.New("unexpected stat: no command name")
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 22 {
		return usage{}, fmt.Errorf("unexpected stat: %d fields", len(f))
	}
	var nums [22]uint64
	for _, k := range []int{11, 12, 17, 19, 21} {
		v, err := strconv.ParseUint(f[k], 10, 63)
		if err != nil {
			return usage{}, fmt.Errorf("unexpected stat: field %d: %w", k+3, err)
		}
		nums[k] = v
	}
	return usage{
		state:   f[0][0],
		cpu:     time.Duration(nums[11]+nums[12]) * (time.Second / ticksPerSecond),
		threads: int(nums[17]),
		ticks:   nums[19],
		rss:     int64(nums[21]) * int64(os.Getpagesize()),
	}, nil
}

// parseIO reads /proc/PID/io: bytes that the block layer was really asked for.
func parseIO(b []byte) (read, written int64) {
	read, written = -1, -1
	for line := range bytes.Lines(b) {
		key, val, _ := strings.Cut(strings.TrimSpace(string(line)), ": ")
		v, err := strconv.ParseInt(val, 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "read_bytes":
			read = v
		case "write_bytes":
			written = v
		}
	}
	return read, written
}

// threadIO sums what the threads of a process did. The process's own figure would do for one without children:
// Linux adds to it what each child had done when it is waited for, and a lab's servers are our children.
func threadIO(env Env, pid string) (read, written int64) {
	tasks, err := filepath.Glob(env.proc(pid, "task", "*", "io"))
	if err != nil || len(tasks) == 0 {
		return -1, -1
	}
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended; what it did is left out
		}
		if r, w := parseIO(b); w >= 0 {
			read, written = read+r, written+w
		}
	}
	return read, written
}

// countEntries counts a directory without holding all names.
func countEntries(dir string) (int, error) {
	d, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = d.Close() }() // only read from
	n := 0
	for {
		names, err := d.Readdirnames(1024)
		n += len(names)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
