package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nightshift/soak/target"
)

const startTries = 3 // with new ports each, when someone else took one

// Up starts all servers and returns when they serve a write. What it started is gone again when it returns an error.
// Data that an earlier lab with the same nodes left in the same directory is used on.
func Up(ctx context.Context, s Spec) (*Lab, error) {
	s = s.withDefaults()
	s, err := s.absolute()
	if err != nil {
		return nil, err
	}
	j, jars, err := prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	return bring(ctx, s, recipes()[s.System], j, jars)
}

// bring is Up after all has been checked and found.
func bring(ctx context.Context, s Spec, r recipe, j java, jars string) (*Lab, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, &Error{Op: "make lab directory", Path: s.Dir, Err: err}
	}
	unlock, err := tryLock(filepath.Join(s.Dir, "lock"))
	if err != nil {
		return nil, &Error{Op: "lock lab directory", Path: s.Dir, Err: err, Hint: command("down", s.Dir) + ", or another directory: a lab runs there already"}
	}
	l := &Lab{spec: s, recipe: r, java: j, jars: jars, unlock: unlock, ports: &ports{}, asked: make(chan struct{})}
	if err := l.up(ctx); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		return nil, errors.Join(err, l.Down(cleanup))
	}
	return l, nil
}

func (l *Lab) up(ctx context.Context) error {
	if err := l.succeed(); err != nil {
		return err
	}
	for i := range l.spec.Nodes {
		id := fmt.Sprintf("n%d", i+1)
		n := &node{id: id, index: i, dir: filepath.Join(l.spec.Dir, id)}
		n.dataDir, n.logDir = l.recipe.dirs(l.spec, id)
		l.nodes = append(l.nodes, n)
		for _, d := range []string{n.dir, n.dataDir, n.logDir} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return &Error{Op: "make directory of " + id, Path: d, Err: err}
			}
		}
	}
	if err := l.prepareState(); err != nil {
		return err
	}
	l.spawn = newSpawner()
	for try := 1; ; try++ {
		err := l.tryStart(ctx)
		if err == nil {
			break
		}
		if try == startTries || ctx.Err() != nil || !l.portTaken() {
			return err
		}
		l.note("a port was taken before its server had it; all were chosen anew")
		if err := l.StopAll(ctx); err != nil {
			return err
		}
		l.ports.release()
	}
	o, err := listen(l.st.Socket, l.handle)
	if err != nil {
		return &Error{Op: "open owner socket", Path: l.st.Socket, Err: err}
	}
	l.owner = o
	return nil
}

// succeed deals with an earlier lab in the same directory.
func (l *Lab) succeed() error {
	old, err := readState(l.spec.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{Op: "read lab", Path: l.spec.Dir, Err: err, Hint: "another directory"}
	}
	o, s := old.Spec, l.spec
	if o.System != s.System || o.Nodes != s.Nodes || o.Split != s.Split {
		return &Error{
			Op: "use lab directory", Path: s.Dir,
			Err:  fmt.Errorf("it holds data of %d %s node(s) with split %v, asked for are %d %s node(s) with split %v", o.Nodes, o.System, o.Split, s.Nodes, s.System, s.Split),
			Hint: "another directory, or remove this one: rm -r " + s.Dir,
		}
	}
	if _, err := RemoveLeftovers(s.Dir); err != nil {
		return &Error{Op: "use lab directory", Path: s.Dir, Err: err}
	}
	return nil
}

// prepareState writes down what is about to be made, and makes the cgroups.
func (l *Lab) prepareState() error {
	self, err := target.Resolve(os.Getpid())
	if err != nil {
		return fmt.Errorf("start lab: %w", err)
	}
	l.st = state{Format: stateFormat, Spec: l.spec, Owner: self}
	if l.st.Socket, l.st.SocketDir, err = socketPath(l.spec.Dir); err != nil {
		return &Error{Op: "choose owner socket", Err: err}
	}
	ids := make([]string, len(l.nodes))
	for i, n := range l.nodes {
		ids[i] = n.id
	}
	l.st.Cgroup, l.st.Cgroups, err = planCgroups(l.spec.label(), ids)
	if werr := l.st.write(); werr != nil {
		return &Error{Op: "write lab state", Path: l.spec.Dir, Err: werr}
	}
	if err == nil {
		err = makeCgroups(l.st.Cgroup, l.st.Cgroups)
	}
	if err != nil {
		l.st.Cgroup, l.st.Cgroups = "", nil
		l.note(fmt.Sprintf("no cgroup for each node: %v (network faults that need it will be skipped)", err))
		return nil
	}
	for i, n := range l.nodes {
		n.cgroup = l.st.Cgroups[i]
	}
	return nil
}

// tryStart starts all nodes on fresh ports and waits until they serve.
func (l *Lab) tryStart(ctx context.Context) error {
	for _, n := range l.nodes {
		got, err := l.ports.reserve(len(l.recipe.ports))
		if err != nil {
			return &Error{Op: "start lab", Err: err}
		}
		n.ports = make(map[string]int, len(got))
		for i, name := range l.recipe.ports {
			n.ports[name] = got[i]
		}
	}
	return l.StartAll(ctx)
}

// portTaken looks for the one start failure that new ports cure.
func (l *Lab) portTaken() bool {
	return slices.ContainsFunc(l.nodes, func(n *node) bool { return strings.Contains(n.logText(), "java.net.BindException") })
}
