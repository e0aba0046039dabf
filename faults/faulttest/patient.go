package faulttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"nightshift/soak/target"
)

const (
	standInEnv = "NIGHTSHIFT_FAULTTEST_STANDIN"
	listenFD   = 3
	srvrAnswer = "Zookeeper version: 3.9.5-standin, built on 2026-01-01 00:00 UTC\nLatency min/avg/max: 0/0.0/0\nReceived: 1\nSent: 1\n" +
		"Connections: 1\nOutstanding: 0\nZxid: 0x100000001\nMode: follower\nNode count: 5\n"
)

// StandIn turns this process into a stand-in server when a Patient has started it, and then does not return.
func StandIn() {
	if os.Getenv(standInEnv) == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the end of the test
		os.Exit(0)
	}()
	l, err := net.FileListener(os.NewFile(listenFD, "listen"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "stand-in:", err)
			os.Exit(1)
		}
		go answer(c)
	}
}

// answer answers srvr as ZooKeeper does. A client that has gone away is no matter.
func answer(c net.Conn) {
	defer func() { _ = c.Close() }()
	word := make([]byte, 4)
	if _, err := io.ReadFull(c, word); err == nil && string(word) == "srvr" {
		_, _ = io.WriteString(c, srvrAnswer)
	}
}

// Patient is one stand-in server, a real process that answers srvr, and its owner, who listens on a unix socket and
// restarts it only when asked.
type Patient struct {
	t      testing.TB
	owner  net.Listener
	port   *os.File // held here, so that the port stays ours while the server is down
	addr   string
	forks  chan *exec.Cmd
	forked chan error
	serve  sync.WaitGroup

	mu     sync.Mutex
	proc   target.ProcRef
	server *exec.Cmd
	input  io.Closer     // its end ends the server
	ended  chan struct{} // closed when the server has been waited for
	starts int
}

// NewPatient starts a stand-in and its owner; both end with the test.
func NewPatient(t testing.TB) *Patient {
	t.Helper()
	p := &Patient{t: t, forks: make(chan *exec.Cmd), forked: make(chan error)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	p.addr = l.Addr().String()
	p.port, err = l.(*net.TCPListener).File()
	p.must(err)
	p.must(l.Close())
	p.owner, err = net.Listen("unix", filepath.Join(t.TempDir(), "o"))
	p.must(err)
	p.serve.Go(p.fork)
	p.serve.Go(p.own)
	t.Cleanup(p.end)
	p.must(p.start())
	return p
}

func (p *Patient) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// fork starts all servers from one thread that lives as long as they may: the parent-death signal, which ends them
// with a test that crashes, belongs to the thread that forked.
func (p *Patient) fork() {
	runtime.LockOSThread()
	for cmd := range p.forks {
		p.forked <- cmd.Start()
	}
}

// Start starts the server as its owner does: a no-op when it runs.
func (p *Patient) Start() {
	p.t.Helper()
	p.must(p.start())
}

func (p *Patient) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc.Alive() {
		return nil
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = append(os.Environ(), standInEnv+"=1")
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{p.port}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	p.forks <- cmd
	if err := <-p.forked; err != nil {
		return err
	}
	p.starts++
	ended := make(chan struct{})
	p.server, p.input, p.ended = cmd, in, ended
	go func() { defer close(ended); _ = cmd.Wait() }() // how it ended is the test's doing
	p.proc, err = target.Resolve(cmd.Process.Pid)
	return err
}

// Kill ends the server as a stranger would: its owner does nothing about it.
func (p *Patient) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.server.Process.Kill() // it may have ended
	<-p.ended
}

// Starts is how often the server has been started.
func (p *Patient) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Node is the server as its owner knows it now.
func (p *Patient) Node() target.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return target.Node{ID: "n1", System: "zookeeper", Addrs: []string{p.addr}, Role: target.Follower,
		Proc: p.proc, Start: target.Start{Owner: p.owner.Addr().String()}}
}

// Cluster is a target.Lookup.
func (p *Patient) Cluster(context.Context) (target.Cluster, error) { return p.cluster(), nil }

func (p *Patient) cluster() target.Cluster {
	return target.Cluster{Name: "zk", System: "zookeeper", Lab: true, Nodes: []target.Node{p.Node()}}
}

// CloseOwner is the death of the owner; the server lives on, unlike in a lab.
func (p *Patient) CloseOwner() { _ = p.owner.Close() }

// own answers on the socket of the owner until it is closed.
func (p *Patient) own() {
	for {
		c, err := p.owner.Accept()
		if err != nil {
			return
		}
		var r target.Request
		a := target.Reply{}
		if err := json.NewDecoder(bufio.NewReader(c)).Decode(&r); err != nil {
			a.Error = err.Error()
		} else if err := p.obey(r); err != nil {
			a.Error = err.Error()
		}
		a.Cluster = p.cluster()
		_ = json.NewEncoder(c).Encode(a) // the asker may have gone away
		_ = c.Close()
	}
}

func (p *Patient) obey(r target.Request) error {
	switch {
	case r.Op == "status":
		return nil
	case r.Op == "start" && r.Node == "n1":
		return p.start()
	}
	return errors.New("not understood: " + strings.TrimSpace(r.Op+" "+r.Node))
}

// end ends the owner and the server.
func (p *Patient) end() {
	p.CloseOwner()
	p.Kill()
	_ = p.input.Close()
	close(p.forks)
	p.serve.Wait()
	_ = p.port.Close()
}
