package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Errors. Everything an operation returns matches one of these with errors.Is, or is a plain error that names what to do.
var (
	ErrNoNode     = errors.New("node does not exist")
	ErrNodeExists = errors.New("node exists")
	ErrNotEmpty   = errors.New("node has children")
	ErrBadVersion = errors.New("version differs")
	ErrExpired    = errors.New("session expired")
	ErrConnection = errors.New("connection lost")                           // in doubt for writes
	ErrTimeout    = errors.New("no answer within the operation's deadline") // in doubt for writes
	ErrClosed     = errors.New("connection closed")
	ErrAuth       = errors.New("not allowed")
)

// doubt says what is known of a request that failed.
type doubt bool

const (
	mayHold  doubt = true  // it was sent, or may have been
	cantHold doubt = false // it was never sent, or the server refused it
)

// opError is what every failed operation returns.
type opError struct {
	op, path string
	kind     error // a sentinel, or nil for a plain error
	cause    error // more about it; may be nil
	doubt    doubt
}

func (e *opError) Error() string {
	switch {
	case e.kind == nil:
		return fmt.Sprintf("%s %s: %v", e.op, e.path, e.cause)
	case e.cause == nil:
		return fmt.Sprintf("%s %s: %v", e.op, e.path, e.kind)
	}
	return fmt.Sprintf("%s %s: %v: %v", e.op, e.path, e.kind, e.cause)
}

func (e *opError) Unwrap() []error {
	var all []error
	if e.kind != nil {
		all = append(all, e.kind)
	}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	return all
}

// InDoubt says whether a write that returned err may have taken effect all the same. It is false for what the
// server refused and for what is known never to have been sent; when unsure it is true.
func InDoubt(err error) bool {
	var e *opError
	return errors.As(err, &e) && bool(e.doubt)
}

// Class is a short fixed word for err: "timeout", "cancelled", "connection lost", "expired", "closed", "no node",
// "node exists", "not empty", "bad version", "not allowed", "other"; "" for nil.
func Class(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, ErrConnection):
		return "connection lost"
	case errors.Is(err, ErrExpired):
		return "expired"
	case errors.Is(err, ErrClosed):
		return "closed"
	case errors.Is(err, ErrNoNode):
		return "no node"
	case errors.Is(err, ErrNodeExists):
		return "node exists"
	case errors.Is(err, ErrNotEmpty):
		return "not empty"
	case errors.Is(err, ErrBadVersion):
		return "bad version"
	case errors.Is(err, ErrAuth):
		return "not allowed"
	}
	return "other"
}

var (
	errNoServer  = errors.New("no server could be reached; not sent")
	errMoved     = errors.New("the session has moved to another server; the request was ignored")
	errThrottled = errors.New("the server throttles requests; lower the rate or raise zookeeper.request_throttle_max_requests")
	errQuota     = errors.New("a quota of the path is exceeded; raise it or use another prefix")
	errPath      = errors.New("path is not valid; it starts with / and has no empty, . or .. part")
	errChildOfE  = errors.New("ephemeral nodes can't have children; use a persistent parent")
)

// mapError turns what the library returned into ours. The library uses some of its errors for several things:
// ErrConnectionClosed is a request that was sent and lost, one that was refused because the connection was going
// down, and one that met Close; only ErrNoServer is sure to have stayed unsent.
func mapError(err error) (kind, cause error, d doubt) {
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return ErrNoNode, nil, cantHold
	case errors.Is(err, zk.ErrNodeExists):
		return ErrNodeExists, nil, cantHold
	case errors.Is(err, zk.ErrNotEmpty):
		return ErrNotEmpty, nil, cantHold
	case errors.Is(err, zk.ErrBadVersion):
		return ErrBadVersion, nil, cantHold
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return ErrAuth, err, cantHold
	case errors.Is(err, zk.ErrSessionExpired):
		return ErrExpired, nil, mayHold
	case errors.Is(err, zk.ErrNoServer):
		return ErrConnection, errNoServer, cantHold
	case errors.Is(err, zk.ErrSessionMoved):
		return ErrConnection, errMoved, cantHold
	case errors.Is(err, zk.ErrConnectionClosed):
		return ErrConnection, nil, mayHold
	case errors.Is(err, zk.ErrClosing):
		return ErrClosed, nil, mayHold
	case errors.Is(err, zk.ErrInvalidPath):
		return nil, errPath, cantHold
	case errors.Is(err, zk.ErrNoChildrenForEphemerals):
		return nil, errChildOfE, cantHold
	case errors.Is(err, zk.ErrInvalidFlags), errors.Is(err, zk.ErrBadArguments):
		return nil, err, cantHold
	case errors.Is(err, zk.ErrShortBuffer):
		return nil, fmt.Errorf("answer can't be read: %w", err), mayHold
	}
	return mapCode(err)
}

// mapCode handles the codes that the library has no name for, and errors of the network.
func mapCode(err error) (kind, cause error, d doubt) {
	code, isCode := strings.CutPrefix(err.Error(), "unknown error: ")
	switch {
	case !isCode:
		return ErrConnection, err, mayHold // a failed write: the server may have got all of it
	case code == "-127":
		return nil, errThrottled, cantHold
	case code == "-125":
		return nil, errQuota, cantHold
	}
	return nil, fmt.Errorf("server answered with error %s; its log says more", code), mayHold
}
