package lab

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nightshift/soak/config"
)

func decode(t *testing.T, yaml string) (Spec, config.Problems) {
	t.Helper()
	n, ps := config.Parse([]byte(yaml))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	return Decode(n)
}

func TestDecode(t *testing.T) {
	got, ps := decode(t, `
version: 3.9.5
nodes: 1
split: true
heap: 512MiB
jvm: ["-XX:+UseSerialGC"]
data: /dev/shm
settings: {snapCount: 1000, skipACL: yes, 4lw.commands.whitelist: "srvr,mntr", forceSync: no}
`)
	want := Spec{
		System: "zookeeper", Version: "3.9.5", Nodes: 1, Split: true, Heap: 512 << 20, JVM: []string{"-XX:+UseSerialGC"},
		DataRoot: "/dev/shm", Name: "lab",
		Settings: map[string]string{"snapCount": "1000", "skipACL": "yes", "4lw.commands.whitelist": "srvr,mntr", "forceSync": "no"},
	}
	if len(ps) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\n%v\nwant %+v", got, ps, want)
	}
	got, ps = decode(t, "{}")
	if len(ps) > 0 || got.Nodes != 3 || got.Version != Supported("zookeeper")[0] || got.Heap != defaultHeap {
		t.Errorf("defaults are %+v %v", got, ps)
	}
}

func TestDecodeProblems(t *testing.T) {
	_, ps := decode(t, `version: 3.4.14
nodes: 2
heap: 1MiB
jvm: [Xmx1g]
data: here
settings:
  clientPort: 2181
  dataDir: /data
  server.4: host
`)
	text := ps.Error()
	for _, want := range []string{
		"1:10: ", "3.4.14", "these are: 3.9.5", "2:8: ", "1 or 3 nodes", "3:7: ", "too small", "Xmx1g", "must be an absolute path",
		"7:15: ", "chooses clientPort", "`data: DIR`", "chooses server.4",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(ps) != 8 {
		t.Errorf("%d problems:\n%s", len(ps), text)
	}
	if _, ps = decode(t, "vresion: 3.9.5"); len(ps) != 1 {
		t.Errorf("unknown key: %v", ps)
	}
	if err := (Spec{System: "etcd", Dir: "/x"}).Check(); err == nil || !strings.Contains(err.Error(), "zookeeper") {
		t.Errorf("unknown system: %v", err)
	}
}

func TestSpecJSON(t *testing.T) {
	s := Spec{System: "zookeeper", Version: "3.9.5", Nodes: 3, Heap: 100<<20 + 1, Settings: map[string]string{"a": "b"}, Dir: "/d", RunID: "r", Detached: true}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(s, back) {
		t.Errorf("%s\ngives %+v, %v", b, back, err)
	}
}

func TestError(t *testing.T) {
	cause := errors.New("no")
	err := error(&Error{Op: "find java", Path: "java", Err: cause, Hint: "apt-get install java"})
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, cause) {
		t.Error("does not match its sentinel and its cause")
	}
	if got, want := err.Error(), "find java java: no\n  try: apt-get install java"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestLabel(t *testing.T) {
	s := Spec{RunID: "2026-01-02/3", Name: "zk a"}
	if got := s.label(); got != "2026-01-02_3-zk_a" {
		t.Errorf("label %q must be one file name", got)
	}
}

func TestSupported(t *testing.T) {
	if got := Supported("zookeeper"); !slices.Equal(got, []string{"3.9.5"}) {
		t.Errorf("zookeeper: %v", got)
	}
	if got := Supported("etcd"); got != nil {
		t.Errorf("etcd: %v", got)
	}
}

func TestHintsNameTheirLab(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	for dir, want := range map[string]string{
		home + "/nightshift/lab/lab": "nightshift lab down",
		home + "/nightshift/lab/two": "nightshift lab down --name two",
		"/srv/two":                   "nightshift lab down --dir /srv/two",
	} {
		if got := command("down", dir); got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
	if _, err := Status(t.Context(), home+"/nightshift/lab/two"); err == nil || !strings.Contains(err.Error(), "lab up --detach --name two") {
		t.Errorf("status of no lab: %v", err)
	}
}
