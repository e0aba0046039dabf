package night

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/lab"
	"nightshift/soak/target"
)

// targetSpec is one entry of a plan's targets.
type targetSpec struct {
	System  string      `yaml:"system"`
	Prefix  string      `yaml:"prefix"`  // everything created stands below it, default /nightshift
	Lab     config.Node `yaml:"lab"`     // servers that nightshift starts here
	Servers []string    `yaml:"servers"` // an existing cluster
	Nodes   []nodeSpec  `yaml:"nodes"`   // what is known of its servers
	Allow   []string    `yaml:"allow"`   // load, faults, purge

	name string
	at   config.Node
	spec lab.Spec
}

// nodeSpec says what is known of a server of an existing cluster.
type nodeSpec struct {
	Addr  string   `yaml:"addr"`
	ID    string   `yaml:"id"`
	Data  string   `yaml:"data"` // dataDir, when it is on this host
	Logs  string   `yaml:"logs"` // dataLogDir, when apart
	Log   string   `yaml:"log"`  // server log file
	GCLog string   `yaml:"gc_log"`
	Start []string `yaml:"start"` // command that starts it again
}

func (t *targetSpec) isLab() bool { return !t.Lab.IsZero() }

func (t *targetSpec) consent() target.Consent {
	if t.isLab() {
		return target.Consent{Load: true, Faults: true, Purge: true}
	}
	var c target.Consent
	for _, a := range t.Allow {
		c.Load = c.Load || a == "load"
		c.Faults = c.Faults || a == "faults"
		c.Purge = c.Purge || a == "purge"
	}
	return c
}

func decodeTargets(n config.Node) (map[string]*targetSpec, config.Problems) {
	specs, ps := map[string]*targetSpec{}, config.Problems{}
	for _, name := range n.Keys() {
		t := &targetSpec{Prefix: "/nightshift", name: name, at: n.Field(name)}
		ps = append(ps, t.at.Decode(t)...)
		ps = append(ps, t.validate()...)
		specs[name] = t
	}
	return specs, ps
}

func (t *targetSpec) validate() (ps config.Problems) {
	if t.System != "zookeeper" {
		ps = append(ps, t.place("system").Problemf("system must be zookeeper, the only one this build knows"))
	}
	if !strings.HasPrefix(t.Prefix, "/") || t.Prefix == "/" || path.Clean(t.Prefix) != t.Prefix {
		ps = append(ps, t.place("prefix").Problemf("prefix must be a path below the root, as in /nightshift"))
	}
	if t.isLab() == (len(t.Servers) > 0) {
		ps = append(ps, t.at.Problemf("a target has either lab (servers started here) or servers (an existing cluster)"))
	}
	if t.isLab() {
		spec, lps := lab.Decode(t.Lab)
		spec.Name, spec.System = t.name, t.System
		t.spec, ps = spec, append(ps, lps...)
		if len(t.Allow) > 0 {
			ps = append(ps, t.place("allow").Problemf("a lab needs no consent; allow is for existing clusters"))
		}
	}
	for _, a := range t.Allow {
		if a != "load" && a != "faults" && a != "purge" {
			ps = append(ps, t.place("allow").Problemf("%q is none of load, faults, purge", a))
		}
	}
	known := map[string]bool{}
	for _, s := range t.Servers {
		if !isAddress(s) {
			ps = append(ps, t.place("servers").Problemf("%q is not the address of a server; write it as host:2181", s))
		}
		known[s] = true
	}
	for _, n := range t.Nodes {
		if !known[n.Addr] {
			ps = append(ps, t.place("nodes").Problemf("node address %q is none of the servers", n.Addr))
		}
	}
	return ps
}

// isAddress says whether s is host:port.
func isAddress(s string) bool {
	h, p := host(s), port(s)
	return h != s && h != "" && !strings.ContainsAny(h, " \t/") && p >= 1 && p <= 65535
}

// stranger says which of the words or ids of nodes, as the faults name them, can't be one of this target.
func (t *targetSpec) stranger(words string) string {
	ids := make([]string, 0, len(t.Servers))
	for _, n := range t.nodes() {
		ids = append(ids, n.ID)
	}
	for i := range t.spec.Nodes {
		ids = append(ids, fmt.Sprintf("n%d", i+1))
	}
	for w := range strings.SplitSeq(words, ",") {
		if w = strings.TrimSpace(w); !slices.Contains(ids, w) && (w != words || !slices.Contains(roleWords, w)) {
			return fmt.Sprintf("no node is called %q; write %s, or ids of %s", w, strings.Join(roleWords, ", "), strings.Join(ids, ", "))
		}
	}
	return ""
}

var roleWords = []string{"leader", "follower", "any", "all"}

func (t *targetSpec) place(key string) config.Node {
	if f := t.at.Field(key); !f.IsZero() {
		return f
	}
	return t.at
}

// nodes are the servers of an existing cluster, as far as the plan knows them.
func (t *targetSpec) nodes() []target.Node {
	byAddr := map[string]nodeSpec{}
	for _, n := range t.Nodes {
		byAddr[n.Addr] = n
	}
	nodes := make([]target.Node, len(t.Servers))
	for i, addr := range t.Servers {
		n := byAddr[addr]
		node := target.Node{ID: n.ID, System: t.System, Addrs: []string{addr}, Log: n.Log, GCLog: n.GCLog,
			Start: target.Start{Argv: n.Start}}
		if node.ID == "" {
			node.ID = fmt.Sprintf("n%d", i+1)
		}
		if n.Data != "" {
			node.DataDirs, node.LogDirs = []string{n.Data}, []string{n.Data}
		}
		if n.Logs != "" {
			node.LogDirs = []string{n.Logs}
		}
		nodes[i] = node
	}
	return nodes
}

// retarget points the plan's targets at existing clusters, as --target says: "zookeeper=host:port,host:port".
// The user consents to load by naming the cluster, and to more by allow.
func retarget(root config.Node, targets, allow []string) error {
	for _, a := range allow {
		if a != "faults" && a != "purge" {
			return soak.ErrOverride{Text: fmt.Sprintf("--allow %s: it takes faults and purge", a)}
		}
	}
	if len(allow) > 0 && len(targets) == 0 {
		return soak.ErrOverride{Text: "--allow needs --target; a plan's own targets say allow in the plan"}
	}
	for _, spec := range targets {
		system, servers, ok := strings.Cut(spec, "=")
		if !ok || servers == "" {
			return soak.ErrOverride{Text: fmt.Sprintf("--target %s: write it as zookeeper=host:2181,host:2181", spec)}
		}
		if err := point(root, system, strings.Split(servers, ","), allow); err != nil {
			return err
		}
	}
	return nil
}

func point(root config.Node, system string, servers, allow []string) error {
	all := root.Field("targets")
	names := all.Keys()
	sort.Strings(names)
	found := false
	for _, name := range names {
		if got := strings.TrimSpace(all.Field(name).Field("system").String()); got != system {
			continue
		}
		found = true
		prefix := strings.TrimSpace(all.Field(name).Field("prefix").String())
		if prefix == "" {
			prefix = "/nightshift"
		}
		value := fmt.Sprintf("{system: %s, prefix: %s, servers: [%s], allow: [%s]}", system, prefix,
			quoteAll(servers), strings.Join(append([]string{"load"}, allow...), ", "))
		if err := root.Set("targets."+name, value); err != nil {
			return soak.ErrOverride{Text: err.Error()}
		}
	}
	if !found {
		return soak.ErrOverride{Text: fmt.Sprintf("--target %s=...: the plan has no target of that system", system)}
	}
	return nil
}

func quoteAll(ss []string) string {
	q := make([]string, len(ss))
	for i, s := range ss {
		q[i] = fmt.Sprintf("%q", strings.TrimSpace(s))
	}
	return strings.Join(q, ", ")
}
