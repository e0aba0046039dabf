package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"nightshift/soak/target"
)

// maxSocketPath is what fits into sockaddr_un with its closing zero (unix(7)).
const maxSocketPath = 107

// socketPath is where the owner listens: in dir, or when that path is too long for a unix socket, in a directory of
// its own below the system's for temporary files, which is returned to be removed again.
func socketPath(dir string) (path, made string, err error) {
	path = filepath.Join(dir, "owner.sock")
	if len(path) <= maxSocketPath {
		return path, "", nil
	}
	for _, base := range []string{os.TempDir(), "/tmp"} {
		if len(filepath.Join(base, "nightshift-0123456789", "s")) > maxSocketPath {
			continue
		}
		made, err := os.MkdirTemp(base, "nightshift-")
		if err != nil {
			return "", "", fmt.Errorf("make directory for socket: %w", err)
		}
		return filepath.Join(made, "s"), made, nil
	}
	return "", "", fmt.Errorf("path of the socket, %s, is longer than %d bytes; use a shorter lab directory", path, maxSocketPath)
}

// owner answers on the socket.
type owner struct {
	listener net.Listener
	cancel   context.CancelFunc
	work     sync.WaitGroup
}

const (
	requestLimit = 2 * time.Minute // of one request, whoever asks
	replyLimit   = 5 * time.Second // an asker that does not read must not hold up the end
)

// listen starts to answer requests with handle until close.
func listen(path string, handle func(context.Context, target.Request) (target.Cluster, error)) (*owner, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a killed owner; the lab's lock is ours
		return nil, fmt.Errorf("listen for requests: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for requests: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for requests: %w", err), l.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &owner{listener: l, cancel: cancel}
	o.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			o.work.Go(func() { answer(ctx, c, handle) })
		}
	})
	return o, nil
}

// answer serves one connection: one request, one reply.
func answer(ctx context.Context, c net.Conn, handle func(context.Context, target.Request) (target.Cluster, error)) {
	defer func() { _ = c.Close() }() // the asker sees a reply that was cut
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	// Only reading is cut short at the end: the answer to "down" is written while the owner closes.
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var r target.Request
	var a target.Reply
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		a.Error = fmt.Sprintf("read request: %v", err)
	} else if a.Cluster, err = handle(ctx, r); err != nil {
		a.Error = err.Error()
	}
	_ = c.SetWriteDeadline(time.Now().Add(replyLimit))
	_ = json.NewEncoder(c).Encode(a) // an asker who left gets no answer
}

// close stops to listen, ends requests that are being answered and waits for them.
func (o *owner) close() error {
	o.cancel()
	err := o.listener.Close()
	o.work.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close owner socket: %w", err)
	}
	return nil
}
