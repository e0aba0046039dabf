package lab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CgroupParent is the cgroup v2 directory this process runs in, below which a lab makes one for each node, so that
// network faults can tell whose traffic it is. It is found in /proc/self/mountinfo: hosts mount it in various places.
func CgroupParent() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("find cgroup2: %w", err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("find own cgroup: %w", err)
	}
	return cgroupParent(mounts, own)
}

func cgroupParent(mounts, own []byte) (string, error) {
	path := ""
	for line := range bytes.Lines(own) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "0::"); ok {
			path = p
		}
	}
	if path == "" {
		return "", errors.New("this process is in no cgroup v2")
	}
	sc := bufio.NewScanner(bytes.NewReader(mounts))
	for sc.Scan() {
		// 41 31 0:38 ROOT MOUNTPOINT rw,relatime - cgroup2 cgroup2 rw
		before, after, ok := strings.Cut(sc.Text(), " - ")
		f := strings.Fields(before)
		if !ok || len(f) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		root, mount := unescape(f[3]), unescape(f[4])
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue // this mount shows another part of the tree
		}
		return filepath.Join(mount, rel), nil
	}
	return "", errors.New("no cgroup2 is mounted that shows this process")
}

// unescape undoes the octal escapes of /proc/self/mountinfo (blank, tab, newline, backslash).
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// planCgroups names PARENT/nightshift-LABEL and one cgroup a node in it. None of them exists yet.
func planCgroups(label string, ids []string) (home string, paths []string, err error) {
	parent, err := CgroupParent()
	if err != nil {
		return "", nil, err
	}
	home = filepath.Join(parent, "nightshift-"+label)
	for i := 2; exists(home); i++ {
		home = filepath.Join(parent, "nightshift-"+label+"-"+strconv.Itoa(i))
	}
	for _, id := range ids {
		paths = append(paths, filepath.Join(home, id))
	}
	return home, paths, nil
}

// makeCgroups makes what planCgroups named. On error nothing is left.
func makeCgroups(home string, paths []string) error {
	for i, p := range append([]string{home}, paths...) {
		err := os.Mkdir(p, 0o755)
		if err == nil {
			continue
		}
		errs := []error{fmt.Errorf("make cgroup: %w", err)}
		for j := i - 1; j >= 0; j-- {
			errs = append(errs, removeCgroup(append([]string{home}, paths...)[j]))
		}
		return errors.Join(errs...)
	}
	return nil
}

// removeCgroup is rmdir, which refuses while a process is inside. The kernel takes a moment to let go of processes
// that have just ended, so it is tried for a second.
func removeCgroup(path string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	err := unix.Rmdir(path)
	for tries := 0; errors.Is(err, unix.EBUSY) && tries < 100; tries++ {
		<-tick.C // bounded, and without a context: it must happen after an interrupt as well
		err = unix.Rmdir(path)
	}
	if err != nil {
		return &os.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
