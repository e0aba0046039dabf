package probes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nightshift/soak/record"
	"nightshift/soak/target"
)

// Env is what probes know of the run they look at.
type Env struct {
	Clock  record.Clock
	Run    record.Run               // BootBase maps process start times to offsets
	RunDir string                   // its file system is watched too; empty: none
	Lookup map[string]target.Lookup // by target name; asked at most every few seconds
	Proc   string                   // default /proc
	Wall   func() time.Time         // default time.Now; the wall clock that server logs are written by
}

func (e Env) proc(elem ...string) string {
	root := e.Proc
	if root == "" {
		root = "/proc"
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

func (e Env) wall() time.Time {
	if e.Wall != nil {
		return e.Wall()
	}
	return time.Now()
}

// seen is a cluster as it was when it was last looked up.
type seen struct {
	name   string
	lookup target.Lookup
	last   target.Cluster
	at     time.Duration // of the last try
	tried  bool
	known  bool // last holds an answer
	err    error
}

// clusters remembers what Lookup said: it may ask every server, and a probe must not do that each second.
type clusters struct {
	clock record.Clock
	all   []*seen
}

// clustersOf takes one target of env, or all of them when name is empty.
func clustersOf(env Env, name string) (*clusters, error) {
	cs := &clusters{clock: env.Clock}
	for _, n := range slices.Sorted(maps.Keys(env.Lookup)) {
		if name == "" || n == name {
			cs.all = append(cs.all, &seen{name: n, lookup: env.Lookup[n]})
		}
	}
	if name != "" && len(cs.all) == 0 {
		return nil, fmt.Errorf("look up target %q: the plan has no such target", name)
	}
	return cs, nil
}

// member is a node and the cluster it belongs to.
type member struct {
	target.Node
	Cluster string
	System  string
	Version string
}

// nodes are the servers of one system ("" is any), from answers at most maxAge old. An old answer is used
// when a new one can't be had: directories do not move while a server is down.
func (cs *clusters) nodes(ctx context.Context, system string, maxAge time.Duration) ([]member, error) {
	var ms []member
	var errs []error
	for _, s := range cs.all {
		now := cs.clock.Now()
		if !s.tried || now-s.at >= maxAge {
			c, err := s.lookup(ctx)
			s.at, s.tried, s.err = now, true, err
			if err == nil {
				s.last, s.known = c, true
			}
		}
		if !s.known {
			errs = append(errs, fmt.Errorf("look up target %q: %w", s.name, s.err))
			continue
		}
		for _, n := range s.last.Nodes {
			sys := n.System
			if sys == "" {
				sys = s.last.System
			}
			if system == "" || sys == system {
				ms = append(ms, member{Node: n, Cluster: s.name, System: sys, Version: s.last.Version})
			}
		}
	}
	if len(ms) == 0 && len(errs) == 0 && system != "" {
		errs = append(errs, unavailable("no %s node is known", system))
	}
	return ms, errors.Join(errs...)
}

// local says whether a node runs on this host, so that its files and processes can be looked at.
func local(n target.Node) bool {
	switch n.Host {
	case "", "localhost", "127.0.0.1", "::1":
		return true
	}
	name, err := os.Hostname()
	return err == nil && strings.EqualFold(n.Host, name)
}

// named is the name of a probe of a target.
func named(kind, targetName string) string {
	if targetName == "" {
		return kind
	}
	return kind + "@" + targetName
}
