package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

// dataDir makes a dataDir whose version-2 holds the named files of a size each.
func dataDir(t *testing.T, size int64, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "version-2"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		grow(t, filepath.Join(dir, "version-2", n), size)
	}
	return dir
}

// grow makes a sparse file, as ZooKeeper's preallocation does.
func grow(t *testing.T, path string, size int64) {
	t.Helper()
	put(t, path, "x", os.O_APPEND)
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func TestFilesCountsByKindAndSaysWhatChanged(t *testing.T) {
	t.Parallel()
	snaps := dataDir(t, 1<<20, "snapshot.0", "snapshot.e", "snapshot.c1.gz", "acceptedEpoch", "currentEpoch", "snapshot.ff.tmp", "notes.txt")
	logs := dataDir(t, 2<<20, "log.1", "log.100000001")
	if err := os.Mkdir(filepath.Join(logs, "version-2", "log.5"), 0o700); err != nil { // a directory is no log
		t.Fatal(err)
	}
	node := target.Node{ID: "n1", DataDirs: []string{snaps}, LogDirs: []string{logs}}
	p, err := New(Spec{Kind: "zookeeper/files"}, Env{Clock: record.NewClock(), Lookup: oneNode(node)})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := p.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vs := valuesOf(rs)
	for name, want := range map[string]float64{
		"log.count": 2, "log.bytes": 4 << 20, "log.zxid": 0x100000001,
		"snapshot.count": 3, "snapshot.bytes": 3 << 20, "snapshot.zxid": 0xc1,
		"epoch.count": 2, "temp.count": 1, "foreign.count": 2,
	} {
		if got, ok := vs["n1/zookeeper.files."+name]; !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if a := vs["n1/zookeeper.files.log.allocated"]; a <= 0 || a >= 4<<20 {
		t.Errorf("allocated %v of sparse logs", a)
	}
	if fs := all[record.File](rs); len(fs) != 0 {
		t.Errorf("the first look says what changed: %v", fs)
	}

	gone := filepath.Join(snaps, "version-2", "snapshot.0")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	came := filepath.Join(logs, "version-2", "log.100000200")
	grow(t, came, 1<<20)
	rs, err = p.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fs := all[record.File](rs)
	if len(fs) != 2 || fs[0].Change != "removed" || fs[0].Path != gone || fs[0].Type != "snapshot" || fs[0].Bytes != 1<<20 ||
		fs[1].Change != "created" || fs[1].Path != came || fs[1].Type != "log" || fs[1].Node != "n1" {
		t.Errorf("changes %+v", fs)
	}

	hidden := logs + ".away"
	if err := os.Rename(logs, hidden); err != nil {
		t.Fatal(err)
	}
	rs, err = p.Sample(t.Context())
	if gs := gaps(err); len(gs) != 1 || gs[0].Node != "n1" || len(rs) != 0 {
		t.Errorf("without its directory: %v, %v", rs, err)
	}
	if err := os.Rename(hidden, logs); err != nil {
		t.Fatal(err)
	}
	if rs, err = p.Sample(t.Context()); err != nil || len(all[record.File](rs)) != 0 {
		t.Errorf("a look that failed counts as removal: %v, %v", rs, err)
	}
}

func TestFilesWithLogsAndSnapshotsTogether(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 100, "log.1", "snapshot.0")
	node := target.Node{ID: "n1", DataDirs: []string{dir}, LogDirs: []string{dir}}
	p, err := New(Spec{Kind: "zookeeper/files"}, Env{Clock: record.NewClock(), Lookup: oneNode(node)})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := p.Sample(t.Context())
	if vs := valuesOf(rs); err != nil || vs["n1/zookeeper.files.log.count"] != 1 || vs["n1/zookeeper.files.snapshot.count"] != 1 {
		t.Errorf("%v, %v", vs, err)
	}
}

func TestFilesystemAsksEachOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	node := target.Node{ID: "n1", DataDirs: []string{root, filepath.Join(root)}}
	env := Env{Clock: record.NewClock(), RunDir: root, Lookup: oneNode(node)}
	p, err := New(Spec{Kind: "filesystem"}, env)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := p.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vs := valuesOf(rs)
	if len(vs) != 3 || vs["n1/filesystem.size"] <= 0 || vs["n1/filesystem.free"] <= 0 || vs["n1/filesystem.free"] > vs["n1/filesystem.size"] {
		t.Errorf("%v", vs)
	}
	if ns := all[record.Note](rs); len(ns) != 1 {
		t.Errorf("notes %v", ns)
	}
	env.Lookup, env.RunDir = nil, filepath.Join(root, "none")
	if p, err = New(Spec{Kind: "filesystem"}, env); err != nil {
		t.Fatal(err)
	}
	if _, err = p.Sample(t.Context()); len(gaps(err)) != 1 || gaps(err)[0].Node != "run" {
		t.Errorf("%v", err)
	}
}

func TestDirWatchSaysWhenTheDiskIsFull(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 10, "log.1")
	w, err := WatchDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	u, err := w.Look(t.Context(), began)
	if err != nil || u.ToFull != 0 || u.PerHour != 0 || u.Free <= 0 || u.Size < u.Free || u.Kinds[0] != (Held{"log", 1, 10, u.Kinds[0].Allocated}) {
		t.Fatalf("%+v, %v", u, err)
	}
	put(t, filepath.Join(dir, "version-2", "log.2"), string(make([]byte, 1<<20)), os.O_APPEND)
	u, err = w.Look(t.Context(), began.Add(30*time.Minute))
	if err != nil || u.PerHour != 2<<20 || u.Kinds[0].Count != 2 {
		t.Fatalf("%+v, %v", u, err)
	}
	if want := float64(u.Free) / (2 << 20) * float64(time.Hour); want < float64(maxToFull) && (float64(u.ToFull) < want*0.99 || float64(u.ToFull) > want*1.01) {
		t.Errorf("full in %v, want %v", u.ToFull, time.Duration(want))
	}
	u = DirUsage{Allocated: 300, Free: 1000, At: time.Hour}
	u.grow(DirUsage{Allocated: 100})
	if u.PerHour != 200 || u.ToFull != 5*time.Hour {
		t.Errorf("%+v", u)
	}
	u.grow(DirUsage{Allocated: 500})
	if u.PerHour != -200 {
		t.Errorf("%+v", u)
	}
	if _, err := WatchDir(filepath.Join(dir, "version-2")); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{t.TempDir(), filepath.Join(dir, "none"), filepath.Join(dir, "version-2", "log.1")} {
		if _, err := WatchDir(bad); err == nil {
			t.Errorf("%s passed", bad)
		}
	}
}

func BenchmarkFilesSample(b *testing.B) {
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "version-2"), 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(dir, "version-2", fmt.Sprintf("log.%x", i+1)), []byte("x"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	p, err := New(Spec{Kind: "zookeeper/files"}, Env{Clock: record.NewClock(), Lookup: oneNode(target.Node{ID: "n1", DataDirs: []string{dir}})})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Sample(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
