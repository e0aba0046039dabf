package lab

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A held port stays ours while its server is down, and still lets the server listen.
func TestPorts(t *testing.T) {
	var p, other ports
	defer p.release()
	got, err := p.reserve(4)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range got {
		if seen[port] {
			t.Errorf("port %d twice", port)
		}
		seen[port] = true
		if fd, err := hold(port); err == nil {
			t.Errorf("port %d could be held twice (%d)", port, fd)
		}
		addr := host + ":" + strconv.Itoa(port)
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			t.Errorf("%s answers although no server runs", addr)
		}
		for range 2 { // Go sets SO_REUSEADDR, as Java does
			l, err := net.Listen("tcp4", addr)
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			s, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			_, _, _ = s.Close(), c.Close(), l.Close() // leaves a connection in TIME_WAIT on the server's side
		}
	}
	p.release()
	l, err := net.Listen("tcp4", host+":"+strconv.Itoa(got[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if fd, err := hold(got[0]); err == nil {
		t.Errorf("a port someone listens on could be held (%d)", fd)
	}
	other.release() // of nothing
}

// The kernel must not hand our ports to outgoing connections.
func TestPortRange(t *testing.T) {
	lo, hi := portRange()
	if lo < 1024 || hi > 65535 || hi-lo < 1000 {
		t.Errorf("range %d to %d", lo, hi)
	}
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skip(err)
	}
	f := strings.Fields(string(b))
	first, _ := strconv.Atoi(f[0])
	last, _ := strconv.Atoi(f[1])
	if first >= 12240 && hi > first || first < 12240 && last <= 63535 && lo <= last {
		t.Errorf("%d to %d overlaps the kernel's %d to %d", lo, hi, first, last)
	}
}

func TestSocketPath(t *testing.T) {
	short := "/" + strings.Repeat("d", maxSocketPath-len("/owner.sock")-1)
	path, made, err := socketPath(short)
	if err != nil || made != "" || len(path) != maxSocketPath {
		t.Errorf("%q %q %v", path, made, err)
	}
	long := short + "d"
	path, made, err = socketPath(long)
	if err != nil || made == "" || len(path) > maxSocketPath || !strings.HasPrefix(path, made+"/") {
		t.Fatalf("%q %q %v", path, made, err)
	}
	defer func() { _ = os.Remove(made) }()
	fi, err := os.Stat(made)
	if err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", fi, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
