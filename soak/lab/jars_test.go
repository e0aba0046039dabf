package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPOM(t *testing.T) {
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>nightshift.lab</groupId>
  <artifactId>zookeeper-3.9.5</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.zookeeper</groupId><artifactId>zookeeper</artifactId><version>3.9.5</version></dependency>
    <dependency><groupId>io.dropwizard.metrics</groupId><artifactId>metrics-core</artifactId><version>4.1.12.1</version></dependency>
    <dependency><groupId>org.xerial.snappy</groupId><artifactId>snappy-java</artifactId><version>1.1.10.5</version></dependency>
    <dependency><groupId>org.eclipse.jetty</groupId><artifactId>jetty-server</artifactId><version>9.4.57.v20241219</version></dependency>
    <dependency><groupId>org.eclipse.jetty</groupId><artifactId>jetty-servlet</artifactId><version>9.4.57.v20241219</version></dependency>
    <dependency><groupId>com.fasterxml.jackson.core</groupId><artifactId>jackson-databind</artifactId><version>2.15.2</version></dependency>
    <dependency><groupId>commons-cli</groupId><artifactId>commons-cli</artifactId><version>1.5.0</version></dependency>
    <dependency><groupId>ch.qos.logback</groupId><artifactId>logback-classic</artifactId><version>1.3.15</version></dependency>
  </dependencies>
</project>
`
	if got := string(pom("zookeeper-3.9.5", zookeeper().artifacts("3.9.5"))); got != want {
		t.Errorf("got\n%s", got)
	}
}

// fakeMaven puts a shell script called mvn first on PATH. In it $out is the directory the jars have to go to.
func fakeMaven(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	const head = "#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) out=${a#*=};; esac; done\n"
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte(head+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

func testCache(t *testing.T) jarCache {
	t.Helper()
	as := []artifact{{"g", "a", "1"}, {"g", "b", "2"}}
	return jarCache{dir: filepath.Join(t.TempDir(), "x-1"), pom: pom("x-1", as), artifacts: as}
}

// Many that need the jars at once run Maven once, and later nobody needs it.
func TestFill(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	fakeMaven(t, `echo run >>`+runs+`; sleep 0.2; mkdir $out && echo a >$out/a-1.jar && echo b >$out/b-2.jar`)
	c := testCache(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if dir, err := c.fill(t.Context()); err != nil || dir != c.jars() {
				t.Errorf("%q %v", dir, err)
			}
		})
	}
	wg.Wait()
	if b, err := os.ReadFile(runs); err != nil || string(b) != "run\n" {
		t.Errorf("maven ran: %q %v", b, err)
	}
	left, err := filepath.Glob(filepath.Join(c.dir, "new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
	t.Setenv("PATH", "")
	if _, err := c.fill(t.Context()); err != nil {
		t.Errorf("without maven, after it: %v", err)
	}

	// What is not whole, or was made from another POM, does not count.
	changed := c
	changed.pom = append([]byte(nil), c.pom...)
	changed.pom[len(changed.pom)-1] = ' '
	if changed.complete() {
		t.Error("jars of another POM count")
	}
	if err := os.Truncate(filepath.Join(c.jars(), "b-2.jar"), 0); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := c.fill(t.Context()); !errors.As(err, &e) || !strings.Contains(e.Hint, "maven") || strings.Contains(e.Hint, "jre") {
		t.Errorf("an empty jar, and no maven: %v", err)
	}
}

func TestFillFails(t *testing.T) {
	fakeMaven(t, `echo '[INFO] much'; echo '[ERROR] Could not resolve g:a:jar:1'; echo '[ERROR] -> [Help 1]'; exit 1`)
	c := testCache(t)
	_, err := c.fill(t.Context())
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "Could not resolve g:a:jar:1") || strings.Contains(err.Error(), "much") {
		t.Fatalf("error is %v", err)
	}
	if !strings.Contains(e.Hint, "mvn -B -f "+filepath.Join(c.dir, "pom.xml")) || !exists(filepath.Join(c.dir, "pom.xml")) {
		t.Errorf("the command to try by hand does not work: %q", e.Hint)
	}
	fakeMaven(t, `mkdir $out && echo a >$out/a-1.jar`)
	if _, err := c.fill(t.Context()); err == nil || exists(c.jars()) {
		t.Errorf("half the jars are taken for all: %v", err)
	}
}

func TestFillInterrupted(t *testing.T) {
	fakeMaven(t, `exec sleep 60`)
	c := testCache(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
	if _, err := c.fill(ctx); !errors.Is(err, stop) || errors.Is(err, ErrUnavailable) {
		t.Errorf("error is %v", err)
	}
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := lockFile(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a held lock gives %v", err)
	}
	unlock()
	unlock, err = lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
