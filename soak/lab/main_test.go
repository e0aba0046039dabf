package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"nightshift/soak/lab"
)

const childEnv = "NIGHTSHIFT_TEST_LAB_CHILD"

// TestMain makes this binary also what the tests start: the supervisor, and an owner that is going to be killed.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "lab" && os.Args[2] == "supervise":
		if err := lab.Supervise(context.Background(), os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(childEnv) != "":
		owner(os.Getenv(childEnv))
	default:
		os.Exit(m.Run())
	}
}

// owner brings the lab of a Spec in JSON up, prints its Cluster, and does nothing more.
func owner(spec string) {
	var s lab.Spec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		panic(err)
	}
	l, err := lab.Up(context.Background(), s)
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(l.Cluster()); err != nil {
		panic(err)
	}
	select {}
}
