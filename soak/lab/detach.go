package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nightshift/soak/target"
)

// readyEnv names the file descriptor on which a supervisor says that its lab is up.
const readyEnv = "NIGHTSHIFT_LAB_READY_FD"

// started is what a supervisor says once, as one JSON line.
type started struct {
	Error string `json:"error,omitempty"`
	Op    string `json:"op,omitempty"` // the parts of an *Error
	Path  string `json:"path,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// Detach brings a lab up that outlives this process: a supervisor, this program again with the arguments
// `lab supervise DIR`, owns the servers until Down. It returns when the lab serves, or why it does not.
func Detach(ctx context.Context, s Spec) (target.Cluster, error) {
	s, err := s.withDefaults().absolute()
	if err != nil {
		return target.Cluster{}, err
	}
	if _, _, err := prepare(ctx, s); err != nil { // here, where the user sees Maven at work and can stop it
		return target.Cluster{}, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return target.Cluster{}, &Error{Op: "make lab directory", Path: s.Dir, Err: err}
	}
	if st, err := readState(s.Dir); err == nil && !st.Down && st.Owner.Alive() {
		return target.Cluster{}, &Error{Op: "start lab", Path: s.Dir, Err: fmt.Errorf("a lab runs there already, owned by process %d", st.Owner.Pid), Hint: command("down", s.Dir)}
	}
	s.Detached = true
	if err := writeJSON(specPath(s.Dir), s); err != nil {
		return target.Cluster{}, &Error{Op: "start supervisor", Path: s.Dir, Err: err}
	}
	if err := supervisor(ctx, s.Dir); err != nil {
		return target.Cluster{}, err
	}
	return Status(ctx, s.Dir)
}

func specPath(dir string) string { return filepath.Join(dir, "spec.json") }

// supervisor starts the supervisor in a session of its own and waits for its word. When ctx ends first it is killed,
// and its servers die with it.
func supervisor(ctx context.Context, dir string) error {
	logPath := filepath.Join(dir, "supervisor.log")
	fail := func(err error) error {
		return &Error{Op: "start supervisor", Path: logPath, Err: err}
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = log.Close() }() // the supervisor has its own copy
	r, w, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = r.Close() }() // all that matters was read
	cmd := exec.Command("/proc/self/exe", "lab", "supervise", dir)
	cmd.Args[0] = "nightshift"
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), readyEnv+"=3")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = w.Close() // ours; the end of the supervisor's is what we wait for
	if err != nil {
		return fail(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, rerr := bufio.NewReader(r).ReadBytes('\n')
	var said started
	if rerr == nil {
		rerr = json.Unmarshal(line, &said)
	}
	if rerr == nil && said.Error == "" {
		if err := cmd.Process.Release(); err != nil {
			return fail(err)
		}
		return nil
	}
	_ = cmd.Process.Kill() // it has failed, or is to stop; it may have ended already
	_ = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		_, err := RemoveLeftovers(dir)
		return errors.Join(fmt.Errorf("start supervisor: %w", context.Cause(ctx)), err)
	case said.Op != "":
		return &Error{Op: said.Op, Path: said.Path, Err: errors.New(said.Error), Hint: said.Hint}
	case said.Error != "":
		return fail(errors.New(said.Error))
	}
	last, err := readTail(logPath, 0)
	if errors.Is(rerr, io.EOF) {
		rerr = errors.New("it ended without a word; its log ends with\n" + tail(last, 10))
	}
	return fail(errors.Join(rerr, err))
}

// Supervise is the body of `lab supervise DIR`: it owns the lab whose Spec Detach left in dir, until ctx ends or
// someone asks for the end over the socket.
func Supervise(ctx context.Context, dir string) error {
	say := readyPipe()
	l, err := superviseUp(ctx, dir)
	if serr := say(err); err == nil && serr != nil {
		// Nobody waits for us any more, so nobody would end us.
		err = errors.Join(serr, l.Down(ctx))
	}
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-l.Asked():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*killAfter)
	defer cancel()
	return l.Down(ctx)
}

func superviseUp(ctx context.Context, dir string) (*Lab, error) {
	b, err := os.ReadFile(specPath(dir))
	if err != nil {
		return nil, fmt.Errorf("read lab: %w", err)
	}
	var s Spec
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("read lab %s: %w", specPath(dir), err)
	}
	return Up(ctx, s)
}

// readyPipe gives the function that tells Detach how the start went. Without Detach it does nothing.
func readyPipe() func(error) error {
	fd, err := strconv.Atoi(os.Getenv(readyEnv))
	if err != nil || fd < 3 {
		return func(error) error { return nil }
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "ready")
	return func(err error) error {
		var said started
		var e *Error
		switch {
		case errors.As(err, &e):
			said = started{Error: e.Err.Error(), Op: e.Op, Path: e.Path, Hint: e.Hint}
		case err != nil:
			said.Error = err.Error()
		}
		werr := json.NewEncoder(f).Encode(said)
		if err := errors.Join(werr, f.Close()); err != nil {
			return fmt.Errorf("report start: %w", err)
		}
		return nil
	}
}

// Status asks the owner of the lab in dir how it is.
func Status(ctx context.Context, dir string) (target.Cluster, error) {
	st, err := running(dir)
	if err != nil {
		return target.Cluster{}, err
	}
	a, err := target.Ask(ctx, st.Socket, target.Request{Op: "status"})
	if err != nil {
		return a.Cluster, &Error{Op: "ask lab", Path: st.Socket, Err: err, Hint: command("down", dir)}
	}
	return a.Cluster, nil
}

// Down ends the lab in dir and returns when its supervisor and servers are gone. Data and logs stay. When the owner
// was killed, what it left is removed.
func Down(ctx context.Context, dir string) error {
	st, err := running(dir)
	if err != nil {
		return err
	}
	_, err = target.Ask(ctx, st.Socket, target.Request{Op: "down"})
	if err != nil && !errors.Is(err, target.ErrNoOwner) {
		return &Error{Op: "end lab", Path: dir, Err: err}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for st.Spec.Detached && st.Owner.Alive() {
		select {
		case <-ctx.Done():
			return &Error{Op: "end lab", Path: dir, Err: fmt.Errorf("process %d still owns it: %w", st.Owner.Pid, context.Cause(ctx))}
		case <-tick.C:
		}
	}
	if _, err := RemoveLeftovers(dir); err != nil && !st.Owner.Alive() {
		return &Error{Op: "end lab", Path: dir, Err: err}
	}
	return nil
}

// running is the state of the lab in dir when it has not been ended in order.
func running(dir string) (state, error) {
	st, err := readState(dir)
	if err == nil && st.Down {
		err = errors.New("the lab there is down")
	}
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("no lab there")
	}
	if err != nil {
		return state{}, &Error{Op: "find lab", Path: dir, Err: err, Hint: command("up --detach", dir)}
	}
	return st, nil
}
