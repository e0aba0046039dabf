package faulttest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"nightshift/faults"
	"nightshift/soak/target"
)

// seenWithin bounds every wait of the suite; it says nothing about speed.
const seenWithin = 20 * time.Second

// Suite is the conformance suite of one kind of fault. Every fault must pass it.
type Suite struct {
	Info   faults.Info
	Params faults.Params
}

// Run runs the suite, or skips it with the reason when the fault is not available on this host.
func (s Suite) Run(t *testing.T) {
	if err := s.Info.Available(); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name string
		test func(*trial)
	}{
		{"prepare only reads", (*trial).prepareOnlyReads},
		{"bites and heals", (*trial).bitesAndHeals},
		{"undo twice", (*trial).undoTwice},
		{"undo before inject", (*trial).undoBeforeInject},
		{"cancelled", (*trial).cancelled},
		{"dies meanwhile", (*trial).diesMeanwhile},
		{"restarts meanwhile", (*trial).restartsMeanwhile},
		{"gone before", (*trial).goneBefore},
		{"other process", (*trial).otherProcess},
		{"owner gone", (*trial).ownerGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(&trial{T: t, Suite: s, host: faults.NewHost(), p: NewPatient(t)})
		})
	}
}

// trial is one test on a patient of its own. Each step is done by a fault of its own and with an Undo that went
// through JSON: all that one step knows of another is in there.
type trial struct {
	*testing.T
	Suite
	host faults.Host
	p    *Patient
}

func (c *trial) fault() faults.Fault { return c.Info.New(c.host) }

func (c *trial) prepare() faults.Undo {
	c.Helper()
	c.serves()
	u, err := c.fault().Prepare(c.Context(), faults.Scope{Target: "zk", System: "zookeeper", Node: c.p.Node()}, c.Params)
	if err != nil {
		c.Fatalf("prepare: %v", err)
	}
	if boot, err := target.BootID(); err != nil || u.BootID != boot || u.Kind != c.Info.Kind {
		c.Fatalf("undo is of kind %q and boot %q: %v", u.Kind, u.BootID, err)
	}
	b, err := json.Marshal(u)
	if err != nil {
		c.Fatal(err)
	}
	var read faults.Undo
	if err := json.Unmarshal(b, &read); err != nil {
		c.Fatal(err)
	}
	return read
}

func (c *trial) inject(u faults.Undo) {
	c.Helper()
	if err := c.fault().Inject(c.Context(), u); err != nil {
		c.Fatalf("inject: %v", err)
	}
	c.await(u, faults.Biting)
}

func (c *trial) revert(u faults.Undo) {
	c.Helper()
	if err := c.fault().Revert(c.Context(), u); err != nil {
		c.Fatalf("revert: %v", err)
	}
}

func (c *trial) seen(u faults.Undo, ph faults.Phase) (bool, string) {
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	ev, err := c.fault().Observe(ctx, u, ph)
	if err != nil {
		return false, err.Error()
	}
	return ev.Seen, ev.Text
}

// until polls look until it is true; its text says what was seen last.
func (c *trial) until(what string, look func() (bool, string)) {
	c.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.NewTimer(seenWithin)
	defer tick.Stop()
	defer end.Stop()
	for {
		ok, text := look()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			c.Fatalf("not seen within %s: %s; last was %s", seenWithin, what, text)
		}
	}
}

func (c *trial) await(u faults.Undo, ph faults.Phase) {
	c.Helper()
	what := map[faults.Phase]string{faults.Biting: "bite", faults.Healed: "healed"}[ph]
	c.until(what, func() (bool, string) { return c.seen(u, ph) })
}

// serves waits until the patient serves, which it must.
func (c *trial) serves() {
	c.Helper()
	c.until("the patient serves", func() (bool, string) {
		ctx, cancel := context.WithTimeout(c.Context(), time.Second)
		defer cancel()
		if err := c.host.Serving(ctx, c.p.Node()); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// same fails when the patient's process is another one than before, or is stopped.
func (c *trial) same(before target.ProcRef) {
	c.Helper()
	if now := c.p.Node().Proc; now != before {
		c.Errorf("process is %+v, was %+v", now, before)
	}
	if st, err := c.host.State(before); err != nil || st == 'T' {
		c.Errorf("process is in state %c: %v", st, err)
	}
}

func (c *trial) prepareOnlyReads() {
	before := c.p.Node().Proc
	u := c.prepare()
	if seen, text := c.seen(u, faults.Biting); seen {
		c.Errorf("seen to bite before it is injected: %s", text)
	}
	c.same(before)
}

func (c *trial) bitesAndHeals() {
	u := c.prepare()
	c.inject(u)
	if seen, text := c.seen(u, faults.Healed); seen {
		c.Fatalf("seen healed while it bites: %s", text)
	}
	c.revert(u)
	c.await(u, faults.Healed)
	c.serves()
}

func (c *trial) undoTwice() {
	u := c.prepare()
	c.inject(u)
	c.revert(u)
	c.await(u, faults.Healed)
	before, starts := c.p.Node().Proc, c.p.Starts()
	c.revert(u)
	c.revert(u)
	c.await(u, faults.Healed)
	c.same(before)
	if c.p.Starts() != starts {
		c.Error("started again by a second undo")
	}
}

func (c *trial) undoBeforeInject() {
	before := c.p.Node().Proc
	u := c.prepare()
	c.revert(u)
	c.await(u, faults.Healed)
	c.same(before)
}

// cancelled: whether Inject did it, did half of it or nothing, the undo brings it back.
func (c *trial) cancelled() {
	u := c.prepare()
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	_ = c.fault().Inject(ctx, u) // either is right
	// A kill may still be on its way when the first undo looks; whoever undoes asks again until it is healed.
	c.until("healed", func() (bool, string) {
		c.revert(u)
		return c.seen(u, faults.Healed)
	})
	c.serves()
}

func (c *trial) diesMeanwhile() {
	u := c.prepare()
	c.inject(u)
	c.p.Kill()
	if seen, text := c.seen(u, faults.Healed); seen {
		c.Fatalf("seen healed while nothing runs: %s", text)
	}
	c.revert(u)
	c.p.Start() // unless the undo did
	c.await(u, faults.Healed)
	c.serves()
}

func (c *trial) restartsMeanwhile() {
	u := c.prepare()
	c.inject(u)
	c.p.Kill()
	c.p.Start()
	before, starts := c.p.Node().Proc, c.p.Starts()
	c.serves()
	c.revert(u)
	c.await(u, faults.Healed)
	c.same(before)
	if c.p.Starts() != starts {
		c.Error("started although it ran")
	}
}

// goneBefore: what is not running can't be a victim, and that is a skip, not an error.
func (c *trial) goneBefore() {
	n := c.p.Node()
	c.p.Kill()
	_, err := c.fault().Prepare(c.Context(), faults.Scope{Target: "zk", System: "zookeeper", Node: n}, c.Params)
	if !errors.Is(err, faults.ErrUnavailable) {
		c.Errorf("prepare on a dead process: %v", err)
	}
}

// otherProcess: the pid belongs to another process by now; nothing may happen to that one.
func (c *trial) otherProcess() {
	before := c.p.Node().Proc
	u := c.prepare()
	u.Scope.Node.Proc.Ticks--
	if err := c.fault().Inject(c.Context(), u); err == nil {
		c.Error("injected into a process that is not there")
	}
	_ = c.fault().Revert(c.Context(), u)
	c.same(before)
	c.serves()
}

// ownerGone: who owned the server has died and took it along. Nobody starts it, and that is recognisable.
func (c *trial) ownerGone() {
	u := c.prepare()
	c.inject(u)
	c.p.CloseOwner()
	c.p.Kill()
	starts := c.p.Starts()
	err := c.fault().Revert(c.Context(), u)
	if err == nil {
		var ev faults.Evidence
		ev, err = c.fault().Observe(c.Context(), u, faults.Healed)
		if ev.Seen {
			c.Errorf("seen healed: %s", ev.Text)
		}
	}
	if !errors.Is(err, target.ErrNoOwner) {
		c.Errorf("undo without an owner: %v", err)
	}
	if c.p.Starts() != starts {
		c.Error("started although its owner is gone")
	}
}
