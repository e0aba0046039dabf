package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// java is the Java runtime that runs the servers.
type java struct {
	path    string // the launcher inside java.home: what is on PATH may be a wrapper that does not pass on signals
	version int    // feature release, 17
}

// minJava: below it -Xlog lines and perf counters are not what the probes read.
const minJava = 17

// findJava asks the java of JAVA_HOME, else of PATH, where it really lives and how old it is.
func findJava(ctx context.Context) (java, error) {
	name := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		name = filepath.Join(home, "bin", "java")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return java{}, &Error{Op: "find java", Path: name, Err: errors.New("not found"), Hint: installHint(true, false)}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-XshowSettings:properties", "-version").CombinedOutput()
	if err != nil {
		return java{}, &Error{Op: "run java", Path: path, Err: fmt.Errorf("%w: %s", err, tail(string(out), 3)), Hint: installHint(true, false)}
	}
	j, err := parseJava(string(out))
	if err != nil {
		return java{}, &Error{Op: "read version of java", Path: path, Err: err, Hint: installHint(true, false)}
	}
	if j.version < minJava {
		return java{}, &Error{
			Op: "check java", Path: path,
			Err:  fmt.Errorf("it is version %d, needed is %d or newer", j.version, minJava),
			Hint: installHint(true, false) + "   (or set JAVA_HOME to a newer one)",
		}
	}
	return j, nil
}

// parseJava reads `java -XshowSettings:properties -version`.
func parseJava(out string) (java, error) {
	var home, spec string
	for line := range strings.Lines(out) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), " = ")
		switch k {
		case "java.home":
			home = v
		case "java.specification.version":
			spec = strings.TrimPrefix(v, "1.") // 1.8 is 8
		}
	}
	version, err := strconv.Atoi(spec)
	if err != nil || home == "" {
		return java{}, fmt.Errorf("unexpected output: %s", tail(out, 3))
	}
	return java{path: filepath.Join(home, "bin", "java"), version: version}, nil
}

// installHint is the command that installs what is missing, by the package manager that is here.
func installHint(needJava, needMaven bool) string {
	managers := []struct{ program, command, java, maven string }{
		{"apt-get", "apt-get install", "openjdk-17-jre-headless", "maven"},
		{"dnf", "dnf install", "java-17-openjdk-headless", "maven"},
		{"zypper", "zypper install", "java-17-openjdk-headless", "maven"},
		{"apk", "apk add", "openjdk17-jre-headless", "maven"},
		{"pacman", "pacman -S", "jre17-openjdk-headless", "maven"},
	}
	m := managers[0]
	for _, c := range managers {
		if _, err := exec.LookPath(c.program); err == nil {
			m = c
			break
		}
	}
	words := []string{m.command}
	if os.Geteuid() != 0 {
		words[0] = "sudo " + m.command
	}
	if needJava {
		words = append(words, m.java)
	}
	if needMaven {
		words = append(words, m.maven)
	}
	return strings.Join(words, " ")
}

// tail is the last n lines of s that are not empty.
func tail(s string, n int) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimRight(line, " \r\n\t"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
