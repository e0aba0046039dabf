package lab

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// artifact is one library in Maven's words.
type artifact struct{ group, name, version string }

func (a artifact) jar() string { return a.name + "-" + a.version + ".jar" }

// jarCache is one set of jars, kept in the user's cache directory: jars/ appears there by a rename once it is
// complete, with the POM it was made from inside, so that a cache made for other artifacts is not taken for this one.
type jarCache struct {
	dir       string
	pom       []byte
	artifacts []artifact
}

func newJarCache(s Spec) (jarCache, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return jarCache{}, &Error{Op: "find cache directory", Err: err, Hint: "set HOME or XDG_CACHE_HOME"}
	}
	as := recipes()[s.System].artifacts(s.Version)
	return jarCache{
		dir:       filepath.Join(base, "nightshift", s.System+"-"+s.Version),
		pom:       pom(s.System+"-"+s.Version, as),
		artifacts: as,
	}, nil
}

func (c jarCache) jars() string { return filepath.Join(c.dir, "jars") }

// complete says whether servers can start without Maven and without a network.
func (c jarCache) complete() bool {
	have, err := os.ReadFile(filepath.Join(c.jars(), "pom.xml"))
	if err != nil || !bytes.Equal(have, c.pom) {
		return false
	}
	for _, a := range c.artifacts {
		if fi, err := os.Stat(filepath.Join(c.jars(), a.jar())); err != nil || fi.Size() == 0 {
			return false
		}
	}
	return true
}

// fill brings the jars by Maven, with the user's own settings, and returns their directory. Only one process at a
// time does it; others wait and find the work done.
func (c jarCache) fill(ctx context.Context) (string, error) {
	if c.complete() {
		return c.jars(), nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", noMaven(false)
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return "", &Error{Op: "make cache directory", Path: c.dir, Err: err}
	}
	unlock, err := lockFile(ctx, filepath.Join(c.dir, "lock"))
	if err != nil {
		return "", &Error{Op: "lock cache", Path: c.dir, Err: err}
	}
	defer unlock()
	if c.complete() {
		return c.jars(), nil
	}
	tmp, err := os.MkdirTemp(c.dir, "new-")
	if err != nil {
		return "", &Error{Op: "make cache directory", Path: c.dir, Err: err}
	}
	defer func() { _ = os.RemoveAll(tmp) }() // renamed away on success
	if err := c.download(ctx, mvn, tmp); err != nil {
		return "", err
	}
	if err := c.publish(tmp); err != nil {
		return "", &Error{Op: "fill cache", Path: c.dir, Err: err}
	}
	return c.jars(), nil
}

func noMaven(needJava bool) *Error {
	return &Error{
		Op: "find mvn", Err: errors.New("mvn not found; it brings the servers' jars once, later starts need no Maven"),
		Hint: installHint(needJava, true),
	}
}

func (c jarCache) download(ctx context.Context, mvn, tmp string) error {
	pomFile := filepath.Join(tmp, "pom.xml")
	if err := os.WriteFile(pomFile, c.pom, 0o644); err != nil {
		return &Error{Op: "write POM", Path: pomFile, Err: err}
	}
	args := []string{
		"-B", "-q", "-Dstyle.color=never", "-f", pomFile, "dependency:copy-dependencies",
		"-DoutputDirectory=" + filepath.Join(tmp, "jars"),
	}
	cmd := exec.CommandContext(ctx, mvn, args...)
	cmd.Dir = tmp
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("run mvn: %w", context.Cause(ctx))
	}
	if err != nil {
		// Kept outside the temporary directory so that the command of the hint finds it.
		kept := filepath.Join(c.dir, "pom.xml")
		if werr := os.WriteFile(kept, c.pom, 0o644); werr != nil {
			err = errors.Join(err, werr)
		}
		return &Error{
			Op: "run mvn", Path: mvn, Err: fmt.Errorf("%w\n%s", err, mavenErrors(string(out))),
			Hint: "mvn -B -f " + kept + " dependency:copy-dependencies   (shows all; network and ~/.m2/settings.xml are Maven's own)",
		}
	}
	return nil
}

// publish checks what Maven brought and moves it into place.
func (c jarCache) publish(tmp string) error {
	made := jarCache{dir: tmp, pom: c.pom, artifacts: c.artifacts}
	if err := os.Rename(filepath.Join(tmp, "pom.xml"), filepath.Join(made.jars(), "pom.xml")); err != nil {
		return fmt.Errorf("complete jars: %w", err)
	}
	if !made.complete() {
		return errors.New("mvn ended well but not all jars are there")
	}
	if err := os.RemoveAll(c.jars()); err != nil { // an older or damaged set
		return fmt.Errorf("remove old jars: %w", err)
	}
	if err := os.Rename(made.jars(), c.jars()); err != nil {
		return fmt.Errorf("move jars into place: %w", err)
	}
	return nil
}

// mavenErrors is the part of Maven's output that says what is wrong, in short.
func mavenErrors(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "[ERROR] "); ok && !strings.HasPrefix(rest, "->") {
			lines = append(lines, "  "+rest)
		}
		if len(lines) == 4 {
			break
		}
	}
	if len(lines) == 0 {
		return tail(out, 5)
	}
	return strings.Join(lines, "\n")
}

// pom is a project that depends on the artifacts and builds nothing. It names no repository: those are the user's.
func pom(name string, as []artifact) []byte {
	var b bytes.Buffer
	text := func(s string) string {
		var t bytes.Buffer
		_ = xml.EscapeText(&t, []byte(s)) // writing to a buffer can't fail
		return t.String()
	}
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>nightshift.lab</groupId>
  <artifactId>` + text(name) + `</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
`)
	for _, a := range as {
		fmt.Fprintf(&b, "    <dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n",
			text(a.group), text(a.name), text(a.version))
	}
	b.WriteString("  </dependencies>\n</project>\n")
	return b.Bytes()
}

// lockFile waits for the lock on path until ctx ends. The kernel releases it when the holder dies.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		unlock, err := tryLock(path)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// tryLock fails with EWOULDBLOCK when another process has the lock.
func tryLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil // closing releases the lock
}
