package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nightshift/soak/config"
)

// roomPerNode is what a node needs on disk before any load: preallocated log, first snapshots, logs.
const roomPerNode = 100 << 20

// Preflight checks that s could be brought up here, without starting or downloading anything. Its errors are
// *Error, with the command that helps as hint, or those of Check.
func Preflight(ctx context.Context, s Spec) error {
	s = s.withDefaults()
	s, err := s.absolute()
	if err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	_, jerr := findJava(ctx)
	var missing *Error
	needJava := errors.As(jerr, &missing)
	if jerr != nil && !needJava {
		return jerr
	}
	c, err := newJarCache(s)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("mvn"); err != nil && !c.complete() {
		e := noMaven(needJava)
		if needJava {
			e.Op, e.Err = "find java and mvn", errors.Join(missing.Err, e.Err)
		}
		return e
	}
	if jerr != nil {
		return jerr
	}
	return room(s)
}

// prepare is Preflight and what it leaves out: the jars are brought.
func prepare(ctx context.Context, s Spec) (java, string, error) {
	if err := Preflight(ctx, s); err != nil {
		return java{}, "", err
	}
	j, err := findJava(ctx)
	if err != nil {
		return java{}, "", err
	}
	c, err := newJarCache(s)
	if err != nil {
		return java{}, "", err
	}
	jars, err := c.fill(ctx)
	return j, jars, err
}

// room checks the disk under the data.
func room(s Spec) error {
	dir := s.Dir
	if s.DataRoot != "" {
		dir = s.DataRoot
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			return &Error{Op: "check data directory", Path: dir, Err: errors.New("it is not a directory"), Hint: "mkdir -p " + dir}
		}
	}
	for !exists(dir) { // it will be made: look at the first parent that is there
		dir = filepath.Dir(dir)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return &Error{Op: "check disk", Path: dir, Err: err}
	}
	free := config.Bytes(fs.Bavail) * config.Bytes(fs.Bsize)
	if need := config.Bytes(s.Nodes) * roomPerNode; free < need {
		return &Error{Op: "check disk", Path: dir, Err: fmt.Errorf("%s free, %d nodes need at least %s", free, s.Nodes, need), Hint: "free some, or give the lab another disk with `data: DIR`"}
	}
	return nil
}
