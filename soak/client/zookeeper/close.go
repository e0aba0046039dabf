package zookeeper

import (
	"fmt"
	"time"
)

// Close ends the session within d; when the server does not answer it lets the session expire and says so.
// Calls and watches that are still waiting end with ErrClosed. Everything the Conn started is over when Close
// returns nil, and with d of 4 s or more in any case: the library may need 3 s to give up.
// A second Close does nothing.
func (c *Conn) Close(d time.Duration) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	for _, e := range c.idle {
		close(e.in)
	}
	c.idle = nil
	c.mu.Unlock()
	c.enter(Closed, c.Server())
	close(c.quit)

	started := time.Now()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.zk.Close() // asks the server to end the session, so that its ephemeral nodes go at once
		for range c.ended {
		}
		c.work.Wait()
	}()
	soft := time.NewTimer(d / 2)
	defer soft.Stop()
	hard := time.NewTimer(d)
	defer hard.Stop()
	select {
	case <-gone:
	case <-soft.C:
	}
	// The library would leave a connection whose server does not answer open and go on pinging.
	c.cancel()
	l := c.dropLink()
	select {
	case <-gone:
	case <-hard.C:
		return fmt.Errorf("close session 0x%x: client still busy after %v", c.SessionID(), d)
	}
	if id := c.SessionID(); id != 0 && (l == nil || !l.said.Load()) {
		return fmt.Errorf("close session 0x%x: no answer within %v; it expires after its timeout of %v",
			id, time.Since(started).Round(time.Millisecond), c.opts.SessionTimeout)
	}
	return nil
}
