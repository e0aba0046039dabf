package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"nightshift/soak/target"
)

// state is what another process has to know of a lab: whom to ask, and what is left when its owner was killed.
// It is written before anything it names is made.
type state struct {
	Format    int            `json:"format"`
	Spec      Spec           `json:"spec"`
	Owner     target.ProcRef `json:"owner"`
	Socket    string         `json:"socket"`
	SocketDir string         `json:"socket_dir,omitempty"` // made for the socket alone, outside Dir
	Cgroup    string         `json:"cgroup,omitempty"`     // parent of the nodes' cgroups, ours
	Cgroups   []string       `json:"cgroups,omitempty"`
	Nodes     []nodeState    `json:"nodes"`
	Down      bool           `json:"down"` // ended in order, nothing is left
}

type nodeState struct {
	ID   string         `json:"id"`
	Proc target.ProcRef `json:"proc"`
}

const stateFormat = 1

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

func readState(dir string) (state, error) {
	b, err := os.ReadFile(statePath(dir))
	if err != nil {
		return state{}, fmt.Errorf("read lab state: %w", err)
	}
	var st state
	if err := json.Unmarshal(b, &st); err != nil {
		return state{}, fmt.Errorf("read lab state %s: %w", statePath(dir), err)
	}
	if st.Format != stateFormat {
		return state{}, fmt.Errorf("read lab state %s: format %d is not known here; use the nightshift that made it", statePath(dir), st.Format)
	}
	return st, nil
}

func (st state) write() error {
	return writeJSON(statePath(st.Spec.Dir), st)
}

// writeJSON replaces a file in one step: a reader sees the old or the new one, also after kill -9.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// RemoveLeftovers removes what a killed owner of the lab in dir left: empty cgroups and the socket, each by its
// recorded path. Data and logs stay. It returns what it removed, and an error while the owner or a server still lives.
// Without a lab in dir there is nothing to do.
func RemoveLeftovers(dir string) ([]string, error) {
	st, err := readState(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if st.Down {
		return nil, nil
	}
	if st.Owner.Alive() {
		return nil, fmt.Errorf("remove leftovers of %s: its owner, process %d, is alive; end it with: %s", dir, st.Owner.Pid, command("down", dir))
	}
	for _, n := range st.Nodes {
		if n.Proc.Alive() {
			return nil, fmt.Errorf("remove leftovers of %s: server %s, process %d, is alive although its owner is gone", dir, n.ID, n.Proc.Pid)
		}
	}
	removed, err := st.remove()
	if err != nil {
		return removed, err
	}
	st.Down = true
	return removed, st.write()
}

// remove takes away everything outside the data that the state names.
func (st state) remove() (removed []string, err error) {
	var errs []error
	gone := func(path string, rm func(string) error) {
		if path == "" {
			return
		}
		switch err := rm(path); {
		case err == nil:
			removed = append(removed, path)
		case !errors.Is(err, os.ErrNotExist):
			errs = append(errs, fmt.Errorf("remove leftover %s: %w", path, err))
		}
	}
	for _, c := range st.Cgroups {
		gone(c, removeCgroup)
	}
	gone(st.Cgroup, removeCgroup)
	gone(st.Socket, os.Remove)
	gone(st.SocketDir, os.Remove) // removes an empty directory only
	return removed, errors.Join(errs...)
}
