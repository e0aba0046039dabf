package lab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"nightshift/soak/target"
)

// spawner forks all servers from one thread that lives as long as they may. The parent-death signal belongs to the
// forking thread, not to the process: a child of a thread that ends is killed at once.
type spawner struct {
	requests chan spawnRequest
	ended    chan struct{}
}

type spawnRequest struct {
	launch target.Launch
	cgroup string // directory, may be empty
	output *os.File
	reply  chan spawned
}

type spawned struct {
	cmd  *exec.Cmd
	note string // why it runs outside its cgroup
	err  error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest), ended: make(chan struct{})}
	go s.run()
	return s
}

// run never unlocks its thread, so that the thread ends with it: close only when no child is left.
func (s *spawner) run() {
	runtime.LockOSThread()
	defer close(s.ended)
	for r := range s.requests {
		r.reply <- fork(r)
	}
}

func (s *spawner) start(l target.Launch, cgroup string, output *os.File) (*exec.Cmd, string, error) {
	r := spawnRequest{launch: l, cgroup: cgroup, output: output, reply: make(chan spawned, 1)}
	s.requests <- r
	a := <-r.reply
	return a.cmd, a.note, a.err
}

func (s *spawner) close() {
	close(s.requests)
	<-s.ended
}

// fork starts a server in its cgroup, and outside of it where the host does not allow that: only network faults need it.
func fork(r spawnRequest) spawned {
	var note string
	if r.cgroup != "" {
		cmd, err := forkInCgroup(r)
		if err == nil {
			return spawned{cmd: cmd}
		}
		note = fmt.Sprintf("runs outside its cgroup %s: %v", r.cgroup, err)
	}
	cmd, err := forkInto(r, nil)
	return spawned{cmd: cmd, note: note, err: err}
}

func forkInCgroup(r spawnRequest) (*exec.Cmd, error) {
	dir, err := os.Open(r.cgroup)
	if err != nil {
		return nil, fmt.Errorf("open cgroup: %w", err)
	}
	defer func() { _ = dir.Close() }() // opened to name the cgroup only
	return forkInto(r, dir)
}

// forkInto starts the server in a session of its own: in ours it would be hung up when we die while it is stopped,
// because its process group becomes orphaned.
func forkInto(r spawnRequest, cgroup *os.File) (*exec.Cmd, error) {
	cmd := exec.Command(r.launch.Argv[0], r.launch.Argv[1:]...)
	cmd.Env, cmd.Dir = r.launch.Env, r.launch.Dir
	cmd.Stdout, cmd.Stderr = r.output, r.output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(cgroup.Fd())
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", r.launch.Argv[0], err)
	}
	return cmd, nil
}
