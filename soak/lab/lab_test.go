package lab_test

import (
	"context"
	"testing"
	"time"

	"nightshift/soak/lab"
	"nightshift/soak/target"
)

// up brings a small lab up and takes it down at the end of the test.
func up(t *testing.T, s lab.Spec) *lab.Lab {
	t.Helper()
	lab.Require(t)
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if s.Name == "" {
		s.Name = "zk"
	}
	s.RunID = "test-" + randomID(t)
	if s.Settings == nil {
		s.Settings = map[string]string{"preAllocSize": "1024"}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	t0 := time.Now()
	l, err := lab.Up(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("up after %v %v", time.Since(t0), l.Notes())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		t0 := time.Now()
		c := l.Cluster()
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
		t.Logf("down after %v", time.Since(t0))
		nothingLeft(t, c)
	})
	return l
}

func nothingLeft(t *testing.T, c target.Cluster) {
	t.Helper()
	for _, n := range c.Nodes {
		if n.Proc.Alive() {
			t.Errorf("%s, process %d, is still alive", n.ID, n.Proc.Pid)
		}
		if n.Cgroup != "" && exists(n.Cgroup) {
			t.Errorf("cgroup %s is still there", n.Cgroup)
		}
		if exists(n.Start.Owner) {
			t.Errorf("socket %s is still there", n.Start.Owner)
		}
	}
}

func TestUp(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(string(rune('0'+nodes)), func(t *testing.T) {
			l := up(t, lab.Spec{Nodes: nodes})
			for _, n := range l.Cluster().Nodes {
				if !n.Proc.Alive() {
					t.Errorf("%+v is not alive", n)
				}
				t.Logf("%+v", n)
			}
		})
	}
}
