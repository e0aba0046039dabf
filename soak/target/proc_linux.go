package target

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ProcRef names one process for good: a pid alone is given to others after its process has ended.
type ProcRef struct {
	Pid    int    `json:"pid"`
	Ticks  uint64 `json:"ticks"`   // start time, clock ticks since boot (/proc/PID/stat field 22)
	BootID string `json:"boot_id"` // pids of another boot mean nothing
}

// ErrGone is returned when the process a ProcRef names has ended, or its pid belongs to another one now.
var ErrGone = errors.New("process is gone")

// BootID identifies this boot of the host.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Resolve makes the ProcRef of a running pid.
func Resolve(pid int) (ProcRef, error) {
	boot, err := BootID()
	if err != nil {
		return ProcRef{}, err
	}
	_, ticks, err := stat(pid)
	if err != nil {
		return ProcRef{}, err
	}
	return ProcRef{Pid: pid, Ticks: ticks, BootID: boot}, nil
}

// State is the process state letter: R, S, D, T (stopped), ... A zombie is ErrGone.
func (p ProcRef) State() (byte, error) {
	if p.Pid <= 0 {
		return 0, ErrGone
	}
	boot, err := BootID()
	if err != nil {
		return 0, err
	}
	state, ticks, err := stat(p.Pid)
	if err != nil {
		return 0, err
	}
	if boot != p.BootID || ticks != p.Ticks || state == 'Z' || state == 'X' {
		return 0, ErrGone
	}
	return state, nil
}

// Alive says whether the very process still runs (stopped counts as running).
func (p ProcRef) Alive() bool {
	_, err := p.State()
	return err == nil
}

func stat(pid int) (state byte, ticks uint64, err error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0, ErrGone
	}
	if err != nil {
		// ESRCH on read: it ended between open and read.
		return 0, 0, ErrGone
	}
	// The command name may hold blanks and parentheses: fields start after the last ")".
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, 0, fmt.Errorf("read process %d: unexpected stat", pid)
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 20 {
		return 0, 0, fmt.Errorf("read process %d: short stat", pid)
	}
	ticks, err = strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	return f[0][0], ticks, nil
}
