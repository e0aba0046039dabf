package probes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/soak/record"
)

// fixtureProc is a copy of testdata/proc that a test may change.
func fixtureProc(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/proc")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func edit(t *testing.T, path, old, now string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, now, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func valuesOf(rs []Reading) map[string]float64 {
	vs := map[string]float64{}
	for _, s := range all[record.Series](rs) {
		name := s.Name
		if s.Node != "" {
			name = s.Node + "/" + name
		}
		vs[name] = s.Value
	}
	return vs
}

func TestHostGivesRatesSinceTheLastSample(t *testing.T) {
	t.Parallel()
	dir := fixtureProc(t)
	made, err := New(Spec{Kind: "host"}, Env{Clock: record.NewClock(), Proc: dir})
	if err != nil {
		t.Fatal(err)
	}
	p := made.(*host)
	rs, err := p.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vs := valuesOf(rs)
	if vs["host.memory.available"] != 8192000*1024 || vs["host.memory.dirty"] != 1234*1024 || vs["host.load1"] != 1.25 {
		t.Errorf("levels %v", vs)
	}
	if _, ok := vs["host.cpu"]; ok {
		t.Error("a rate without an earlier sample")
	}

	edit(t, filepath.Join(dir, "stat"), "cpu  1000 0 500 8000 400 0 50 50", "cpu  1060 0 510 8020 410 0 50 50")
	edit(t, filepath.Join(dir, "diskstats"), "2000 20 40000 900 0 1300", "2100 20 44000 900 0 2300")
	edit(t, filepath.Join(dir, "net", "dev"), "eth0: 2000000", "eth0: 2004000")
	edit(t, filepath.Join(dir, "pressure", "io"), "total=2000000", "total=2900000")
	edit(t, filepath.Join(dir, "pressure", "cpu"), "total=1000000", "total=1100000")
	p.before.at -= 2 * time.Second // as if two seconds had passed
	p.pressure.at -= 2 * time.Second
	rs, err = p.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vs = valuesOf(rs)
	for name, want := range map[string]float64{
		"host.cpu": 70, "host.cpu.iowait": 10, "host.disk.vda.written": 4000 * 512 / 2, "host.disk.vda.busy": 50,
		"host.net.received": 2000, "host.net.sent": 0, "host.pressure.io.some": 45, "host.pressure.cpu.some": 5,
	} {
		if got, ok := vs[name]; !ok || got < want*0.9-0.01 || got > want*1.01 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name := range vs {
		if strings.Contains(name, "loop0") {
			t.Errorf("%s: nobody asked", name)
		}
	}
	es := all[record.Evidence](rs)
	if len(es) != 1 || es[0].Class != record.ClassPressure || es[0].Magnitude != 0.9 || !strings.Contains(es[0].Text, "io") {
		t.Errorf("evidence %v", es)
	}
	if len(es) == 1 && (es[0].To-es[0].At < 2*time.Second || es[0].To-es[0].At > 3*time.Second) {
		t.Errorf("evidence from %v to %v", es[0].At, es[0].To)
	}
}

func TestHostWithoutPressureIsNoGap(t *testing.T) {
	t.Parallel()
	dir := fixtureProc(t)
	if err := os.RemoveAll(filepath.Join(dir, "pressure")); err != nil {
		t.Fatal(err)
	}
	p, err := New(Spec{Kind: "host"}, Env{Clock: record.NewClock(), Proc: dir})
	if err != nil {
		t.Fatal(err)
	}
	notes := 0
	for range 3 {
		rs, err := p.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all[record.Note](rs) {
			notes++
			if n.Code != "" || !strings.Contains(n.Text, "pressure is not available") {
				t.Errorf("note %+v", n)
			}
		}
	}
	if notes != 1 {
		t.Errorf("said %d times", notes)
	}
}

func TestHostOfThisMachine(t *testing.T) {
	t.Parallel()
	p, err := New(Spec{Kind: "host"}, Env{Clock: record.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := p.Sample(t.Context())
	if err != nil || valuesOf(rs)["host.memory.total"] == 0 {
		t.Errorf("%v, %v", rs, err)
	}
}

func TestPressureTotal(t *testing.T) {
	t.Parallel()
	if v, err := pressureTotal([]byte("some avg10=0.00 total=7\n"), "full"); v != 0 || err != nil {
		t.Errorf("an old kernel's cpu file: %d, %v", v, err)
	}
	for _, bad := range []string{"", "some avg10=0", "some total=x"} {
		if _, err := pressureTotal([]byte(bad), "some"); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func BenchmarkHostSample(b *testing.B) {
	p, err := New(Spec{Kind: "host"}, Env{Clock: record.NewClock()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Sample(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
