package lab

import (
	"context"
	"os"
)

// TB is the part of testing.TB that Require needs; the program itself does not import testing.
type TB interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

// Require skips a test that needs real servers where they can't run, and says why. With NIGHTSHIFT_LAB=require in
// the environment it fails instead.
func Require(t TB) {
	t.Helper()
	err := Preflight(context.Background(), Spec{Dir: os.TempDir()})
	switch {
	case err == nil:
	case os.Getenv("NIGHTSHIFT_LAB") == "require":
		t.Fatal("NIGHTSHIFT_LAB=require, and no lab can run here: ", err)
	default:
		t.Skip("no lab can run here: ", err)
	}
}
