package probes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"nightshift/soak/target"
)

// anchor says where a JVM's uptime zero lies on the run's time line.
type anchor struct {
	proc        target.ProcRef
	zero        time.Duration
	uncertainty time.Duration
	by          string // what it was taken from
	coarse      bool   // the JVM had not yet said when it began
	at          time.Duration
}

const tick = time.Second / ticksPerSecond

// Between the start of the process and uptime zero the launcher loads the JVM: 5 to 30 ms on an idle host.
const (
	launch      = 40 * time.Millisecond
	launchSlack = 40 * time.Millisecond
	launchMax   = 5 * time.Second // a begin of the JVM later than this is not of this process, or the wall clock was set
	// createVmBeginTime is cut to a millisecond, and uptime zero is half a millisecond after it.
	beginSlack = 3 * time.Millisecond
)

// errYoung says that the JVM will soon say itself when it began: its lines wait until then.
var errYoung = errors.New("the JVM is not up yet")

// young is how long a JVM may take from its start to its performance data.
const young = 10 * time.Second

// anchor finds uptime zero of the JVM that writes a node's log now. It is not before's process.
func (p *gc) anchor(ctx context.Context, n member, before anchor) (anchor, error) {
	nodes, err := p.nodes.nodes(ctx, "", time.Second)
	if err != nil {
		return anchor{}, err
	}
	for _, m := range nodes {
		if m.Cluster != n.Cluster || m.ID != n.ID {
			continue
		}
		switch {
		case m.Proc.Pid <= 0:
			return anchor{}, errors.New("the process that writes its GC log is not known")
		case m.Proc == before.proc:
			return anchor{}, errors.New("its GC log is of a new process that is not known yet")
		case p.env.Run.BootID != "" && m.Proc.BootID != "" && m.Proc.BootID != p.env.Run.BootID:
			return anchor{}, errors.New("its process is of another boot of the host")
		}
		if u, err := readUsage(p.env, m.Proc.Pid, 0); err != nil || !u.is(m.Proc) {
			return anchor{}, fmt.Errorf("process %d, which wrote its GC log, has ended", m.Proc.Pid)
		}
		a := p.measure(m.Proc)
		if a.coarse && p.env.Clock.Now()-(a.zero-launch) < young {
			return anchor{}, errYoung
		}
		return a, nil
	}
	return anchor{}, errors.New("the node is not in the cluster any more")
}

// refineFor is how long a JVM is asked again: it writes createVmBeginTime when it is up, not when it begins.
const refineFor = time.Minute

// refine makes a coarse anchor a better one, when the JVM has said more since.
func (p *gc) refine(a anchor) (anchor, bool) {
	if !a.coarse || p.env.Clock.Now()-a.at > refineFor {
		return a, false
	}
	if u, err := readUsage(p.env, a.proc.Pid, 0); err != nil || !u.is(a.proc) {
		return a, false
	}
	b := p.measure(a.proc)
	return b, !b.coarse
}

// measure takes the start of the process, which has 10 ms resolution, and refines it by what the JVM itself
// says in its performance data, in ms of wall clock.
func (p *gc) measure(proc target.ProcRef) anchor {
	start := time.Duration(proc.Ticks)*tick - time.Duration(p.env.Run.BootBase)
	a := anchor{proc: proc, zero: start + launch, uncertainty: launchSlack, by: "the start of the process",
		coarse: true, at: p.env.Clock.Now()}
	begin, ok := vmBegin(p.env, proc.Pid)
	if !ok {
		return a
	}
	s := p.clocks.stamp("", begin)
	if d := s.At - start; d < -beginSlack || d > launchMax {
		return a
	}
	a.coarse = false
	a.zero, a.uncertainty, a.by = s.At+time.Millisecond, beginSlack+p.clocks.blur.Truncate(time.Millisecond), "createVmBeginTime of its performance data"
	return a
}

// vmBegin is sun.rt.createVmBeginTime of a JVM's performance data.
func vmBegin(env Env, pid int) (time.Time, bool) {
	name := strconv.Itoa(pid)
	paths, err := filepath.Glob(env.proc(name, "root", "tmp", "hsperfdata_*", name))
	if err != nil || len(paths) != 1 {
		return time.Time{}, false
	}
	b, err := readBounded(paths[0], 1<<20)
	if err != nil {
		return time.Time{}, false
	}
	ms, ok := perfLong(b, "sun.rt.createVmBeginTime")
	return time.UnixMilli(ms), ok && ms > 0
}
