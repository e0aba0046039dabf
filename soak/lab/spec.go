package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nightshift/soak/config"
)

// Spec says which servers to run. Up completes what is absent.
type Spec struct {
	System   string            `json:"system"`             // "zookeeper", the default
	Version  string            `json:"version"`            // one of Supported
	Nodes    int               `json:"nodes"`              // 1 or 3
	Settings map[string]string `json:"settings,omitempty"` // of the server, by the names of its own configuration file
	Split    bool              `json:"split,omitempty"`    // transaction logs (dataLogDir) apart from snapshots (dataDir)
	JVM      []string          `json:"jvm,omitempty"`      // more arguments for java, after ours
	Heap     config.Bytes      `json:"heap"`               // of each server, default 256 MiB
	DataRoot string            `json:"data,omitempty"`     // another disk or tmpfs for the data; empty is Dir
	Dir      string            `json:"dir"`                // directories of the nodes, logs, state and socket
	Name     string            `json:"name"`               // of the target, "zk"
	RunID    string            `json:"run_id"`
	Detached bool              `json:"detached,omitempty"` // a supervisor owns it; set by Detach
}

// MarshalJSON writes the heap as text, in bytes: config.Bytes reads nothing else.
func (s Spec) MarshalJSON() ([]byte, error) {
	type plain Spec
	return json.Marshal(struct {
		plain
		Heap string `json:"heap"`
	}{plain(s), strconv.FormatInt(int64(s.Heap), 10)})
}

const (
	defaultHeap = 256 << 20
	minHeap     = 64 << 20
)

// Supported lists the versions of a system that are tested; nil for a system there is no lab for.
func Supported(system string) []string {
	r, ok := recipes()[system]
	if !ok {
		return nil
	}
	return slices.Clone(r.versions)
}

// setting is a server setting as text, whatever YAML takes it for.
type setting string

func (s *setting) UnmarshalText(t []byte) error { *s = setting(t); return nil }

// Decode reads the `lab:` mapping of a plan and checks it. System, Dir, Name and RunID are left to the caller;
// without a system it is ZooKeeper.
func Decode(n config.Node) (Spec, config.Problems) {
	in := struct {
		Version  setting            `yaml:"version"`
		Nodes    int                `yaml:"nodes"`
		Settings map[string]setting `yaml:"settings"`
		Split    bool               `yaml:"split"`
		Heap     config.Bytes       `yaml:"heap"`
		JVM      []string           `yaml:"jvm"`
		Data     string             `yaml:"data"`
	}{Nodes: 3, Heap: defaultHeap}
	ps := n.Decode(&in)
	s := Spec{
		System: "zookeeper", Version: string(in.Version), Nodes: in.Nodes, Split: in.Split,
		Heap: in.Heap, JVM: in.JVM, DataRoot: in.Data,
	}
	if len(in.Settings) > 0 {
		s.Settings = make(map[string]string, len(in.Settings))
	}
	for k, v := range in.Settings {
		s.Settings[k] = string(v)
	}
	s = s.withDefaults()
	if len(ps) > 0 {
		return s, ps // a value that could not be read must not be judged a second time
	}
	for _, w := range s.wrong() {
		at := n
		for _, key := range w.at {
			if f := at.Field(key); !f.IsZero() {
				at = f
			}
		}
		ps = append(ps, at.Problemf("%s", w.text))
	}
	return s, ps
}

func (s Spec) withDefaults() Spec {
	if s.System == "" {
		s.System = "zookeeper"
	}
	if v := Supported(s.System); s.Version == "" && len(v) > 0 {
		s.Version = v[0]
	}
	if s.Nodes == 0 {
		s.Nodes = 3
	}
	if s.Heap == 0 {
		s.Heap = defaultHeap
	}
	if s.Name == "" {
		s.Name = "lab"
	}
	return s
}

// fault is one thing wrong in a Spec: the keys that lead to it in the plan, and what it is.
type fault struct {
	at   []string
	text string
}

func (s Spec) wrong() []fault {
	var fs []fault
	add := func(text string, at ...string) { fs = append(fs, fault{at: at, text: text}) }
	r, ok := recipes()[s.System]
	if !ok {
		add(fmt.Sprintf("there is no lab for %q; there is one for: %s", s.System, strings.Join(systems(), ", ")))
		return fs
	}
	if !slices.Contains(r.versions, s.Version) {
		add(fmt.Sprintf("version %q of %s is not tested; these are: %s", s.Version, s.System, strings.Join(r.versions, ", ")), "version")
	}
	if s.Nodes != 1 && s.Nodes != 3 {
		add(fmt.Sprintf("a lab has 1 or 3 nodes, not %d", s.Nodes), "nodes")
	}
	if s.Heap < minHeap {
		add(fmt.Sprintf("a heap of %s is too small to run; the least is %s", s.Heap, config.Bytes(minHeap)), "heap")
	}
	if s.DataRoot != "" && !filepath.IsAbs(s.DataRoot) {
		add(fmt.Sprintf("data: %q must be an absolute path", s.DataRoot), "data")
	}
	for _, a := range s.JVM {
		if !strings.HasPrefix(a, "-") {
			add(fmt.Sprintf("%q is no argument for java; they begin with -", a), "jvm")
		}
	}
	for _, key := range sortedKeys(s.Settings) {
		if why := r.refused(key, s.Settings[key]); why != "" {
			add(why, "settings", key)
		}
		if strings.ContainsAny(key+s.Settings[key], "\r\n\x00") {
			add(fmt.Sprintf("setting %q holds a line break", key), "settings", key)
		}
	}
	return fs
}

// Check says everything that is wrong in a Spec that did not come from a plan.
func (s Spec) Check() error {
	s = s.withDefaults()
	var errs []error
	for _, f := range s.wrong() {
		errs = append(errs, errors.New(f.text))
	}
	if s.Dir == "" {
		errs = append(errs, errors.New("no directory given"))
	}
	if len(errs) > 0 {
		return fmt.Errorf("check lab: %w", errors.Join(errs...))
	}
	return nil
}

// absolute makes the directories independent of the working directory.
func (s Spec) absolute() (Spec, error) {
	var err error
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return s, fmt.Errorf("find lab directory: %w", err)
	}
	return s, nil
}

// dataDir is where the data of a node lives: below DataRoot in a directory that names the lab, or in the node's own.
func (s Spec) dataDir(id string) string {
	if s.DataRoot == "" {
		return filepath.Join(s.Dir, id)
	}
	return filepath.Join(s.dataHome(), id)
}

// dataHome is the directory below DataRoot that belongs to this lab alone.
func (s Spec) dataHome() string { return filepath.Join(s.DataRoot, "nightshift-"+s.label()) }

// label names the lab in file names: run and target.
func (s Spec) label() string {
	clean := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}
	parts := make([]string, 0, 2)
	for _, p := range []string{s.RunID, s.Name} {
		if p != "" {
			parts = append(parts, strings.Map(clean, p))
		}
	}
	return strings.Join(parts, "-")
}

// command is the one that does verb to the lab in dir and to no other: labs are known by name where the user gave no
// directory.
func command(verb, dir string) string {
	name := filepath.Base(dir)
	switch own, err := DefaultDir(name); {
	case err != nil || own != dir:
		return "nightshift lab " + verb + " --dir " + dir
	case name != "lab":
		return "nightshift lab " + verb + " --name " + name
	}
	return "nightshift lab " + verb
}

// DefaultDir is the directory of the lab called name when the user gives none: in the user's state directory.
func DefaultDir(name string) (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find state directory: %w; set XDG_STATE_HOME or give a directory", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "nightshift", "lab", name), nil
}
