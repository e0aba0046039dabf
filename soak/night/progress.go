package night

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/record"
)

// Live progress prints where the workloads stand every few seconds of a short run, every minute of a night.
const (
	shortEvery = 10 * time.Second
	nightEvery = time.Minute
	shortRun   = 10 * time.Minute
)

// progress shows a run while it goes on: a line for each thing that happens, and every few seconds where the
// workloads, the disks and the janitor stand.
type progress struct {
	w     io.Writer
	clock record.Clock
	every time.Duration

	mu     sync.Mutex
	phase  string
	parts  []soak.Part
	fault  string           // the one in effect
	disks  map[string]int64 // node -> allocated bytes
	sizes  map[string]int64 // node/series -> allocated bytes
	purges int
	freed  int64
	probes int // samples
}

func newProgress(s *shift) *progress {
	w := s.o.Progress
	if w == nil {
		w = io.Discard
	}
	every := shortEvery
	if s.plan.For > shortRun {
		every = nightEvery
	}
	_, _ = fmt.Fprintf(w, "plan %s, seed %d: %s of load; the run directory is %s\n", s.plan.Name, uint64(s.plan.Seed), s.plan.For, s.dir)
	return &progress{w: w, clock: s.clock, every: every, disks: map[string]int64{}, sizes: map[string]int64{}}
}

func (p *progress) watch(parts []soak.Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts = parts
}

// see takes notice of one event.
func (p *progress) see(e record.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch v := e.(type) {
	case record.Phase:
		p.phase = v.Name
		if strings.HasPrefix(v.Text, "failed: ") {
			v.Text = "failed" // the reason follows, in the verdict or as the command's error
		}
		p.say(v.At, "phase   %s%s", v.Name, after(": ", v.Text))
	case record.Node:
		if p.phase != record.PhaseEnd { // the report has them
			pid := ""
			if v.Pid > 0 {
				pid = fmt.Sprintf(" pid %d", v.Pid)
			}
			p.say(v.At, "node    %s %s %s %s%s", v.ID, v.Addr, v.Version, v.Role, pid)
		}
	case record.Fault:
		p.seeFault(v)
	case record.Purge:
		p.seePurge(v)
	case record.Series:
		p.probes++
		if kind, ok := strings.CutPrefix(v.Name, "zookeeper.files."); ok && strings.HasSuffix(kind, ".allocated") {
			key := v.Node + "/" + kind
			p.disks[v.Node] += int64(v.Value) - p.sizes[key]
			p.sizes[key] = int64(v.Value)
		}
	case record.Finding:
		p.say(p.clock.Now(), "%-7s %s: %s", v.Severity, v.Code, v.Text)
	case record.Note:
		if v.Level != "info" || v.Code != "" {
			p.say(v.At, "%-7s %s: %s", v.Level, v.Lane, v.Text)
		}
	}
}

func (p *progress) seeFault(f record.Fault) {
	what := fmt.Sprintf("%s %s", f.Fault, strings.TrimSpace(f.Node+" "+f.Role))
	switch f.Step {
	case record.StepBit:
		p.fault = what
		p.say(f.At, "fault   %s: in effect (%s)", what, last(f.Proof))
	case record.StepHealed:
		p.fault = ""
		p.say(f.At, "fault   %s: healed after %s (%s)", what, (f.To - f.From).Round(100*time.Millisecond), last(f.Proof))
	case record.StepSkipped:
		p.say(f.At, "fault   %s: skipped: %s", what, f.Skipped)
	case record.StepFailed:
		p.fault = ""
		p.say(f.At, "fault   %s: FAILED: %s", what, f.Error)
	}
}

func (p *progress) seePurge(v record.Purge) {
	p.purges++
	p.freed += v.Freed
	switch {
	case v.Error != "":
		p.say(v.At, "janitor %s: FAILED: %s", v.Node, v.Error)
	case v.Removed > 0:
		p.say(v.At, "janitor %s: removed %d files, freed %s, kept %d, restorable to %s", v.Node, v.Removed, config.Bytes(v.Freed), v.Kept, v.Zxid)
	}
}

func last(ss []string) string {
	if len(ss) == 0 {
		return "no proof"
	}
	return ss[len(ss)-1]
}

func after(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

// run prints the workloads until the func it returns is called.
func (p *progress) run() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(p.every)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				p.stand()
			}
		}
	}()
	return func() { close(done); <-ended }
}

// stand prints where every lane stands: one line a workload, one for the rest.
func (p *progress) stand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	for _, part := range p.parts {
		p.say(now, "load    %s: %s", part.Workload.Name(), figures(part.Recorder.Progress()))
	}
	line := fmt.Sprintf("lanes   %d probe samples; %d purges, freed %s", p.probes, p.purges, config.Bytes(p.freed))
	for _, n := range slices.Sorted(maps.Keys(p.disks)) {
		line += fmt.Sprintf("; %s holds %s", n, config.Bytes(p.disks[n]))
	}
	if p.fault != "" {
		line += "; fault in effect: " + p.fault
	}
	p.say(now, "%s", line)
}

// figures are those of the last 10 s per operation, and what went wrong since the begin.
func figures(ops []soak.Progress) string {
	var parts []string
	var sum soak.Progress
	for _, o := range ops {
		parts = append(parts, fmt.Sprintf("%s %.0f/s p99 %s ms", o.Op, o.RecentTPS, millis(o.RecentP99)))
		sum.Failed, sum.InDoubt, sum.Shed, sum.Late = sum.Failed+o.Failed, sum.InDoubt+o.InDoubt, sum.Shed+o.Shed, sum.Late+o.Late
	}
	out := strings.Join(parts, ", ")
	for _, c := range []struct {
		name string
		n    uint64
	}{{"failed", sum.Failed}, {"in doubt", sum.InDoubt}, {"shed", sum.Shed}, {"late", sum.Late}} {
		if c.n > 0 {
			out += fmt.Sprintf("; %d %s", c.n, c.name)
		}
	}
	return out
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

// say prints one line. That nobody reads live progress any more must not end the run.
func (p *progress) say(at time.Duration, format string, args ...any) {
	s := int(at.Seconds())
	_, _ = fmt.Fprintf(p.w, "%d:%02d:%02d  %s\n", s/3600, s/60%60, s%60, fmt.Sprintf(format, args...))
}
