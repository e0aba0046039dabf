package faults_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/faults"
	"nightshift/faults/faulttest"
	"nightshift/soak/target"
)

// left is a journal with one fault in effect on a patient, as a tool that was killed leaves it.
func left(t *testing.T, name string, p *faulttest.Patient) (path string, u faults.Undo) {
	t.Helper()
	path = filepath.Join(t.TempDir(), faults.JournalName)
	f := kind(t, name).New(faults.NewHost())
	u, err := f.Prepare(t.Context(), faults.Scope{Target: "zk", System: "zookeeper", Node: p.Node()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	u.ID = "zk-1-" + name + "-n1"
	prepared(t, path, u)
	if err := f.Inject(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return path, u
}

func prepared(t *testing.T, path string, u faults.Undo) {
	t.Helper()
	j, err := faults.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Prepared(u); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// heal heals and returns what was said.
func heal(t *testing.T, path string, h faults.Host) (string, error) {
	t.Helper()
	var said []string
	err := faults.Heal(t.Context(), path, h, func(text string) { said = append(said, text) })
	return strings.Join(said, "\n"), err
}

func pending(t *testing.T, path string) []faults.Pending {
	t.Helper()
	r := faults.NewReader(path)
	if err := r.Refresh(); err != nil {
		t.Fatal(err)
	}
	return r.Pending()
}

func TestHeal(t *testing.T) {
	for _, name := range []string{"kill", "pause"} {
		p := faulttest.NewPatient(t)
		path, u := left(t, name, p)
		said, err := heal(t, path, faults.NewHost())
		if err != nil || len(pending(t, path)) != 0 || !strings.Contains(said, u.ID+" ("+name+" on n1): ") {
			t.Errorf("%s: %q: %v", name, said, err)
		}
		now := p.Node().Proc
		if st, err := now.State(); err != nil || st == 'T' {
			t.Errorf("%s: process is in state %c: %v", name, st, err)
		}
		if (now != u.Scope.Node.Proc) != (name == "kill") {
			t.Errorf("%s: process was %+v, is %+v", name, u.Scope.Node.Proc, now)
		}
		said, err = heal(t, path, faults.NewHost())
		if err != nil || said != "no fault is left to undo" || p.Node().Proc != now {
			t.Errorf("%s again: %q: %v", name, said, err)
		}
	}
}

// A server whose owner is gone is not started, and the entry is closed.
func TestHealOwnerGone(t *testing.T) {
	for _, name := range []string{"kill", "pause"} {
		p := faulttest.NewPatient(t)
		path, _ := left(t, name, p)
		p.CloseOwner()
		p.Kill()
		said, err := heal(t, path, faults.NewHost())
		if err != nil || !strings.Contains(said, "the owner is gone") || p.Starts() != 1 || len(pending(t, path)) != 0 {
			t.Errorf("%s: %q, %d starts: %v", name, said, p.Starts(), err)
		}
	}
}

// The owner is gone and the server, stopped, is not: it is resumed.
func TestHealResumesWithoutOwner(t *testing.T) {
	p := faulttest.NewPatient(t)
	path, _ := left(t, "pause", p)
	p.CloseOwner()
	said, err := heal(t, path, faults.NewHost())
	if st, serr := p.Node().Proc.State(); err != nil || serr != nil || st == 'T' || len(pending(t, path)) != 0 {
		t.Errorf("state %c, %v: %q: %v", st, serr, said, err)
	}
}

// Pids of another boot mean nothing here.
func TestHealOtherBoot(t *testing.T) {
	p := faulttest.NewPatient(t)
	n := p.Node()
	path := filepath.Join(t.TempDir(), faults.JournalName)
	n.Proc.BootID = "another"
	prepared(t, path, faults.Undo{ID: "a", Kind: "kill", BootID: "another", Scope: faults.Scope{Node: n}})
	said, err := heal(t, path, faults.NewHost())
	if err != nil || !strings.Contains(said, "booted since") || len(pending(t, path)) != 0 || p.Starts() != 1 {
		t.Errorf("%q: %v", said, err)
	}
}

// A kind that this version does not know is said and stays.
func TestHealUnknownKind(t *testing.T) {
	boot, err := target.BootID()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), faults.JournalName)
	prepared(t, path, faults.Undo{ID: "a", Kind: "meteorite", BootID: boot})
	_, err = heal(t, path, faulttest.NewDouble("n1"))
	if err == nil || !strings.Contains(err.Error(), "meteorite") || len(pending(t, path)) != 1 {
		t.Errorf("%v", err)
	}
}

func TestHealNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), faults.JournalName)
	if said, err := heal(t, path, faults.NewHost()); err != nil || said != "no fault is left to undo" {
		t.Errorf("%q: %v", said, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a journal was made")
	}
}

// While the tool lives, it may be just about to inject: its entry is reverted and not closed.
func TestHealLeavesTheEntryToALivingTool(t *testing.T) {
	boot, err := target.BootID()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := target.Resolve(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	d := faulttest.NewDouble("n1")
	c, _ := d.Cluster(t.Context())
	u := faults.Undo{ID: "a", Kind: "pause", BootID: boot, Scope: faults.Scope{Node: c.Nodes[0]}}
	b, err := json.Marshal(map[string]any{"mark": "prepared", "id": "a", "by": parent, "undo": u})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), faults.JournalName)
	if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := heal(t, path, d)
	if err != nil || !strings.Contains(said, "still runs and will end it itself") || len(pending(t, path)) != 1 {
		t.Errorf("%q: %v", said, err)
	}
	err = faults.Healer{Host: d, Say: func(string) {}, Orphaned: true}.Heal(t.Context(), path)
	if err != nil || len(pending(t, path)) != 0 {
		t.Errorf("orphaned: %v", err)
	}
}
