package zkstub

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// Addrs are the in-memory addresses, for Dial: "n1:2181" and on.
func (e *Ensemble) Addrs() []string {
	var out []string
	for _, n := range e.nodes {
		out = append(out, n.addr)
	}
	return out
}

// TCP are the addresses on 127.0.0.1, with Options.Listen. They survive Stop and Start.
func (e *Ensemble) TCP() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, n := range e.nodes {
		out = append(out, n.tcp)
	}
	return out
}

// Dial connects to a node in memory, by its name ("n1:2181") or its TCP address. A stopped node refuses;
// a paused one accepts, like the kernel of its host, and does not answer.
func (e *Ensemble) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.nodes {
		if n.addr != addr && (n.tcp != addr || addr == "") {
			continue
		}
		if !n.running || e.closed {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		client, server := net.Pipe()
		e.accept(n, server)
		return client, nil
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: &net.AddrError{Err: "no such node", Addr: addr}}
}

// listen opens a node's TCP port, the same one as before when it had one.
func (e *Ensemble) listen(n *node) error {
	addr := n.tcp
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for node %d: %w", n.id, err)
	}
	n.ln, n.tcp = ln, ln.Addr().String()
	e.work.Go(func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return // closed by Stop or Close
			}
			e.mu.Lock()
			if !n.running || e.closed {
				_ = raw.Close() // refused
			} else {
				e.accept(n, raw)
			}
			e.mu.Unlock()
		}
	})
	return nil
}
