package attribute

import (
	"testing"
	"time"

	"nightshift/soak/record"
)

// near says that a duration was seen, within tolerance.
func near(d *time.Duration, want, tolerance time.Duration) bool {
	return d != nil && *d >= want-tolerance && *d <= want+tolerance
}

func TestRecovery(t *testing.T) {
	build := func(from, to time.Duration) *story {
		return &story{end: 125 * sec, events: []record.Event{fault("f1", "kill", "n1", "leader", from, to)}}
	}
	cases := []struct {
		name  string
		story *story
		check func(Recovery) bool
	}{
		{"noticed and back", build(40*sec, 44*sec).stall(40*sec, 42*sec+500*ms), func(r Recovery) bool {
			return near(r.Detect, 150*ms, 12*ms) && near(r.FirstSuccess, 2502*ms, 3*ms) && near(r.Recovered, 4*sec, 0) && r.Reach == Span{40 * sec, 44 * sec}
		}},
		{"back later than healed", build(40*sec, 44*sec).stall(40*sec, 46*sec+500*ms), func(r Recovery) bool {
			return near(r.Recovered, 7*sec, 0) && r.Reach.To == 47*sec && !r.Overdue && r.Unjudged == ""
		}},
		{"a good second between two bad ones is no recovery", build(40*sec, 44*sec).stall(40*sec, 44*sec).stall(45*sec+100*ms, 45*sec+400*ms), func(r Recovery) bool {
			return near(r.Recovered, 6*sec, 0)
		}},
		{"nobody noticed", build(40*sec, 44*sec), func(r Recovery) bool {
			return r.Unnoticed && r.Detect == nil && r.FirstSuccess == nil && near(r.Recovered, 0, 0) && r.Offered > 0 && !r.Overdue
		}},
		{"failed operations are noticed", (&story{end: 125 * sec, stalls: []plant{{Span: Span{40*sec + 200*ms, 40*sec + 300*ms}, fail: true}}}).
			add(fault("f1", "kill", "n1", "", 40*sec, 44*sec)), func(r Recovery) bool { return near(r.Detect, 302*ms, 1*ms) && near(r.Recovered, 4*sec, 0) }},
		{"not back within the limit", build(40*sec, 44*sec).stall(40*sec, 60*sec), func(r Recovery) bool {
			return r.Overdue && r.Recovered == nil && r.Detect != nil && r.Reach.To >= 54*sec
		}},
		{"not back before the load ends", build(115*sec, 120*sec).stall(115*sec, 125*sec), func(r Recovery) bool {
			return !r.Overdue && r.Recovered == nil && r.Unjudged != ""
		}},
		{"another fault began before", build(40*sec, 44*sec).stall(40*sec, 60*sec).add(fault("f2", "kill", "n2", "", 46*sec, 58*sec)), func(r Recovery) bool {
			return !r.Overdue && r.Recovered == nil && r.Unjudged != ""
		}},
		{"never healed", build(40*sec, 44*sec).stall(40*sec, 42*sec).add(func() record.Event {
			f := fault("f1", "kill", "n1", "leader", 40*sec, 44*sec)
			f.To, f.Healed, f.Step = 0, false, record.StepFailed
			return f
		}()), func(r Recovery) bool { return r.Recovered == nil && r.Unjudged != "" && r.Detect != nil }},
		{"slow only for nightshift's own hold-ups", build(40*sec, 44*sec).stall(40*sec, 42*sec).hiccups(44*sec, 70*sec, 200*ms, true), func(r Recovery) bool {
			return near(r.Recovered, 4*sec, 0) && !r.Overdue
		}},
		{"slow for longer than the hold-ups", build(40*sec, 44*sec).stall(40*sec, 42*sec).hiccups(44*sec, 70*sec, 700*ms, true), func(r Recovery) bool { return r.Overdue }},
		{"slow without a hold-up", build(40*sec, 44*sec).stall(40*sec, 42*sec).hiccups(44*sec, 70*sec, 200*ms, false), func(r Recovery) bool { return r.Overdue }},
		{"skipped", (&story{end: 125 * sec}).add(record.Fault{Stamp: at(40 * sec), ID: "f1", Fault: "kill", Step: record.StepSkipped, Skipped: "no"}), func(r Recovery) bool {
			return r.Recovered == nil && r.Detect == nil && r.Unjudged != "" && r.Reach == Span{}
		}},
		{"a stall that began before is not noticing", build(40*sec, 44*sec).stall(39*sec, 40*sec+10*ms), func(r Recovery) bool { return r.Unnoticed || near(r.Detect, 0, 0) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := c.story.analyse(t)
			if r := a.Faults[0]; !c.check(r) {
				t.Errorf("detect %v first success %v recovered %v unnoticed %v overdue %v unjudged %q offered %d reach %v",
					show(r.Detect), show(r.FirstSuccess), show(r.Recovered), r.Unnoticed, r.Overdue, r.Unjudged, r.Offered, r.Reach)
			}
		})
	}
}

func show(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	return d.String()
}

// TestThinLoadIsBackByASuccess: where most seconds have no operation at all, silence is no recovery.
func TestThinLoadIsBackByASuccess(t *testing.T) {
	thin := func(until time.Duration) *story {
		s := &story{end: 125 * sec, idle: true}
		for d := 5 * sec; d < 125*sec; d += 5 * sec {
			w := record.Window{Stamp: at(d), Len: sec, Workload: "zookeeper.ephemeral", Op: "create", Size: 100, OK: 1,
				Service: hist(2 * ms), Delay: hist(), Response: hist(2 * ms)}
			if d >= 40*sec && d < until {
				w.OK, w.Failed = 0, 1
			}
			s.add(w)
		}
		return s.add(fault("f1", "kill", "n1", "", 40*sec, 41*sec))
	}
	if r := thin(45 * sec).analyse(t).Faults[0]; r.Recovered == nil || r.Overdue {
		t.Errorf("back: recovered %s overdue %v", show(r.Recovered), r.Overdue)
	}
	if r := thin(90 * sec).analyse(t).Faults[0]; r.Recovered != nil || !r.Overdue {
		t.Errorf("dead for 50 s: recovered %s overdue %v unjudged %q", show(r.Recovered), r.Overdue, r.Unjudged)
	}
}

// TestNoLoadDuringFault: a fault that met no load proves nothing.
func TestNoLoadDuringFault(t *testing.T) {
	s := &story{end: 125 * sec}
	s.add(fault("f1", "kill", "n1", "", 40*sec, 44*sec))
	var es []record.Event
	for _, e := range s.all() {
		switch e := e.(type) {
		case record.Window:
			if e.At >= 39*sec && e.At < 50*sec {
				continue
			}
		case record.SlowOp:
			if e.At >= 39*sec && e.At < 50*sec {
				continue
			}
		}
		es = append(es, e)
	}
	a, err := Analyse(t.Context(), write(t, es))
	if err != nil {
		t.Fatal(err)
	}
	if r := a.Faults[0]; r.Offered != 0 || r.Unnoticed || r.Unjudged == "" {
		t.Errorf("%+v", r)
	}
}

func TestBaseline(t *testing.T) {
	s := (&story{end: 125 * sec}).stall(40*sec, 50*sec).add(fault("f1", "kill", "n1", "", 40*sec, 48*sec))
	a := s.analyse(t)
	b := a.Baselines[0]
	if b.Median > 3*ms || b.P99 > 3*ms || b.TPS != 100 || b.Threshold != MinStall || b.Seconds < 90 {
		t.Errorf("baseline %+v", b)
	}
	// Faults without a pause between them: the better half of the load still shows what is normal.
	s = &story{end: 65 * sec}
	for d := 5 * sec; d < 65*sec; d += 4 * sec {
		s.stall(d, d+time.Second).add(fault("f"+d.String(), "kill", "n1", "", d, d+2*sec))
	}
	if b := s.analyse(t).Baselines[0]; b.Median > 3*ms || b.Seconds == 0 {
		t.Errorf("baseline %+v", b)
	}
}

// TestBackToItsOwnBaseline: a service that always fails a little is back when it fails no more than that.
func TestBackToItsOwnBaseline(t *testing.T) {
	s := (&story{end: 125 * sec}).stall(40*sec, 42*sec).add(fault("f1", "kill", "n1", "", 40*sec, 44*sec))
	for i := 5; i < 125; i++ {
		n := uint64(1)
		if i >= 40 && i < 50 {
			n = 20
		}
		s.add(record.Window{Stamp: at(time.Duration(i) * sec), Len: sec, Workload: "zookeeper.setdata", Op: "set", OK: 10, Failed: n,
			Service: hist(ms), Delay: hist(), Response: hist(ms)})
	}
	if r := s.analyse(t).Faults[0]; !near(r.Recovered, 10*sec, 0) {
		t.Errorf("recovered %s", show(r.Recovered))
	}
}
