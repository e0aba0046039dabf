package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"nightshift/soak/target"
)

// Lab is a running set of servers. Its methods are safe for concurrent use.
type Lab struct {
	spec   Spec
	recipe recipe
	java   java
	jars   string
	nodes  []*node
	spawn  *spawner
	ports  *ports
	owner  *owner
	unlock func()
	asked  chan struct{} // closed when a request over the socket has ended the lab
	once   sync.Once     // closes asked

	mu    sync.Mutex // guards what follows
	st    state
	notes []string
	down  bool // no server is started any more
	ended bool // Down has run
}

const stopGrace = 5 * time.Second

func (l *Lab) find(id string) (*node, error) {
	for _, n := range l.nodes {
		if n.id == id {
			return n, nil
		}
	}
	return nil, fmt.Errorf("lab %s has no node %q", l.spec.Name, id)
}

// Start starts a node, and does nothing when it runs. It returns once the process exists; whether the node serves
// is for its client port to say, since with the others down it never may.
func (l *Lab) Start(ctx context.Context, id string) error {
	n, err := l.find(id)
	if err != nil {
		return err
	}
	n.op.Lock()
	defer n.op.Unlock()
	l.mu.Lock()
	down := l.down
	l.mu.Unlock()
	if down {
		return fmt.Errorf("start %s: the lab is down", id)
	}
	if n.running() != nil {
		return nil
	}
	for path, content := range l.recipe.files(l.spec, n, l.nodes) {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return &Error{Op: "write configuration of " + id, Path: path, Err: err}
		}
	}
	note, err := n.start(ctx, l.spawn, l.recipe.launch(l.spec, n, l.java, l.jars))
	if err != nil {
		return err
	}
	l.note(note)
	return l.saveProcs()
}

// Stop ends a node: SIGTERM, SIGKILL after 5 s or when ctx ends. It returns when the process is gone.
func (l *Lab) Stop(ctx context.Context, id string) error {
	n, err := l.find(id)
	if err != nil {
		return err
	}
	n.op.Lock()
	defer n.op.Unlock()
	return n.stop(ctx, stopGrace)
}

// StopAll stops all nodes at once.
func (l *Lab) StopAll(ctx context.Context) error {
	errs := make([]error, len(l.nodes))
	var wg sync.WaitGroup
	for i, n := range l.nodes {
		wg.Go(func() { errs[i] = l.Stop(ctx, n.id) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// StartAll starts the nodes that are down and returns when all serve and a write has succeeded. When a node dies
// instead, the error holds the last lines of its log.
func (l *Lab) StartAll(ctx context.Context) error {
	for _, n := range l.nodes {
		if err := l.Start(ctx, n.id); err != nil {
			return err
		}
	}
	return l.WaitReady(ctx)
}

// Exit tells how the last process of a node ended; false while it runs.
func (l *Lab) Exit(id string) (Exit, bool) {
	n, err := l.find(id)
	if err != nil {
		return Exit{}, false
	}
	return n.exit()
}

// Notes are what the user should know about how the lab could be set up here, one line each.
func (l *Lab) Notes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notes)
}

func (l *Lab) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text != "" && !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}

// Cluster is the lab as it is now: the processes, and addresses and paths, which stay. Roles are not asked for.
// The process of a node that is down is the last one, or zero.
func (l *Lab) Cluster() target.Cluster {
	c := target.Cluster{
		Name: l.spec.Name, System: l.spec.System, Version: l.spec.Version, Lab: true, Detached: l.spec.Detached,
		Consent: target.Consent{Load: true, Faults: true, Purge: true},
	}
	for _, n := range l.nodes {
		t := target.Node{
			ID: n.id, System: l.spec.System, Addrs: []string{n.addr()}, DataDirs: []string{n.dataDir}, LogDirs: []string{n.logDir},
			Log: n.serverLog(), GCLog: n.gcLog(), Cgroup: n.cgroup, Start: target.Start{Owner: l.st.Socket},
		}
		if p := n.last(); p != nil {
			t.Proc = p.ref
		}
		c.Nodes = append(c.Nodes, t)
	}
	return c
}

// handle answers a request that came over the socket.
func (l *Lab) handle(ctx context.Context, r target.Request) (target.Cluster, error) {
	var err error
	switch r.Op {
	case "status":
	case "start":
		err = l.Start(ctx, r.Node)
	case "stop":
		err = l.Stop(ctx, r.Node)
	case "down":
		if err = l.end(ctx); err == nil {
			l.once.Do(func() { close(l.asked) })
		}
	default:
		err = fmt.Errorf("unknown request %q", r.Op)
	}
	return l.Cluster(), err
}

// Asked is closed when someone has ended the lab over its socket. Its owner still has to call Down.
func (l *Lab) Asked() <-chan struct{} { return l.asked }

// saveProcs records the processes, so that a later look at a dead lab knows whom to look for.
func (l *Lab) saveProcs() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.st.Nodes = l.st.Nodes[:0]
	for _, n := range l.nodes {
		if p := n.last(); p != nil {
			l.st.Nodes = append(l.st.Nodes, nodeState{ID: n.id, Proc: p.ref})
		}
	}
	return l.st.write()
}

// end stops all servers for good.
func (l *Lab) end(ctx context.Context) error {
	l.mu.Lock()
	l.down = true
	l.mu.Unlock()
	return l.StopAll(ctx)
}

// RemoveData removes data that lies outside the lab's directory (Spec.DataRoot), after Down. Other data stays.
func (l *Lab) RemoveData() error {
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	switch {
	case l.spec.DataRoot == "":
		return nil
	case !ended:
		return errors.New("remove data: the lab is up")
	}
	if err := os.RemoveAll(l.spec.dataHome()); err != nil {
		return fmt.Errorf("remove data: %w", err)
	}
	return nil
}

// Down ends the servers and everything that was made for them; data and logs stay. When ctx ends first they are
// killed. A second call does nothing.
func (l *Lab) Down(ctx context.Context) error {
	l.mu.Lock()
	ended := l.ended
	l.ended = true
	l.mu.Unlock()
	if ended {
		return nil
	}
	errs := []error{l.end(ctx)}
	if l.owner != nil {
		errs = append(errs, l.owner.close())
	}
	if l.spawn != nil {
		l.spawn.close()
	}
	l.ports.release()
	if l.st.Format != 0 {
		_, err := l.st.remove()
		errs = append(errs, err)
		l.mu.Lock()
		l.st.Down = err == nil
		errs = append(errs, l.st.write())
		l.mu.Unlock()
	}
	l.unlock()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end lab: %w", err)
	}
	return nil
}
