package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// The owner of lab servers (nightshift itself, or a supervisor) listens on a unix socket and is asked
// one request a connection, both ways one JSON value. Only the owner ever starts a server: a server
// started by anyone else would outlive the one who has to end it.

// Request asks the owner of a lab.
type Request struct {
	Op   string `json:"op"`             // "status", "start", "stop", "down"
	Node string `json:"node,omitempty"` // for start and stop
}

// Reply is the owner's answer.
type Reply struct {
	Error   string  `json:"error,omitempty"`
	Cluster Cluster `json:"cluster"`
}

// ErrNoOwner is returned when nobody listens on the socket any more.
var ErrNoOwner = errors.New("the process that owns the servers is gone")

// Ask sends r to the owner at socket and waits for its answer until ctx ends.
func Ask(ctx context.Context, socket string, r Request) (Reply, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return Reply{}, ErrNoOwner
	}
	if err != nil {
		return Reply{}, fmt.Errorf("ask owner: %w", err)
	}
	defer func() { _ = c.Close() }() // the answer is complete or the decoder has said so
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := json.NewEncoder(c).Encode(r); err != nil {
		return Reply{}, fmt.Errorf("ask owner: %w", err)
	}
	var a Reply
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return Reply{}, fmt.Errorf("ask owner: %w", err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("owner: %s", a.Error)
	}
	return a, nil
}
