package report

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/soak/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// loaded is the report of a story, with what differs from machine to machine taken out.
func loaded(t testing.TB, s story, live func(record.Run) bool) Report {
	t.Helper()
	r, err := Load(context.Background(), s.dir(t), live)
	if err != nil {
		t.Fatal(err)
	}
	if r.Size <= 0 {
		t.Error("the record has no size")
	}
	r.Dir, r.Size = "runs/quickstart-1", 1<<20
	return r
}

func printed(t testing.TB, r Report) (text, doc string) {
	t.Helper()
	var a, b bytes.Buffer
	if err := errors.Join(r.Text(&a), r.JSON(&b)); err != nil {
		t.Fatal(err)
	}
	return a.String(), b.String()
}

func TestGolden(t *testing.T) {
	yes := func(record.Run) bool { return true }
	short := quiet("")
	short.phases, short.load = short.phases[:2], 20*sec
	failed := quiet("failed: the run would not measure the cluster:\n  200 connections need 400 open files, and the limit is 256\n  n1 takes maxClientCnxns=60")
	failed.phases, failed.load = failed.phases[4:], 0
	left := quiet(record.EndDone)
	left.yaml += "faults: {schedule: {every: 10s}, mix: [{kind: kill, nodes: leader}]}\n"
	for name, c := range map[string]struct {
		story
		live func(record.Run) bool
	}{
		"quiet":       {quiet(record.EndDone), yes}, // it has an end: a process of that number is another one
		"eventful":    {eventful(), nil},
		"killed":      {short, func(record.Run) bool { return false }},
		"live":        {short, yes},
		"interrupted": {quiet(record.EndInterrupted), nil},
		"failed":      {failed, nil},
		"nothing":     {story{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			text, doc := printed(t, loaded(t, c.story, c.live))
			golden(t, name+".txt", text)
			golden(t, name+".json", doc)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; `go test ./soak/report -update` writes it", err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("%s:%d: is\n%s\nwant\n%s\n(-update writes it anew)", path, i+1, a, b)
		}
	}
}

func TestNotARun(t *testing.T) {
	empty := t.TempDir()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, record.FileName), []byte("not a database, but long enough to be looked at for one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		filepath.Join(empty, "missing"):       "is it a run directory?",
		empty:                                 "is it a run directory?",
		foreign:                               "was not written by nightshift",
		filepath.Join(foreign, "record.db/x"): "not a directory",
	} {
		_, err := Load(t.Context(), dir, nil)
		if !errors.Is(err, ErrNoRun) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error %v, want %q", dir, err, want)
		}
	}
}

// TestSameWords: a report is a function of the record.
func TestSameWords(t *testing.T) {
	dir := eventful().dir(t)
	var first string
	for range 2 {
		r, err := Load(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, doc := printed(t, r)
		if all := text + doc; first == "" {
			first = all
		} else if all != first {
			t.Error("two reports of one record differ")
		}
	}
}
