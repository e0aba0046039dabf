package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	zkclient "nightshift/soak/client/zookeeper"
	"nightshift/soak/target"
)

// root is the place of one run on the target: prefix/run. Everything below belongs to the run. Nodes along the prefix
// carry the run's mark when the run created them; only those may be removed, and only when empty.
type root struct {
	prefix string // "" or "/a/b"
	run    string
}

// newRoot checks both names before anything is created or removed by them.
func newRoot(prefix, run string) (root, error) {
	prefix = strings.TrimRight(prefix, "/")
	if prefix != "" && !strings.HasPrefix(prefix, "/") {
		return root{}, fmt.Errorf("prefix %q must begin with /", prefix)
	}
	if prefix == "/zookeeper" || strings.HasPrefix(prefix, "/zookeeper/") {
		return root{}, fmt.Errorf("prefix %q is ZooKeeper's own; use another one", prefix)
	}
	for _, p := range strings.Split(prefix, "/")[1:] {
		if !part.MatchString(p) {
			return root{}, fmt.Errorf("prefix %q: %q can't be a node's name; use letters, digits, dots, dashes", prefix, p)
		}
	}
	if !part.MatchString(run) {
		return root{}, fmt.Errorf("run id %q can't be a node's name", run)
	}
	return root{prefix: prefix, run: run}, nil
}

func (r root) dir() string { return r.prefix + "/" + r.run }

func (r root) mark() []byte { return []byte("nightshift " + r.run) }

// above lists the nodes along the prefix, the topmost first.
func (r root) above() []string {
	var all []string
	for i, p := range strings.Split(r.prefix, "/") {
		switch {
		case i == 1:
			all = append(all, "/"+p)
		case i > 1:
			all = append(all, all[len(all)-1]+"/"+p)
		}
	}
	return all
}

// ensure creates the run's directory and dir below it.
func (r root) ensure(ctx context.Context, conn *zkclient.Conn, dir string) error {
	for {
		var err error
		for _, p := range append(r.above(), r.dir(), dir) {
			if err = ensureNode(ctx, conn, p, r.mark()); err != nil {
				break
			}
		}
		// Another run that ended may have removed its empty prefix between two of our steps.
		if !errors.Is(err, zkclient.ErrNoNode) || !sleep(ctx, pause) {
			return err
		}
	}
}

// pause between attempts while the servers can't answer.
const pause = 200 * time.Millisecond

// transient says that the same operation may succeed later.
func transient(err error) bool {
	return errors.Is(err, zkclient.ErrConnection) || errors.Is(err, zkclient.ErrTimeout) || errors.Is(err, zkclient.ErrExpired)
}

// persist repeats f until its answer is definite or ctx ends.
func persist(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !transient(err) || !sleep(ctx, pause) {
			return err
		}
	}
}

// ensureNode creates a persistent node unless it is there.
func ensureNode(ctx context.Context, conn *zkclient.Conn, path string, data []byte) error {
	err := persist(ctx, func() error {
		_, err := conn.Create(ctx, path, data, 0)
		return err
	})
	if err != nil && !errors.Is(err, zkclient.ErrNodeExists) {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

// parallel bounds how many requests one connection has in flight while it checks or cleans.
const parallel = 16

// below lists dir and everything under it, parents first, level by level. It is empty when dir does not exist.
func below(ctx context.Context, conn *zkclient.Conn, dir string) ([]string, error) {
	var all []string
	for level := []string{dir}; len(level) > 0; {
		found := make([][]string, len(level))
		here := make([]bool, len(level))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(parallel)
		for i, path := range level {
			g.Go(func() error {
				names, err := children(gctx, conn, path)
				here[i] = err == nil
				for _, n := range names {
					found[i] = append(found[i], path+"/"+n)
				}
				if errors.Is(err, zkclient.ErrNoNode) {
					return nil
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		var next []string
		for i, path := range level {
			if here[i] {
				all = append(all, path)
				next = append(next, found[i]...)
			}
		}
		level = next
	}
	return all, nil
}

// children lists the names under path.
func children(ctx context.Context, conn *zkclient.Conn, path string) (names []string, err error) {
	err = persist(ctx, func() (err error) {
		names, err = conn.Children(ctx, path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	return names, nil
}

// removeTree deletes dir and all below it, level by level from the deepest, and says how many nodes that were.
// What can't be removed is returned in left with the reason.
func removeTree(ctx context.Context, conn *zkclient.Conn, dir string) (removed int, left []string, err error) {
	all, err := below(ctx, conn, dir)
	if err != nil {
		return 0, nil, err
	}
	var gone atomic.Int64
	var mu sync.Mutex
	for end := len(all); end > 0; {
		begin, depth := end, strings.Count(all[end-1], "/")
		for begin > 0 && strings.Count(all[begin-1], "/") == depth {
			begin--
		}
		var g errgroup.Group
		g.SetLimit(parallel)
		for _, path := range all[begin:end] {
			g.Go(func() error {
				err := deleteNode(ctx, conn, path)
				if err == nil {
					gone.Add(1)
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				left = append(left, err.Error())
				return nil
			})
		}
		_ = g.Wait() // what failed is in left
		end = begin
	}
	return int(gone.Load()), left, ctx.Err()
}

// deleteNode deletes path whatever its version; it is fine when it is not there.
func deleteNode(ctx context.Context, conn *zkclient.Conn, path string) error {
	err := persist(ctx, func() error { return conn.Delete(ctx, path, -1) })
	if err != nil && !errors.Is(err, zkclient.ErrNoNode) {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}

// tidy removes the run's directory and the nodes along the prefix that the run created, as far as they are empty.
func (r root) tidy(ctx context.Context, conn *zkclient.Conn) (removed int, err error) {
	nodes := append(r.above(), r.dir())
	for i := len(nodes) - 1; i >= 0; i-- {
		owned, err := r.owns(ctx, conn, nodes[i])
		if err != nil {
			return removed, err
		}
		if !owned {
			continue
		}
		err = persist(ctx, func() error { return conn.Delete(ctx, nodes[i], 0) })
		switch {
		case err == nil:
			removed++
		case errors.Is(err, zkclient.ErrNotEmpty), errors.Is(err, zkclient.ErrNoNode), errors.Is(err, zkclient.ErrBadVersion):
		default:
			return removed, fmt.Errorf("delete %s: %w", nodes[i], err)
		}
	}
	return removed, nil
}

// owns says whether path exists and carries the run's mark.
func (r root) owns(ctx context.Context, conn *zkclient.Conn, path string) (bool, error) {
	var data []byte
	err := persist(ctx, func() (err error) {
		data, _, err = conn.Get(ctx, path)
		return err
	})
	if errors.Is(err, zkclient.ErrNoNode) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return string(data) == string(r.mark()), nil
}

// sweepPatience is how long Sweep waits for a server that does not answer.
const sweepPatience = 30 * time.Second

// Sweep removes what a run that did not end by itself left on cluster: the tree of that run id under the prefix, and
// the nodes along the prefix that the run created and that are empty. A directory of that name that does not carry
// the run's mark is not touched. It returns how many nodes it removed; zero when there was nothing.
func Sweep(ctx context.Context, cluster target.Cluster, runID string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (int, error) {
	r, err := newRoot(prefixOf(cluster), runID)
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	conn, err := connectAdmin(ctx, Env{Cluster: cluster, Dial: dial}, 10*time.Second, 5*time.Second, sweepPatience)
	if err != nil {
		return 0, fmt.Errorf("sweep run %s: %w", runID, err)
	}
	defer dismiss(conn)
	exists, _, err := conn.Exists(ctx, r.dir())
	if err != nil {
		return 0, fmt.Errorf("sweep run %s: %w", runID, err)
	}
	removed := 0
	if exists {
		owned, err := r.owns(ctx, conn, r.dir())
		if err != nil {
			return 0, fmt.Errorf("sweep run %s: %w", runID, err)
		}
		if !owned {
			return 0, fmt.Errorf("sweep run %s: %s was not created by that run, so nothing was removed; look at it, and remove it by hand", runID, r.dir())
		}
		var left []string
		removed, left, err = removeTree(ctx, conn, r.dir())
		if err != nil {
			return removed, fmt.Errorf("sweep run %s: %w", runID, err)
		}
		if len(left) > 0 {
			return removed, fmt.Errorf("sweep run %s: %d nodes are still there, try again: %s", runID, len(left), left[0])
		}
	}
	n, err := r.tidy(ctx, conn)
	return removed + n, err
}
