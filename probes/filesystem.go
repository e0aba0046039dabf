package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/soak/record"
)

func filesystemInfo() Info {
	return Info{
		Kind:    "filesystem",
		Purpose: "size, free bytes and free inodes of each file system that holds a data directory or the run directory",
		Cost:    "one stat and one statfs a directory, 10 us each; hangs when a network mount hangs, and that is said",
		Every:   5 * time.Second,
	}
}

// filesystem asks each distinct file system once, however many nodes live on it. Its series carry the name
// of the first node on it, or "run" when only the run directory is there. Free is what an ordinary user may
// still write (f_bavail), as ZooKeeper is one.
type filesystem struct {
	name   string
	env    Env
	nodes  *clusters
	holder map[uint64]string // device -> what was said of it
}

func newFilesystem(s Spec, env Env, _ none) (Probe, error) {
	cs, err := clustersOf(env, s.Target)
	return &filesystem{name: named(s.Kind, s.Target), env: env, nodes: cs, holder: map[uint64]string{}}, err
}

// Name implements Probe.
func (p *filesystem) Name() string { return p.name }

// mounted is a file system and who uses it.
type mounted struct {
	dev   uint64
	dir   string
	users []string
}

// Sample implements Probe.
func (p *filesystem) Sample(ctx context.Context) ([]Reading, error) {
	nodes, err := p.nodes.nodes(ctx, "", 30*time.Second)
	errs := []error{err}
	var all []*mounted
	use := func(who, dir string) {
		if err := place(&all, who, dir); err != nil {
			errs = append(errs, Gap{Node: who, Err: err})
		}
	}
	for _, n := range nodes {
		if local(n.Node) {
			for _, d := range append(slices.Clone(n.DataDirs), n.LogDirs...) {
				use(n.ID, d)
			}
		}
	}
	if p.env.RunDir != "" {
		use("run", p.env.RunDir)
	}
	if len(all) == 0 && errors.Join(errs...) == nil {
		return nil, unavailable("no data directory on this host is known")
	}
	var rs []Reading
	for _, m := range all {
		r, err := p.ask(m)
		if err != nil {
			errs = append(errs, Gap{Node: m.users[0], Err: err})
		}
		rs = append(rs, r...)
	}
	return rs, errors.Join(errs...)
}

func place(all *[]*mounted, who, dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	for _, m := range *all {
		if m.dev == st.Dev {
			if !slices.Contains(m.users, who) {
				m.users = append(m.users, who)
			}
			return nil
		}
	}
	*all = append(*all, &mounted{dev: st.Dev, dir: dir, users: []string{who}})
	return nil
}

func (p *filesystem) ask(m *mounted) ([]Reading, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(m.dir, &st); err != nil {
		return nil, fmt.Errorf("ask file system: %w", &os.PathError{Op: "statfs", Path: m.dir, Err: err})
	}
	at, node := p.env.Clock.Stamp(), m.users[0]
	block := float64(st.Frsize)
	rs := []Reading{
		record.Series{Stamp: at, Name: "filesystem.size", Node: node, Unit: "By", Value: float64(st.Blocks) * block},
		record.Series{Stamp: at, Name: "filesystem.free", Node: node, Unit: "By", Value: float64(st.Bavail) * block},
		record.Series{Stamp: at, Name: "filesystem.inodes.free", Node: node, Unit: "1", Value: float64(st.Ffree)},
	}
	if users := strings.Join(m.users, ", "); p.holder[m.dev] != users {
		p.holder[m.dev] = users
		rs = append(rs, record.Note{
			Stamp: at, Lane: p.name, Level: "info",
			Text: fmt.Sprintf("series of %s are of the file system at %s, which holds %s", node, m.dir, users),
		})
	}
	return rs, nil
}
