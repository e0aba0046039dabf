package faults_test

import (
	"os"
	"testing"

	"nightshift/faults"
	"nightshift/faults/faulttest"
)

func TestMain(m *testing.M) {
	faulttest.StandIn()
	os.Exit(m.Run())
}

// kind is the Info of a kind that must be there.
func kind(t *testing.T, name string) faults.Info {
	t.Helper()
	info, err := faults.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
