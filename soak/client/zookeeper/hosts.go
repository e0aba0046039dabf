package zookeeper

import (
	"sync"

	"github.com/go-zookeeper/zk"
)

// hosts is the library's host provider without its name look-up at the start: names go to the dialer as they
// were given, so that a server that moves is found at the next dial, and in-memory networks need no resolver.
type hosts struct {
	fixed []string // the order to keep, or nil for the library's shuffled one

	mu      sync.Mutex
	servers []string
	curr    int
	last    int
}

// Init takes the servers, which the library has shuffled with its own random source.
func (h *hosts) Init(servers []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers = servers
	if h.fixed != nil {
		h.servers = h.fixed
	}
	h.curr, h.last = -1, -1
	return nil
}

// Len is the number of servers.
func (h *hosts) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.servers)
}

// Next is the server to try; retryStart says that all were tried since the last success: the library then
// fails what waits unsent and pauses a second.
func (h *hosts) Next() (server string, retryStart bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.curr = (h.curr + 1) % len(h.servers)
	retryStart = h.curr == h.last
	if h.last == -1 {
		h.last = 0
	}
	return h.servers[h.curr], retryStart
}

// Connected is called after a handshake.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = h.curr
}

// rotated is servers from place order-1 on; order 0 is no order.
func rotated(servers []string, order uint64) []string {
	if order == 0 {
		return nil
	}
	servers = zk.FormatServers(servers)
	k := int((order - 1) % uint64(len(servers)))
	return append(append([]string(nil), servers[k:]...), servers[:k]...)
}
