package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Errors of four-letter words.
var (
	// ErrNotWhitelisted is returned by Word when 4lw.commands.whitelist lacks the word.
	ErrNotWhitelisted = errors.New("four-letter word is not in the server's 4lw.commands.whitelist")
	// ErrNotServing is returned by Status while a server has no quorum.
	ErrNotServing = errors.New("server is not serving requests")
)

const (
	wordTimeout = 5 * time.Second // when ctx has no deadline
	wordLimit   = 4 << 20
)

// Words asks servers by four-letter words over its own dialer. The zero value uses TCP.
type Words struct {
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Word sends a four-letter word ("srvr", "mntr", "ruok", "conf") to one server and returns its answer.
// ErrNotWhitelisted says that the server does not allow it. Without a deadline on ctx it waits at most 5 s.
func Word(ctx context.Context, addr, word string) (string, error) {
	return Words{}.Word(ctx, addr, word)
}

// Status asks one server by srvr. A server that answers and does not serve returns ErrNotServing.
func Status(ctx context.Context, addr string) (ServerStatus, error) {
	return Words{}.Status(ctx, addr)
}

// Word is like the function Word.
func (w Words) Word(ctx context.Context, addr, word string) (string, error) {
	text, err := w.ask(ctx, addr, word)
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w", addr, word, err)
	}
	// ServerCnxn and NopCommand of the server: the text names the word and the list.
	if strings.Contains(text, "is not executed because it is not in the whitelist") {
		return "", fmt.Errorf("ask %s for %s: %w", addr, word, ErrNotWhitelisted)
	}
	return text, nil
}

func (w Words) ask(ctx context.Context, addr, word string) (string, error) {
	if len(word) != 4 {
		return "", fmt.Errorf("%q has not four letters", word)
	}
	ctx, cancel := context.WithTimeout(ctx, wordTimeout) // the sooner of both
	defer cancel()
	dial := w.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // the answer is whole, or reading has said why not
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", sooner(ctx, err)
	}
	b, err := io.ReadAll(io.LimitReader(conn, wordLimit))
	// A server that closes with unread input resets the connection after its answer.
	if err != nil && len(b) == 0 {
		return "", sooner(ctx, err)
	}
	if len(b) == 0 {
		return "", errors.New("connection closed without an answer; the server may be starting or stopping")
	}
	return string(b), nil
}

// sooner prefers the context's error: it says who gave up. The connection's deadline is the context's.
func sooner(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return context.DeadlineExceeded
	}
	return err
}

// notServing is what a server without quorum answers to every word but ruok (AbstractFourLetterCommand).
const notServing = "This ZooKeeper instance is not currently serving requests"

// ServerStatus is what srvr says.
type ServerStatus struct {
	Version     string
	Mode        string // "leader", "follower", "observer", "standalone"
	Zxid        int64
	Nodes       int
	Connections int
}

// Status is like the function Status.
func (w Words) Status(ctx context.Context, addr string) (ServerStatus, error) {
	text, err := w.Word(ctx, addr, "srvr")
	if err != nil {
		return ServerStatus{}, err
	}
	st, err := parseStatus(text)
	if err != nil {
		return ServerStatus{}, fmt.Errorf("ask %s for srvr: %w", addr, err)
	}
	return st, nil
}

// parseStatus reads the "key: value" lines of srvr; lines it does not know are passed over.
func parseStatus(text string) (ServerStatus, error) {
	if strings.Contains(text, notServing) {
		return ServerStatus{}, ErrNotServing
	}
	var st ServerStatus
	var errs []error
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		var err error
		switch key {
		case "Zookeeper version":
			st.Version, _, _ = strings.Cut(value, ",")
			st.Version, _, _ = strings.Cut(st.Version, "-") // build hash
		case "Mode":
			st.Mode = value
		case "Zxid":
			var z uint64
			z, err = strconv.ParseUint(value, 0, 64)
			st.Zxid = int64(z)
		case "Node count":
			st.Nodes, err = strconv.Atoi(value)
		case "Connections":
			st.Connections, err = strconv.Atoi(value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %q: %w", strings.TrimSpace(line), err))
		}
	}
	if st.Mode == "" && len(errs) == 0 {
		errs = append(errs, errors.New("answer has no Mode line; is this a ZooKeeper server?"))
	}
	return st, errors.Join(errs...)
}
