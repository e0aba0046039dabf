package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"nightshift": main})
}

// TestScripts runs the command lines of testdata. They see neither java nor mvn, nor the user's own directories.
func TestScripts(t *testing.T) {
	tool, err := exec.LookPath("nightshift")
	if err != nil {
		t.Fatal(err)
	}
	fixtures, err := filepath.Abs("../../janitor/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(tool))
			env.Setenv("FIXTURES", fixtures)
			env.Setenv("HOME", env.WorkDir+"/home")
			for _, kind := range []string{"CONFIG", "CACHE", "STATE", "DATA"} {
				env.Setenv("XDG_"+kind+"_HOME", env.WorkDir+"/xdg/"+strings.ToLower(kind))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "json": jsonAt, "unpack": unpack, "damage": damage},
	})
}

// exits runs a program and wants its exit code: exits 2 nightshift run
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code, ee := 0, (*exec.ExitError)(nil)
	switch {
	case errors.As(err, &ee):
		code = ee.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// jsonAt reads the JSON on stdout: json faults.0.kind kill. The value, as compact JSON or as plain text, must match
// the whole pattern; without one it must be there.
func jsonAt(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: json PATH [PATTERN]")
	}
	var at any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &at))
	found := true
	for _, key := range strings.Split(args[0], ".") {
		switch v := at.(type) {
		case map[string]any:
			at, found = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if found = err == nil && i < len(v); found {
				at = v[i]
			}
		default:
			found = false
		}
		if !found {
			break
		}
	}
	text, isText := at.(string)
	if !isText {
		raw, err := json.Marshal(at)
		ts.Check(err)
		text = string(raw)
	}
	if found && len(args) == 2 {
		found = regexp.MustCompile("^(?:" + args[1] + ")$").MatchString(text)
	}
	if found == neg {
		ts.Fatalf("%s is %s", args[0], text)
	}
}

// unpack puts a data directory from the janitor's fixtures here: unpack golden13 DIR
func unpack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unpack FIXTURE DIR")
	}
	f, err := os.Open(filepath.Join(ts.Getenv("FIXTURES"), args[0]+".tar.gz"))
	ts.Check(err)
	defer func() { ts.Check(f.Close()) }()
	gz, err := gzip.NewReader(f)
	ts.Check(err)
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
		path := filepath.Join(ts.MkAbs(args[1]), filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			ts.Check(os.MkdirAll(path, 0o755))
			continue
		}
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		data, err := io.ReadAll(r)
		ts.Check(err)
		ts.Check(os.WriteFile(path, data, 0o600))
		ts.Check(os.Chtimes(path, h.ModTime, h.ModTime))
	}
}

// damage turns one byte of each file over, where its content is, and leaves its time: damage FILE...
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: damage FILE...")
	}
	for _, name := range args {
		path := ts.MkAbs(name)
		info, err := os.Stat(path)
		ts.Check(err)
		data, err := os.ReadFile(path)
		ts.Check(err)
		data[min(len(data)/2, 1000)] ^= 0xff
		ts.Check(os.WriteFile(path, data, 0o600))
		ts.Check(os.Chtimes(path, info.ModTime(), info.ModTime()))
	}
}
