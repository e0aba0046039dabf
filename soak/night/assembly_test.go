package night

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planFile writes a plan and returns its path.
func planFile(t *testing.T, src string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const soundPlan = `nightshift: 1
for: 5m
targets:
  zk: {system: zookeeper, servers: [zk1:2181, zk2:2181, zk3:2181], allow: [load, faults]}
workloads:
  - {kind: zookeeper/setdata, target: zk, connections: 2, paths: 2, size: 1024, rate: 10/s}
faults:
  schedule: {every: 20s}
  mix: [{kind: kill, nodes: "n1"}, {kind: pause, nodes: follower}]
`

func TestProblemsOfThePlanAndOfItsRoomsComeTogether(t *testing.T) {
	if _, err := assemble(Options{Plan: planFile(t, soundPlan)}); err != nil {
		t.Fatal(err)
	}
	bad := strings.NewReplacer("for: 5m", "for: [1]", "rate: 10/s", "rate: 10/s, sizee: 3", "every: 20s", "every: 1ms").Replace(soundPlan)
	_, err := assemble(Options{Plan: planFile(t, bad+"foo: 1\n")})
	if !errors.Is(err, ErrUsage) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"2:6: for:", `6:93: workloads[0].sizee: unknown key`, "8:21: faults.schedule.every:", `10:1: foo: unknown key`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not said: %q in\n%v", want, err)
		}
	}
}

func TestPlansThatCanNotRun(t *testing.T) {
	for name, c := range map[string]struct{ old, now, want string }{
		"no list of workloads": {"  - {kind", "  {kind", "6:3: workloads: expected a list"},
		"empty workload":       {"faults:", "  - ~\nfaults:", "7:5: workloads[1]: expected a workload"},
		"port":                 {"zk2:2181", "zk2:99999", `"zk2:99999" is not the address of a server`},
		"no port":              {"zk2:2181", "zk2", `"zk2" is not the address of a server`},
		"no host":              {"zk2:2181", `":2181"`, `":2181" is not the address of a server`},
		"prefix":               {"allow:", "prefix: /a/../b, allow:", "prefix must be a path below the root"},
		"role":                 {"nodes: follower", "nodes: king", `9:57: faults.mix[1].nodes: no node is called "king"; write leader, follower, any, all, or ids of n1, n2, n3`},
		"id":                   {`nodes: "n1"`, "nodes: n7", `no node is called "n7"`},
	} {
		t.Run(name, func(t *testing.T) {
			src := strings.Replace(soundPlan, c.old, c.now, 1)
			_, err := assemble(Options{Plan: planFile(t, src)})
			if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestCheckSaysThatNoFaultFits(t *testing.T) {
	for src, want := range map[string]int{soundPlan: 0, strings.Replace(soundPlan, "every: 20s", "first: 10m, every: 20s", 1): 1} {
		p, err := Check(t.Context(), Options{Plan: planFile(t, src)})
		if err != nil || len(p.Missing) != want {
			t.Errorf("missing %q, %v; want %d", p.Missing, err, want)
		}
	}
}

func TestFilesThatAreNoPlan(t *testing.T) {
	for _, path := range []string{"/dev/zero", t.TempDir(), filepath.Join(t.TempDir(), "none.yaml")} {
		if _, err := assemble(Options{Plan: path}); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
