package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseJava(t *testing.T) {
	const out = `Property settings:
    java.home = /usr/lib/jvm/java-17-openjdk-amd64
    java.specification.version = 17
    java.vm.specification.version = 11

openjdk version "17.0.15" 2025-04-15
`
	if j, err := parseJava(out); err != nil || j.version != 17 || j.path != "/usr/lib/jvm/java-17-openjdk-amd64/bin/java" {
		t.Errorf("%+v %v", j, err)
	}
	if j, err := parseJava("    java.home = /j\n    java.specification.version = 1.8\n"); err != nil || j.version != 8 {
		t.Errorf("%+v %v", j, err)
	}
	if _, err := parseJava("Segmentation fault\n"); err == nil || !strings.Contains(err.Error(), "Segmentation") {
		t.Errorf("error is %v", err)
	}
}

// fakeJava is a java that says it is of version v.
func fakeJava(t *testing.T, v string) string {
	t.Helper()
	home := t.TempDir()
	script := "#!/bin/sh\necho '    java.home = /j'; echo '    java.specification.version = " + v + "'\n"
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "java"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

func TestPreflightMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", "")
	spec := Spec{Dir: t.TempDir()}
	check := func(spec Spec, want ...string) {
		t.Helper()
		err := Preflight(t.Context(), spec)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrUnavailable) {
			t.Fatalf("error is %v", err)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("no %q in %v", w, err)
			}
		}
	}
	check(spec, "find java and mvn", "apt-get install openjdk-17-jre-headless maven")
	t.Setenv("JAVA_HOME", fakeJava(t, "17"))
	check(spec, "find mvn", "apt-get install maven")
	t.Setenv("JAVA_HOME", fakeJava(t, "11"))
	fakeMaven(t, "exit 1")
	check(spec, "it is version 11", "apt-get install openjdk-17-jre-headless", "JAVA_HOME")
	t.Setenv("JAVA_HOME", fakeJava(t, "21"))
	spec.DataRoot = filepath.Join(spec.Dir, "missing")
	check(spec, "not a directory", "mkdir -p")
	spec.DataRoot = ""
	if err := Preflight(t.Context(), spec); err != nil {
		t.Errorf("all is there: %v", err)
	}
	spec.Nodes = 5
	if err := Preflight(t.Context(), spec); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("a wrong spec is not a missing lab: %v", err)
	}
}

// tester records what Require does to a test.
type tester struct{ skipped, failed bool }

func (*tester) Helper()        {}
func (f *tester) Skip(...any)  { f.skipped = true }
func (f *tester) Fatal(...any) { f.failed = true }

func TestRequire(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", "")
	t.Setenv("NIGHTSHIFT_LAB", "")
	var f tester
	if Require(&f); !f.skipped || f.failed {
		t.Errorf("%+v", f)
	}
	t.Setenv("NIGHTSHIFT_LAB", "require")
	f = tester{}
	if Require(&f); f.skipped || !f.failed {
		t.Errorf("%+v", f)
	}
}

func TestTail(t *testing.T) {
	if got := tail("a\n\nb\r\nc \n\n", 2); got != "b\nc" {
		t.Errorf("got %q", got)
	}
	if got := tail("", 2); got != "" {
		t.Errorf("got %q", got)
	}
}
