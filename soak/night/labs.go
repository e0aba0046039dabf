package night

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"nightshift/soak/config"
	"nightshift/soak/lab"
	"nightshift/soak/target"
)

// LabOptions of `lab up`.
type LabOptions struct {
	Name, Version string
	Dir           string // empty: in the user's state directory
	Nodes         int
	Split         bool
	Set           []string // "snapCount=1000": settings of the server
}

// spec of the lab. Wrong values are usage.
func (o LabOptions) spec() (lab.Spec, error) {
	node, ps := config.Parse([]byte("{}"))
	if err := ps.Err(); err != nil {
		return lab.Spec{}, err
	}
	sets := []string{fmt.Sprintf("nodes=%d", o.Nodes), fmt.Sprintf("split=%v", o.Split)}
	if o.Version != "" {
		sets = append(sets, "version="+o.Version)
	}
	settings := make([]string, len(o.Set)) // as one mapping: the names of settings have dots
	for i, s := range o.Set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return lab.Spec{}, usagef("--set %s: write it as snapCount=1000", s)
		}
		settings[i] = fmt.Sprintf("%q: %q", key, value)
	}
	sets = append(sets, "settings={"+strings.Join(settings, ", ")+"}")
	for _, s := range sets {
		path, value, _ := strings.Cut(s, "=")
		if err := node.Set(path, value); err != nil {
			return lab.Spec{}, usagef("%w", err)
		}
	}
	spec, ps := lab.Decode(node)
	if err := ps.Err(); err != nil {
		return lab.Spec{}, usagef("lab: %w", err)
	}
	var err error
	spec.Name = o.Name
	spec.Dir, err = labDir(o.Name, o.Dir)
	return spec, err
}

// LabUp starts a lab. Detached, it returns when the servers serve; else it owns them until ctx ends.
func LabUp(ctx, hard context.Context, o LabOptions, detach bool, show func(target.Cluster) error) error {
	spec, err := o.spec()
	if err != nil {
		return sorted(err)
	}
	if detach {
		c, err := lab.Detach(ctx, spec)
		if err != nil {
			return sorted(err)
		}
		return show(withRoles(ctx, c))
	}
	l, err := lab.Up(ctx, spec)
	if err != nil {
		return sorted(err)
	}
	err = show(withRoles(ctx, l.Cluster()))
	if err == nil {
		select {
		case <-ctx.Done():
		case <-l.Asked():
		}
	}
	down, cancel := context.WithTimeout(hard, closeLimit)
	defer cancel()
	if derr := l.Down(down); derr != nil {
		return derr
	}
	return err
}

// LabDown ends a detached lab.
func LabDown(ctx context.Context, name, dir string) error {
	dir, err := labDir(name, dir)
	if err != nil {
		return err
	}
	return sorted(lab.Down(ctx, dir))
}

// LabStatus asks a lab how it is.
func LabStatus(ctx context.Context, name, dir string) (target.Cluster, error) {
	dir, err := labDir(name, dir)
	if err != nil {
		return target.Cluster{}, err
	}
	c, err := lab.Status(ctx, dir)
	return withRoles(ctx, c), sorted(err)
}

// LabSupervise is the body of the hidden command that owns a detached lab.
func LabSupervise(ctx context.Context, dir string) error { return sorted(lab.Supervise(ctx, dir)) }

var labName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func labDir(name, dir string) (string, error) {
	if !labName.MatchString(name) {
		return "", usagef("--name %q: letters, digits, - and _, please: it becomes the name of a directory", name)
	}
	if dir != "" {
		return dir, nil
	}
	return lab.DefaultDir(name)
}

// withRoles asks the servers what they are.
func withRoles(ctx context.Context, c target.Cluster) target.Cluster {
	p := &patient{}
	for i, s := range p.ask(ctx, c) {
		c.Nodes[i].Role = target.Unknown
		if s.err == nil {
			c.Nodes[i].Role = target.Role(s.Mode)
		}
	}
	return c
}

// ShowCluster prints a cluster for people.
func ShowCluster(w io.Writer, c target.Cluster) error {
	nodes := "nodes"
	if len(c.Nodes) == 1 {
		nodes = "node"
	}
	_, err := fmt.Fprintf(w, "%s %s, %d %s\n", c.System, c.Version, len(c.Nodes), nodes)
	addrs := ""
	for _, n := range c.Nodes {
		role := string(n.Role)
		if role == "" {
			role = "does not serve"
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "  %s  %-21s %-14s pid %-7d %s\n", n.ID, n.Addrs[0], role, n.Proc.Pid, firstOf(n.DataDirs))
		}
		addrs += "," + n.Addrs[0]
	}
	if err == nil && len(addrs) > 0 {
		_, err = fmt.Fprintf(w, "to use it: --target %s=%s\n", c.System, addrs[1:])
	}
	return err
}
