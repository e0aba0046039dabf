package lab

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mrand "math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ports holds TCP ports of 127.0.0.1 for as long as the lab lives, also while their server is down: each has a
// socket that is bound but does not listen. A server that sets SO_REUSEADDR (Java's do) may still bind and listen,
// while the kernel gives the port neither to outgoing connections nor to another lab. So addresses stay stable
// across restarts, and there is no gap between choosing a port and using it.
type ports struct {
	mu  sync.Mutex
	fds []int
}

const portTries = 2000

// reserve holds n more ports, outside the range the kernel hands to outgoing connections where possible.
func (p *ports) reserve(n int) ([]int, error) {
	var seed [16]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, fmt.Errorf("reserve ports: %w", err)
	}
	rnd := mrand.New(mrand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
	lo, hi := portRange()
	var got []int
	for range portTries {
		if len(got) == n {
			return got, nil
		}
		port := lo + rnd.IntN(hi-lo)
		fd, err := hold(port)
		if err != nil {
			continue // taken, or not ours to take: the next one may be free
		}
		p.mu.Lock()
		p.fds = append(p.fds, fd)
		p.mu.Unlock()
		got = append(got, port)
	}
	if len(got) == n {
		return got, nil
	}
	return nil, fmt.Errorf("reserve ports: only %d of %d free ones found on 127.0.0.1 between %d and %d", len(got), n, lo, hi)
}

// release gives all ports back.
func (p *ports) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fd := range p.fds {
		_ = unix.Close(fd) // a bound socket has nothing to flush
	}
	p.fds = nil
}

// hold binds first without SO_REUSEADDR, which fails if anyone else has the port in any way, and sets it afterwards,
// which lets the server in.
func hold(port int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("make socket: %w", err)
	}
	addr := &unix.SockaddrInet4{Port: port, Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}).As4()}
	err = unix.Bind(fd, addr)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		_ = unix.Close(fd) // the error that matters is the first
		return -1, fmt.Errorf("hold port %d: %w", port, err)
	}
	return fd, nil
}

// portRange is where servers may listen without meeting outgoing connections: below net.ipv4.ip_local_port_range.
func portRange() (lo, hi int) {
	lo, hi = 10240, 32768
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	f := strings.Fields(string(b))
	if err != nil || len(f) != 2 {
		return lo, hi
	}
	first, err1 := strconv.Atoi(f[0])
	last, err2 := strconv.Atoi(f[1])
	switch {
	case err1 != nil || err2 != nil:
		return lo, hi
	case first-lo >= 2000:
		return lo, first
	case 65535-last >= 2000:
		return last + 1, 65535
	}
	return lo, 65535
}
